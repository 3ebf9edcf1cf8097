# Right: both prompts in one left-padded batch per step; the product of experts is sampled at the temperature.
def draw(scores, temperature):
    """Sample one token per row; at a temperature of zero take the best one."""
    scores = scores.double() - scores.double().amax(dim=-1, keepdim=True)
    if temperature <= 0:
        return scores.argmax(dim=-1)
    weights = torch.softmax(scores / temperature, dim=-1)
    return torch.multinomial(weights, num_samples=1).squeeze(-1)


def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Mask the context in the lower half of the batch; positions are counted from the first visible token."""
    rows, hidden = input_ids.size(0), context_ids.size(-1)
    text = input_ids
    seen = torch.ones_like(input_ids).repeat(2, 1)
    seen[rows:, :hidden] = 0
    stop = tokenizer.eos_token_id
    open_rows = torch.ones(rows, dtype=torch.bool, device=input_ids.device)
    while text.size(1) < input_ids.size(1) + max_length and bool(open_rows.any()):
        places = (seen.cumsum(dim=1) - 1).clamp(min=0)
        with torch.no_grad():
            output = model(input_ids=text.repeat(2, 1), attention_mask=seen, position_ids=places)
        log_probs = F.log_softmax(output.logits[:, -1, :].float(), dim=-1)
        given, prior = log_probs.split(rows)
        fresh = draw(given + alpha * (given - prior), temperature)
        if stop is not None:
            fresh = torch.where(open_rows, fresh, torch.full_like(fresh, stop))
            open_rows = open_rows & (fresh != stop)
        text = torch.cat((text, fresh.unsqueeze(1)), dim=1)
        seen = F.pad(seen, (0, 1), value=1)
    return text
