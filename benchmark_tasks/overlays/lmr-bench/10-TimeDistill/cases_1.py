"""Inputs for `multi_scale_process_inputs`: series and the number and width of pooling steps."""

import numpy as np


def _case(rng, shape, **options):
    return {"series": rng.standard_normal(shape), "weight_seed": int(rng.integers(1000)), "options": options}


def cases(seed):
    """Defaults, other numbers and widths, lengths that leave a rest, no pooling, one channel, down to one value."""
    rng = np.random.default_rng([1001, seed])
    length = int(rng.integers(8, 40))
    return [
        _case(rng, (2, 3, 24)),
        _case(rng, (3, 2, length)),
        _case(rng, (2, 4, 29), down_sampling_window=3),
        _case(rng, (1, 3, 17), down_sampling_layers=2, down_sampling_window=4),
        _case(rng, (4, 1, length), down_sampling_layers=1),
        _case(rng, (2, 2, 9), down_sampling_layers=0),
        _case(rng, (1, 2, 32), down_sampling_layers=5),
        _case(rng, (2, 3, 60), down_sampling_layers=2, down_sampling_window=5),
    ]
