"""Inputs for `SimCLR.info_nce_loss`: unit features of two views of each image, and a temperature."""

import numpy as np


def _case(first, second, temperature):
    # As the training loop stacks them: all first views, then all second views. Of length one, as the docstring says.
    features = np.concatenate([first, second])
    return {"features": features / np.linalg.norm(features, axis=1, keepdims=True), "temperature": temperature}


def _random_case(rng, images, width, *, noise, temperature):
    first = rng.standard_normal((images, width))
    return _case(first, first + noise * rng.standard_normal((images, width)), temperature)


def _same_image_twice(rng, images, width, temperature):
    # Two pairs of the same image: its twin is a negative that is as near as the positive.
    first = rng.standard_normal((images, width))
    first[1] = first[0]
    return _case(first, first.copy(), temperature)


def _opposite_views(rng, images, width, temperature):
    first = rng.standard_normal((images, width))
    return _case(first, -first, temperature)


def cases(seed):
    """Near and unrelated views, cold and warm, two images, one dimension, equal views, opposite views."""
    rng = np.random.default_rng([2301, seed])
    images = int(rng.integers(4, 9))
    temperature = float(rng.uniform(0.1, 0.9))
    return [
        _random_case(rng, images, 6, noise=0.5, temperature=0.07),
        _random_case(rng, images + 1, 16, noise=10.0, temperature=temperature),
        _random_case(rng, 3, 5, noise=1.0, temperature=1.0),
        _random_case(rng, 2, 4, noise=1.0, temperature=temperature),
        _random_case(rng, 5, 1, noise=1.0, temperature=0.5),
        _same_image_twice(rng, 4, 3, temperature),
        _opposite_views(rng, 4, 8, temperature),
    ]
