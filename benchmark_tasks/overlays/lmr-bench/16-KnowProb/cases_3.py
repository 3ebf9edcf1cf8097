"""Inputs for `is_parametric_object_not_in_the_prompt`: objects to look up, and the relations' one-shot examples."""

import numpy as np

LETTERS = list("abcdefghilmnoprstuv")


def _name(rng):
    # All names of a case have one length, so that none lies within another.
    return " ".join("".join(rng.choice(LETTERS, size=size)).capitalize() for size in (4, 3))


def _names(rng, count):
    found = []
    while len(found) < count:
        name = _name(rng)
        if name.lower() not in [other.lower() for other in found]:
            found.append(name)
    return found


def _alike(rng, names):
    """Names that are others than these: a part of one, or one and more."""
    first, last = (str(name) for name in rng.choice(names, size=2))
    return [first.split()[0], first[1:], f"{last} {_name(rng)}", f"De{last.lower()}"]


def _cased(rng, name):
    return str(rng.choice([name, name.lower(), name.upper(), name.swapcase()]))


def _case(rng, *, shared, objects_only=0, subjects_only=0, asked_present, asked_absent):
    """Return examples, `shared` of whose names are both object and subject, and names to look up.

    `asked` stand in both columns or in neither: there the reference and the instruction agree. `asked_object` and
    `asked_subject` stand in one column: there they differ.
    """
    names = _names(rng, shared + objects_only + subjects_only + asked_absent)
    common, rest = names[:shared], names[shared:]
    only_objects, only_subjects = rest[:objects_only], rest[objects_only : objects_only + subjects_only]
    objects, subjects = common + only_objects, common + only_subjects
    asked = [str(name) for name in rng.choice(common, size=asked_present)]
    asked += rest[objects_only + subjects_only :] + _alike(rng, objects + subjects)
    length = max(len(objects), len(subjects))
    # Names recur, as several relations share an example.
    objects = objects + [str(name) for name in rng.choice(objects, size=length - len(objects))]
    subjects = subjects + [str(name) for name in rng.choice(subjects, size=length - len(subjects))]
    return {
        "generation_object_1": [_cased(rng, objects[number]) for number in rng.permutation(length)],
        "generation_subject_1": [_cased(rng, subjects[number]) for number in rng.permutation(length)],
        "labels": [int(label) for label in rng.permutation(length)],
        # The pipeline has every generated object in lower case.
        "asked": [asked[number].lower() for number in rng.permutation(len(asked))],
        "asked_object": [name.lower() for name in only_objects],
        "asked_subject": [name.lower() for name in only_subjects],
    }


def cases(seed):
    """Many and few examples, names in any case, names alike, repeated names, names of one column, a single example."""
    rng = np.random.default_rng([1603, seed])
    return [
        _case(rng, shared=6, objects_only=5, subjects_only=4, asked_present=8, asked_absent=8),
        _case(rng, shared=3, objects_only=1, subjects_only=9, asked_present=6, asked_absent=5),
        _case(rng, shared=4, objects_only=7, subjects_only=1, asked_present=5, asked_absent=7),
        _case(rng, shared=5, asked_present=6, asked_absent=6),
        _case(rng, shared=1, asked_present=3, asked_absent=3),
        _case(rng, shared=8, objects_only=2, subjects_only=2, asked_present=12, asked_absent=2),
    ]
