# Right: one key-value cache with the context and one without it; the best adjusted logit is taken greedily.
def advance(model, tokens, cache):
    """Feed new tokens; return the float32 logits of the next position and the grown cache."""
    reply = model(input_ids=tokens, past_key_values=cache, use_cache=True)
    return reply.logits[:, -1].float(), reply.past_key_values


@torch.inference_mode()
def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Decode greedily with two caches until the end token or max_length new tokens."""
    pieces = [input_ids]
    ended = torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
    informed_feed, blind_feed = input_ids, input_ids[:, context_ids.shape[1] :]
    informed_cache = blind_cache = None
    for _ in range(max_length):
        informed, informed_cache = advance(model, informed_feed, informed_cache)
        blind, blind_cache = advance(model, blind_feed, blind_cache)
        choice = torch.lerp(informed, blind, -alpha).argmax(dim=-1, keepdim=True)
        if tokenizer.eos_token_id is not None:
            choice = choice.masked_fill(ended[:, None], tokenizer.eos_token_id)
            ended |= choice[:, 0] == tokenizer.eos_token_id
        pieces.append(choice)
        if ended.all():
            break
        informed_feed = blind_feed = choice
    return torch.cat(pieces, dim=1)
