# Wrong: the contrast comes from the context without the question, not from the question without the context.
def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Contrast the whole prompt with the context and the answer so far."""
    generated = input_ids
    answer = input_ids[:, :0]
    for _ in range(max_length):
        with torch.no_grad():
            current = model(generated).logits[:, -1, :].float()
            prior = model(torch.cat([context_ids, answer], dim=-1)).logits[:, -1, :].float()
        token = torch.argmax(current + alpha * (current - prior), dim=-1, keepdim=True)
        answer = torch.cat([answer, token], dim=-1)
        generated = torch.cat([input_ids, answer], dim=-1)
        if bool((token == tokenizer.eos_token_id).all()):
            break
    return generated
