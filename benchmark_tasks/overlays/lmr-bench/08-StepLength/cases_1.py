"""Inputs for `get_sentence`: demonstrations, questions, triggers and the name of a prompting method."""

import numpy as np

WORDS = (
    *("apples", "boxes", "cards", "each", "first", "gives", "half", "in", "left", "many", "more", "number", "of"),
    *("pages", "price", "reads", "shop", "step", "the", "three", "then", "twice", "week", "with", "13", "4.5", "$20"),
)
METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")


def _text(rng, least, most, end):
    words = rng.choice(WORDS, rng.integers(least, most + 1))
    return " ".join(str(word) for word in words).capitalize() + end


def _question(rng):
    return f"Q: {_text(rng, 5, 20, '?')}\nA:"


def _demonstrations(rng, number):
    """Solved questions, in the form in which the repository joins them."""
    return "".join(f"{_question(rng)} {_text(rng, 4, 12, '.')} {_text(rng, 2, 4, '.')}\n\n" for _ in range(number))


def _case(rng, method, demonstrations):
    return {
        "demo1": _demonstrations(rng, demonstrations) if demonstrations else None,
        "x": _question(rng),
        "args_method": method,
        "args_cot_trigger": _text(rng, 3, 6, "."),
        "args_direct_answer_trigger_for_zeroshot": _text(rng, 3, 6, ""),
    }


def cases(seed):
    """Every method with demonstrations, and the methods that use none without them."""
    rng = np.random.default_rng([801, seed])
    given = [_case(rng, method, int(rng.integers(1, 5))) for method in METHODS]
    return given + [_case(rng, method, 0) for method in METHODS if method.startswith("zero")]
