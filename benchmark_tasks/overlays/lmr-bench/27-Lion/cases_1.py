"""Inputs for `Lion.step`: parameters in groups with options, gradients of several steps or a loss to take them from."""

import numpy as np

SHAPES = ((4, 3), (5,), (2, 3, 2))


def _options(rng):
    return {
        "lr": float(rng.uniform(0.01, 0.2)),
        "betas": [float(rng.uniform(0.3, 0.95)), float(rng.uniform(0.5, 0.99))],
        "weight_decay": float(rng.uniform(0.05, 0.5)),
    }


def _group(rng, options, *, shapes=SHAPES):
    return {"options": options, "parameters": [rng.standard_normal(shape) for shape in shapes]}


def _gradients(rng, groups, steps):
    """Gradients by step, group and parameter. Their scales differ from step to step, so that now the momentum and now
    the gradient decides a sign."""
    scales = 10.0 ** rng.uniform(-1.5, 1.5, size=steps)
    return [
        [[scale * rng.standard_normal(value.shape) for value in group["parameters"]] for group in groups]
        for scale in scales
    ]


def _case(rng, groups, options, *, steps):
    return {"groups": groups, "options": options, "gradients": _gradients(rng, groups, steps), "resume_after": None}


def _with_missing(rng):
    # The first parameter never has a gradient, the second not in the first two steps, the third not in the second.
    case = _case(rng, [_group(rng, {})], _options(rng), steps=6)
    first_two = case["gradients"][:2]
    for (gradients,) in case["gradients"]:
        gradients[0] = None
    for (gradients,) in first_two:
        gradients[1] = None
    first_two[1][0][2] = None
    return case


def _with_zeros(rng):
    # Where a gradient has been zero from the start, the sign is zero: only the weight decay moves the parameter.
    case = _case(rng, [_group(rng, {}, shapes=((6, 4), (1,)))], _options(rng), steps=5)
    silent = rng.permutation(24).reshape(6, 4) < 8
    for (gradients,) in case["gradients"]:
        gradients[0][silent] = 0.0
    return case


def _with_loss(rng, options):
    rows, columns = int(rng.integers(6, 12)), int(rng.integers(2, 5))
    return {
        "groups": [_group(rng, {}, shapes=((columns,), (1,)))],
        "options": options,
        "features": rng.standard_normal((rows, columns)),
        "targets": 2.0 * rng.standard_normal(rows),
        "steps": 8,
    }


def cases(seed):
    """Defaults, options, three groups, missing and zero gradients, no averaging, a closure, and a reloaded state."""
    rng = np.random.default_rng([2701, seed])
    several = [_group(rng, {}), _group(rng, _options(rng), shapes=((3,), (2, 2))), _group(rng, {"weight_decay": 0.0})]
    plain = {"lr": 0.05, "betas": [0.0, 0.0], "weight_decay": 0.0}
    resumed = _case(rng, [_group(rng, {}), _group(rng, {"lr": 0.3})], _options(rng), steps=6)
    return [
        _case(rng, [_group(rng, {})], {}, steps=6),
        _case(rng, [_group(rng, {})], _options(rng), steps=8),
        _case(rng, several, _options(rng), steps=5),
        _with_missing(rng),
        _with_zeros(rng),
        _case(rng, [_group(rng, {})], plain, steps=3),
        _with_loss(rng, _options(rng)),
        _with_loss(rng, {"lr": 0.1}),
        {**resumed, "resume_after": 3},
    ]
