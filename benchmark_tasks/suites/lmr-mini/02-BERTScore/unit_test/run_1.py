"""Pads the sentences of a case, weighs their tokens, and calls `greedy_match`."""

from bertmatch.batch import pad
from bertmatch.idf import IdfTable
from bertmatch.matching import greedy_match


def run(case):
    """Return the three scores of every sentence pair."""
    table = IdfTable(case["corpus"])
    sides = [
        pad(
            case[f"{side}_vectors"],
            [table.weights(tokens) for tokens in case[f"{side}_tokens"]],
            case["filler"],
        )
        for side in ("candidate", "reference")
    ]
    scores = greedy_match(*sides)
    return {name: scores[name] for name in ("precision", "recall", "f1")}
