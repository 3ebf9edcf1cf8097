def contrastive_beam_search(
    expert, amateur, prompt, *, end_token, beam_size, max_new_tokens, alpha=0.1, amateur_temperature=1.0
):
    """Uses alpha as an absolute threshold and applies the temperature to log-probabilities instead of logits."""
    beam = [Hypothesis((), 0.0)]
    for _ in range(max_new_tokens):
        grown = []
        for hypothesis in beam:
            if hypothesis.finished:
                grown.append(hypothesis)
                continue
            context = (*prompt, *hypothesis.tokens)
            strong = log_softmax(expert.next_logits(context))
            weak = log_softmax(amateur.next_logits(context))
            for token in np.flatnonzero(strong >= np.log(alpha)):
                gain = float(strong[token] - amateur_temperature * weak[token])
                grown.append(hypothesis.extended(int(token), gain, end_token))
        beam = rank(grown)[:beam_size] or beam
    return beam
