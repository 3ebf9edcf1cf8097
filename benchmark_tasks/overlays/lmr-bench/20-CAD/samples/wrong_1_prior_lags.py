# Wrong: from the second token on, the logits without context are those of the previous step.
def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Keep the prior of the last step and refresh it after the choice."""
    skip = context_ids.shape[1]
    generated = input_ids
    with torch.no_grad():
        prior = model(generated[:, skip:]).logits[:, -1, :].float()
        for _ in range(max_length):
            current = model(generated).logits[:, -1, :].float()
            token = ((1 + alpha) * current - alpha * prior).argmax(dim=-1, keepdim=True)
            prior = model(generated[:, skip:]).logits[:, -1, :].float()
            generated = torch.cat([generated, token], dim=-1)
            if bool((token == tokenizer.eos_token_id).all()):
                break
    return generated
