"""Calls `word_mover_score` on batches of embedded sentences."""

import torch
from movescore import word_mover_score


def _arguments(sentences):
    return (
        torch.tensor(sentences["embedding"], dtype=torch.float32),
        torch.tensor(sentences["idf"], dtype=torch.float32),
        sentences["tokens"],
    )


def run(case):
    """Return the scores, which may come as a list or as a tensor."""
    scores = word_mover_score(*_arguments(case["ref"]), *_arguments(case["hyp"]))
    return {"scores": [float(score) for score in scores]}
