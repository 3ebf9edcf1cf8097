# Wrong: the two distributions are combined as probabilities instead of logits.
def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Combine probabilities and take the best token."""
    skip = context_ids.shape[1]
    generated = input_ids
    for _ in range(max_length):
        with torch.no_grad():
            with_context = model(generated).logits[:, -1, :].float().softmax(dim=-1)
            without_context = model(generated[:, skip:]).logits[:, -1, :].float().softmax(dim=-1)
        mixture = (1 + alpha) * with_context - alpha * without_context
        token = mixture.argmax(dim=-1, keepdim=True)
        generated = torch.cat([generated, token], dim=-1)
        if bool((token == tokenizer.eos_token_id).all()):
            break
    return generated
