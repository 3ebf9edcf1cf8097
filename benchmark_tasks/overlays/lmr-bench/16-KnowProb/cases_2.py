"""Inputs for `remove_object_subject_overlap`: rows with subjects and objects that are more or less alike."""

import numpy as np

LETTERS = list("abcdefghilmnoprstuv")


def _word(rng, shortest=5, longest=10):
    return "".join(rng.choice(LETTERS, size=int(rng.integers(shortest, longest + 1)))).capitalize()


def _variant(rng, subject):
    """The subject's beginning with another ending, as 'Croatian' has of 'Croatia': similar to one degree or another."""
    kept = int(rng.integers(1, len(subject)))
    return subject[:kept] + _word(rng, 1, 5).lower()


def _contained(rng, subject):
    # In another case, so that only a comparison without case finds it; the subject's end has a low similarity to it.
    return subject[int(rng.integers(2, len(subject) - 1)) :].upper()


def _object(rng, kind, subject):
    if kind == "variant":
        return _variant(rng, subject)
    if kind == "contained":
        return _contained(rng, subject)
    if kind == "containing":
        return f"the {subject.lower()} of {_word(rng)}"
    return {"equal": subject, "other": _word(rng), "lower variant": _variant(rng, subject).lower(), "empty": ""}[kind]


def _words_alike(rng):
    """Two names that share a word and differ else: one pair of words is equal, the names are not similar."""
    shared, *others = (_word(rng) for _ in range(3))
    return f"{others[0]} {shared}", f"{shared} {others[1]}".lower()


def _recurring(rng):
    """A subject of several relations: an object that contains it, one that occurs twice, and another one."""
    subject, own, other = (_word(rng) for _ in range(3))
    return [(subject, f"the {subject.lower()} of {own}"), (subject, own), (subject, own), (subject, other)]


def _case(rng, kinds, options, *, recurring=0, words_alike=0):
    rows = [row for _ in range(recurring) for row in _recurring(rng)] + [_words_alike(rng) for _ in range(words_alike)]
    for kind in kinds:
        subject = _word(rng)
        rows.append((subject, _object(rng, kind, subject)))
    rows = [rows[number] for number in rng.permutation(len(rows))]
    return {
        "statement_subject": [subject for subject, _ in rows],
        "parametric_object": [own for _, own in rows],
        # Objects of the knowledge base: what a row is kept for is the model's own object.
        "statement_object": [_variant(rng, subject) if rng.random() < 0.5 else _word(rng) for subject, _ in rows],
        "labels": [int(label) for label in rng.permutation(2 * len(rows))[: len(rows)]],
        "options": options,
    }


def cases(seed):
    """Default and other thresholds, objects that contain the subject or lie in it, recurring names, all and one row."""
    rng = np.random.default_rng([1602, seed])
    mixed = ["variant"] * 14 + ["lower variant"] * 4 + ["contained", "containing", "equal", "other", "other", "empty"]
    return [
        _case(rng, mixed, {}, recurring=2, words_alike=4),
        _case(rng, ["variant"] * 30, {}),
        _case(rng, mixed, {"string_similarity_ratio": float(rng.uniform(0.55, 0.7))}),
        _case(rng, mixed, {"string_similarity_ratio": float(rng.uniform(0.85, 0.95))}, recurring=1, words_alike=3),
        _case(rng, mixed, {"string_similarity_ratio": 1.0}, recurring=1),
        _case(rng, ["contained", "containing", "other", "contained", "containing", "other"], {}),
        _case(rng, ["equal", "contained"], {}),
        _case(rng, [str(rng.choice(["variant", "other"]))], {"string_similarity_ratio": 0.75}),
    ]
