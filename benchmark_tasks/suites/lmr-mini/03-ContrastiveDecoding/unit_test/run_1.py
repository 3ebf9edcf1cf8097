"""Builds both models and calls `contrastive_beam_search`."""

from decoding.models import TableModel
from decoding.search import contrastive_beam_search


def run(case):
    """Return tokens, scores and end marks of the final beam, best first."""
    beam = contrastive_beam_search(
        TableModel(case["expert_bigram"], case["expert_skip"]),
        TableModel(case["amateur_bigram"], case["amateur_skip"]),
        tuple(case["prompt"]),
        end_token=case["end_token"],
        beam_size=case["beam_size"],
        max_new_tokens=case["max_new_tokens"],
        **case["options"],
    )
    return {
        "tokens": [[int(token) for token in hypothesis.tokens] for hypothesis in beam],
        "scores": [float(hypothesis.score) for hypothesis in beam],
        "finished": [bool(hypothesis.finished) for hypothesis in beam],
    }
