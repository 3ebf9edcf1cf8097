# Wrong: only the logits with context are divided by the tiny temperature, so the prior has no weight left.
def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Sharpen the logits and combine them."""
    skip = context_ids.shape[1]
    generated = input_ids
    for _ in range(max_length):
        with torch.no_grad():
            sharpened = model(generated).logits[:, -1, :].double() / max(temperature, 1e-30)
            prior = model(generated[:, skip:]).logits[:, -1, :].double()
        adjusted = (1 + alpha) * sharpened - alpha * prior
        token = torch.argmax(adjusted, dim=-1, keepdim=True)
        generated = torch.cat([generated, token], dim=-1)
        if bool((token == tokenizer.eos_token_id).all()):
            break
    return generated
