# Wrong: the logits without context are subtracted with weight 1 instead of alpha.
def context_aware_sampling(
    model,
    tokenizer,
    input_ids,
    context_ids,
    alpha=0.9,
    max_length=128,
    temperature=0.00000000000001,
):
    """Greedy context-aware decoding; both prefixes go through the model in full at every step."""
    prefix = context_ids.shape[-1]
    tokens = input_ids
    stop_id = tokenizer.eos_token_id
    done = torch.zeros(tokens.shape[0], dtype=torch.bool, device=tokens.device)
    with torch.no_grad():
        for _ in range(max_length):
            informed = model(tokens).logits[:, -1]
            prior = model(tokens[:, prefix:]).logits[:, -1]
            contrast = (1 + alpha) * informed - prior
            picked = contrast.argmax(dim=-1)
            if stop_id is not None:
                picked = picked.masked_fill(done, stop_id)
                done = done | picked.eq(stop_id)
            tokens = torch.cat((tokens, picked[:, None]), dim=1)
            if done.all():
                break
    return tokens
