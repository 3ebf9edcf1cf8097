"""Makes the hidden states of a case and calls `probing`."""

import numpy as np
from probe_tools import absent, returned

# The goal reads hidden states that were computed before: it needs no language model.
absent("transformers")

from main import probing  # noqa: E402


def _hidden_states(case):
    """Return the states of both groups for every layer."""
    rng = np.random.default_rng(case["draw"])
    logs, questions = [], []
    for layer in case["layers"]:
        both = [rng.standard_normal((count, layer["width"])) for count in case["counts"]]
        both[1][:, 1:] *= layer["spread"]
        both[1][:, 0] += layer["shift"]
        logs.append(both[0] + 1.0)
        questions.append(both[1] + 1.0)
    return logs, questions


def run(case):
    """Return the three scores of every layer, or the mean over the layers where one alone says little."""
    labels = [np.full(count, label) for count, label in zip(case["counts"], case["labels"], strict=True)]
    scores = returned(probing(*_hidden_states(case), *labels, case["tot_layer"]), 3, "three lists of scores are")
    found = {name: np.asarray(values, float) for name, values in zip(("accuracy", "f1", "auc"), scores, strict=True)}
    if case["averaged"]:
        return {f"mean_{name}": values.mean() for name, values in found.items()}
    return {name: list(values) for name, values in found.items()}
