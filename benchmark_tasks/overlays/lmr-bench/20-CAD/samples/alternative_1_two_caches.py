# Right: a greedy loop with a key-value cache for each prefix.
def context_aware_sampling(
    model,
    tokenizer,
    input_ids,
    context_ids,
    alpha=0.9,
    max_length=128,
    temperature=0.00000000000001,
):
    """Greedy decoding with one key-value cache for each of the two prefixes."""
    streams = [
        {"ids": input_ids, "cache": None, "weight": 1 + alpha},
        {"ids": input_ids[:, context_ids.shape[1] :], "cache": None, "weight": -alpha},
    ]
    generated = [input_ids]
    with torch.inference_mode():
        for _ in range(max_length):
            total = 0
            for stream in streams:
                result = model(input_ids=stream["ids"], past_key_values=stream["cache"], use_cache=True)
                stream["cache"] = result.past_key_values
                total = total + stream["weight"] * result.logits[:, -1, :]
            best = torch.topk(total, k=1, dim=-1).indices
            generated.append(best)
            for stream in streams:
                stream["ids"] = best
            if (best == tokenizer.eos_token_id).all():
                break
    return torch.cat(generated, dim=-1).clone()
