# Right: samples at the given temperature from log-probabilities plus alpha times the PMI.
def _log_probs(model, ids):
    """Log-probabilities of the next token in double precision."""
    return F.log_softmax(model(input_ids=ids).logits[:, -1, :].double(), dim=-1)


def _draw(scores, temperature):
    """Sample from softmax(scores / temperature); temperature zero means the best token."""
    if temperature <= 0:
        return scores.argmax(dim=-1, keepdim=True)
    scores = scores - scores.max(dim=-1, keepdim=True).values
    return torch.multinomial(torch.softmax(scores / temperature, dim=-1), num_samples=1)


@torch.no_grad()
def context_aware_sampling(
    model,
    tokenizer,
    input_ids,
    context_ids,
    alpha=0.9,
    max_length=128,
    temperature=0.00000000000001,
):
    """Sample from the product of experts written with log-probabilities."""
    question_ids = input_ids[:, context_ids.size(1) :]
    response = input_ids.new_empty((input_ids.size(0), 0))
    while response.size(1) < max_length:
        with_context = _log_probs(model, torch.cat([input_ids, response], dim=1))
        without = _log_probs(model, torch.cat([question_ids, response], dim=1))
        pointwise_information = with_context - without
        token = _draw(with_context + alpha * pointwise_information, temperature)
        response = torch.cat([response, token], dim=1)
        if tokenizer.eos_token_id is not None:
            ended = (response == tokenizer.eos_token_id).any(dim=1)
            if bool(ended.all()):
                break
    return torch.cat([input_ids, response], dim=1)
