"""Calls `greedy_cos_idf` on a batch of embedded sentences."""

import torch
from bert_score_goal import greedy_cos_idf


def _tensors(sentences):
    return (
        torch.tensor(sentences["embedding"], dtype=torch.float32),
        torch.tensor(sentences["masks"]),
        torch.tensor(sentences["idf"], dtype=torch.float32),
    )


def run(case):
    """Return the F1 scores. Whether the function normalises its arguments in place is left open."""
    return {"f1": greedy_cos_idf(*_tensors(case["ref"]), *_tensors(case["hyp"])).numpy()}
