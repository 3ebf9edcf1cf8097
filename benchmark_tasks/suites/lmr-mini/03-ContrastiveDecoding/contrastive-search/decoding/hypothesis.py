"""Partial outputs of a search."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """`tokens` generated so far (without the prompt, with the end token once finished) and their total `score`."""

    tokens: tuple
    score: float
    finished: bool = False

    def extended(self, token, gain, end_token):
        """Return the hypothesis with one more token."""
        return Hypothesis((*self.tokens, token), self.score + gain, token == end_token)


def rank(hypotheses):
    """Sort by score, best first; equal scores by their token ids, smaller ids first."""
    return sorted(hypotheses, key=lambda hypothesis: (-hypothesis.score, hypothesis.tokens))
