"""Calls `generate_tasks`, which draws its tasks with the repository's `generate_x_y`."""

import inspect
import pickle
from unittest.mock import patch

import numpy as np
from probe_tools import absent

absent("matplotlib")

import data_utils  # noqa: E402 - after the stand-ins

GENUINE = data_utils.generate_x_y
PARAMETERS = inspect.signature(GENUINE)


def _generate(case, seed):
    """The tasks for `seed`, and the seeds that they were drawn with.

    Docstring and paper do not say how the tasks' own seeds follow from `seed`. So the first seed that is met here draws
    from a stream that the case names, the next different one from the stream after it, and so on.
    """
    met = []

    def generate_x_y(*args, **kwargs):
        # A generator's state, in place of the object: it advances with each draw.
        seed = pickle.dumps(PARAMETERS.bind(*args, **kwargs).arguments["seed"])
        GENUINE(*args, **kwargs)  # Refuses a seed that it cannot use.
        call = PARAMETERS.bind(*args, **kwargs)
        if seed not in met:
            met.append(seed)
        call.arguments["seed"] = case["stream"] + met.index(seed)
        return GENUINE(*call.args, **call.kwargs)

    sizes = {name: case[name] for name in ("num_tasks", "num_samples_per_task", "num_dimensions")}
    with patch.object(data_utils, "generate_x_y", generate_x_y):
        return data_utils.generate_tasks(**sizes, seed=seed, **case["options"]), met


def run(case):
    """Return features and labels of all tasks, and whether the seed, and nothing else, decides what is drawn."""
    (features, labels), seeds = _generate(case, case["seed"])
    return {
        "features": np.asarray(features, dtype=float),
        "labels": np.asarray(labels, dtype=float),
        "same_seed_repeats": _generate(case, case["seed"])[1] == seeds,
        "other_seed_repeats": _generate(case, case["other_seed"])[1] == seeds,
    }
