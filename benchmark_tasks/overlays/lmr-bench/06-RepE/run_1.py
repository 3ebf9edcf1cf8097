"""Calls `get_rep_directions_agent` as a method of the repository's reader."""

import logging
from unittest import mock

import numpy as np
from probe_tools import absent, gpu_on_processor

# The goal needs no language model, no honesty data and no figures: their modules are stand-ins.
absent("matplotlib", "transformers", "utils")
# The goal's module writes a log file beside itself as soon as it is imported.
with mock.patch.object(logging, "basicConfig"), mock.patch("pathlib.Path.mkdir"):
    from repe.rep_readers import PCARepReader
    from unit_test.unit_test_1 import get_rep_directions_agent


def _without_sign(directions):
    # A principal component has no sign of its own: the largest entry counts as positive.
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return directions * np.sign(largest)


def run(case):
    """Return the directions, and what the reader keeps for later."""
    reader = PCARepReader(case["n_components"])
    states = {int(layer): vectors for layer, vectors in case["hidden_states"].items()}
    # `recenter` moves everything to a GPU.
    with gpu_on_processor():
        directions = get_rep_directions_agent(reader, None, None, states, case["hidden_layers"])
    return {
        "directions": {str(layer): _without_sign(np.asarray(found)) for layer, found in directions.items()},
        "means": {str(layer): np.asarray(mean).reshape(-1) for layer, mean in reader.H_train_means.items()},
        "n_components": int(reader.n_components),
    }
