"""Beam search on the contrastive objective."""

import numpy as np

from decoding.hypothesis import Hypothesis, rank
from decoding.numerics import log_softmax


def contrastive_beam_search(
    expert, amateur, prompt, *, end_token, beam_size, max_new_tokens, alpha=0.1, amateur_temperature=1.0
):
    """Generate from `prompt` by contrasting an expert model with an amateur model.

    Args:
        expert, amateur: models with `next_logits(tokens)`, same vocabulary. Expert logits may be -inf, amateur logits are finite.
        prompt: non-empty tuple of token ids.
        end_token: the token that finishes a hypothesis.
        beam_size: number of hypotheses kept after each step, at least 1.
        max_new_tokens: number of steps at most, at least 0.
        alpha: plausibility threshold, 0 < alpha <= 1.
        amateur_temperature: temperature of the amateur's softmax, positive.

    Returns:
        The beam after the last step: a list of `Hypothesis`, best first.
    """

    def expansions(hypothesis):
        if hypothesis.finished:
            return [hypothesis]
        context = (*prompt, *hypothesis.tokens)
        expert_scores = log_softmax(expert.next_logits(context))
        amateur_scores = log_softmax(amateur.next_logits(context), amateur_temperature)
        plausible = np.flatnonzero(expert_scores >= expert_scores.max() + np.log(alpha))
        return [
            hypothesis.extended(int(token), float(expert_scores[token] - amateur_scores[token]), end_token)
            for token in plausible
        ]

    beam = [Hypothesis((), 0.0)]
    for _ in range(max_new_tokens):
        beam = rank(grown for hypothesis in beam for grown in expansions(hypothesis))[:beam_size]
    return beam
