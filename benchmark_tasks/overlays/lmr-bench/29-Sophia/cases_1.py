"""Inputs for `SophiaG.step`: parameters in groups with options, gradients of steps and of Hessian updates."""

import numpy as np

SHAPES = ((4, 3), (5,), (2, 3, 2))


def _options(rng):
    return {
        "lr": float(rng.uniform(0.1, 1.0)),
        "betas": [float(rng.uniform(0.5, 0.95)), float(rng.uniform(0.5, 0.99))],
        "rho": float(rng.uniform(0.02, 0.2)),
        "weight_decay": float(rng.uniform(0.05, 0.5)),
    }


def _group(rng, options, *, shapes=SHAPES):
    return {"options": options, "parameters": [rng.standard_normal(shape) for shape in shapes]}


def _gradients(rng, groups):
    """Gradients by group and parameter. Their scales differ within each, so that some updates are clipped."""
    return [
        [rng.standard_normal(value.shape) * 10.0 ** rng.uniform(-1, 1, value.shape) for value in group["parameters"]]
        for group in groups
    ]


def _case(rng, groups, options, *, steps, batch_size=None, every=2):
    """Steps, before each `every`th of which the Hessian is updated; never without `every`."""
    return {
        "groups": groups,
        "options": options,
        "steps": [
            {
                "hessian_gradients": _gradients(rng, groups) if every and step % every == every - 1 else None,
                "gradients": _gradients(rng, groups),
            }
            for step in range(steps)
        ],
        "batch_size": batch_size,
        "resume_after": None,
    }


def _with_missing(rng):
    # The first parameter never has a gradient, the second not in the first two steps, the third not in the second.
    case = _case(rng, [_group(rng, {})], _options(rng), steps=5, batch_size=60)
    for number, step in enumerate(case["steps"]):
        for (gradients,) in filter(None, step.values()):
            gradients[0] = None
            gradients[1] = None if number < 2 else gradients[1]
            gradients[2] = None if number == 1 else gradients[2]
    return case


def _with_loss(rng, options, *, batch_size):
    rows, columns = int(rng.integers(6, 12)), int(rng.integers(2, 5))
    groups = [_group(rng, {}, shapes=((columns,), (1,)))]
    return {
        **_case(rng, groups, options, steps=6, batch_size=batch_size),
        "features": rng.standard_normal((rows, columns)),
        "targets": 2.0 * rng.standard_normal(rows),
    }


def cases(seed):
    """Defaults, options, groups, maximising, no Hessian, missing gradients, closures, reloaded state, capturable."""
    rng = np.random.default_rng([2901, seed])
    several = [
        _group(rng, {}),
        _group(rng, _options(rng), shapes=((3,), (2, 2))),
        _group(rng, {"maximize": True, "weight_decay": 0.0}),
    ]
    resumed = _case(rng, [_group(rng, {}), _group(rng, {"lr": 0.3})], _options(rng), steps=5, batch_size=80)
    return [
        _case(rng, [_group(rng, {})], {}, steps=5, every=1),
        _case(rng, [_group(rng, {})], _options(rng), steps=6, batch_size=int(rng.integers(20, 200))),
        _case(rng, several, _options(rng), steps=4, batch_size=100),
        _case(rng, [_group(rng, {})], {**_options(rng), "maximize": True}, steps=3, batch_size=1, every=1),
        _case(rng, [_group(rng, {}, shapes=((7,), (1,)))], _options(rng), steps=3, every=None),
        _with_missing(rng),
        _with_loss(rng, _options(rng), batch_size=50),
        _with_loss(rng, {"lr": 0.2}, batch_size=None),
        {**resumed, "resume_after": 3},
        _case(rng, [_group(rng, {})], {**_options(rng), "capturable": True}, steps=3, batch_size=100),
    ]
