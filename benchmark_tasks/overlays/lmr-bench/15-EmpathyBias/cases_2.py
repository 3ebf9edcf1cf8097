"""Inputs for `get_filtered_matrix`: predicted intensities of each pair of groups, and the places to leave out."""

import numpy as np

# Rows in a period, and how many of them are kept: a mean over 10, 20, 25, 50 or 100 whole numbers has two decimals at
# most. So rounding it to two decimals, which the repository does and instruction and paper do not ask for, is open.
SOME_EXCLUDED = ((55, 50), (110, 100), (22, 20), (11, 10))
NONE_EXCLUDED = ((50, 50), (25, 25))
PEOPLE = ("a nurse", "a cook", "a pilot", "a farmer", "a judge", "a diver", "a tailor")
PROMPTS = ("origin", "persona-1", "persona-2", "10-scale", "3-person")
MODELS = ("llama-8b", "llama-70b", "mistral", "qwen")


def _case(rng, option, *, groups=(), size=None, sizes=SOME_EXCLUDED, scale=100):
    """Intensities of 0 to `scale` for each pair of `groups`, or of the script's own `size` groups; -1 is a refusal."""
    pairs = (size or len(groups)) ** 2
    period, kept = sizes[rng.integers(len(sizes))]
    level = rng.uniform(0.2, 0.8, (pairs, 1)) * scale
    intensities = np.rint(level + 0.15 * scale * rng.standard_normal((pairs, period))).clip(0, scale).astype(np.int64)
    excluded = np.sort(rng.permutation(period)[kept:])
    intensities[:, excluded] = np.where(rng.random((pairs, period - kept)) < 0.3, -1, intensities[:, excluded])
    return {
        "group_option": option,
        "prompt_variation": str(rng.choice(PROMPTS)),
        "model_id": str(rng.choice(MODELS)),
        "groups": [str(group) for group in groups],
        "intensities": intensities,
        "excluded": [int(place) for place in excluded],
    }


def cases(seed):
    """The script's own religions and other groups, two to seven of them, rows left out or not, and both scales."""
    rng = np.random.default_rng([1502, seed])
    people = rng.permutation(PEOPLE)
    return [
        _case(rng, "religion", size=5),
        _case(rng, "religion", size=5, sizes=NONE_EXCLUDED),
        _case(rng, "work", groups=people[:2]),
        _case(rng, "work", groups=people[: rng.integers(3, 5)], scale=10),
        _case(rng, "guild", groups=people),
        _case(rng, "work", groups=people[2:5], sizes=((11, 10),)),
        _case(rng, "guild", groups=people[3:6], sizes=NONE_EXCLUDED, scale=10),
    ]
