"""One sampled chain of thought."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Chain:
    """`text` is what the model wrote, `token_log_probs` the log-probability of each token that it sampled."""

    text: str
    token_log_probs: tuple = ()
