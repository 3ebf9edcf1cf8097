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
    """Sort by score, best first; scores that are equal to nine decimals by their token ids, smaller ids first.

    Hypotheses that go the same steps in another order have one score, but its last digits depend on that order.
    """
    return sorted(hypotheses, key=lambda hypothesis: (-round(hypothesis.score, 9), hypothesis.tokens))
