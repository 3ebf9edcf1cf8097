"""Inputs for `generate_tasks`: sizes, shapes of the classes and seeds."""

import numpy as np


def _case(rng, tasks, dimensions, *, seed=None, **options):
    return {
        "num_tasks": tasks,
        "num_samples_per_task": int(rng.integers(12, 40)),
        "num_dimensions": dimensions,
        "seed": int(rng.integers(1, 10_000)) if seed is None else seed,
        "other_seed": int(rng.integers(20_000, 30_000)),
        "options": options,
        "stream": int(rng.integers(0, 10_000)),
    }


def cases(seed):
    """Linear, circular and moon-shaped classes, options given and left out, seed 0, one task, one to five features."""
    rng = np.random.default_rng([1301, seed])
    return [
        _case(rng, 3, 2),
        _case(rng, int(rng.integers(4, 7)), int(rng.integers(3, 6)), data_type="linear", class_sep=rng.uniform(0.2, 1)),
        _case(rng, 4, 2, seed=0, data_type="circle", factor=rng.uniform(0.1, 0.4)),
        _case(rng, 2, 2, data_type="circle", class_sep=1.0),
        _case(rng, int(rng.integers(3, 6)), 2, data_type="moon"),
        _case(rng, 1, 2, seed=0, class_sep=rng.uniform(1, 1.5), factor=0.9),
        _case(rng, 2, 1),
    ]
