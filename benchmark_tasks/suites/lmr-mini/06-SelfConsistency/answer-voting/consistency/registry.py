"""Aggregation rules by name."""

import functools

RULES = {}
WEIGHTINGS = ("uniform", "probability", "normalised")


def aggregation_rule(name):
    """Register the decorated rule under `name`; its calls check the weighting and receive the chains as a tuple."""

    def register(rule):
        @functools.wraps(rule)
        def checked(chains, weighting="uniform"):
            if weighting not in WEIGHTINGS:
                raise ValueError(f"unknown weighting {weighting!r}, choose one of {', '.join(WEIGHTINGS)}")
            return rule(tuple(chains), weighting)

        RULES[name] = checked
        return checked

    return register
