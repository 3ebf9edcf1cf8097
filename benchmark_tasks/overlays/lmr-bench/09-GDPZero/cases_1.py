"""Inputs for `find_best_action`: statistics of a search tree, and small games to search."""

import numpy as np


def _tree(rng, states, *, cpuct, actions=8, valid=None, visits=30, low=-1.0, high=1.0):
    """Statistics of `states` states. Of each all `actions` are valid, or `valid` of them."""
    tree = {}
    for number in range(states):
        moves = np.sort(rng.permutation(actions)[: valid or actions])
        prior = np.zeros(actions)
        prior[moves] = rng.dirichlet(np.ones(len(moves)))
        counts = rng.multinomial(visits, rng.dirichlet(np.ones(len(moves))))
        values = rng.uniform(low, high, len(moves))
        tree[f"start__move {number}"] = {"moves": moves, "prior": prior, "counts": counts, "values": values}
    return {"cpuct": cpuct, "tree": tree, "asked": f"start__move {rng.integers(states)}"}


def _game(rng, *, actions, depth, searches, cpuct, valid=None, q_0=0.0):
    """A game whose prior and value depend on the last action and the number of turns."""
    return {
        "cpuct": cpuct,
        "actions": [f"act {number}" for number in range(actions)],
        "valid": [int(move) for move in np.sort(rng.permutation(actions)[: valid or actions])],
        "priors": rng.dirichlet(np.ones(actions), (depth + 1, actions + 1)),
        "values": rng.uniform(-0.5, 1.0, (depth + 1, actions + 1)),
        "goal": int(rng.integers(actions)),
        "depth": depth,
        "searches": searches,
        "q_0": q_0,
        "seed": int(rng.integers(1_000_000)),
    }


def cases(seed):
    """Little and much exploration, some actions invalid, negative values, one action, no visits, and whole searches."""
    rng = np.random.default_rng([901, seed])
    return [
        _tree(rng, 3, cpuct=1.0),
        _tree(rng, 3, cpuct=rng.uniform(3.0, 8.0), visits=60),
        _tree(rng, 2, cpuct=0.0),
        _tree(rng, 4, cpuct=rng.uniform(0.3, 2.0), valid=4, actions=13),
        _tree(rng, 2, cpuct=0.5, low=-3.0, high=-1.0),
        _tree(rng, 2, cpuct=1.0, valid=1),
        _tree(rng, 2, cpuct=2.5, visits=1),
        # The reference implementation counts no visit as a tiny part of one: too little to be seen with this constant.
        _tree(rng, 2, cpuct=0.01, visits=0),
        _game(rng, actions=5, depth=6, searches=int(rng.integers(30, 50)), cpuct=1.0),
        _game(rng, actions=4, depth=3, searches=40, cpuct=rng.uniform(0.2, 0.6), valid=3, q_0=0.25),
    ]
