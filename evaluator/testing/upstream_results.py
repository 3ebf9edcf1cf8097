"""What in a goal function's result fools many a comparison. Looked for while a result travels; nothing is unpacked.

``numpy.allclose`` accepts an empty array, a loop over something empty compares nothing, a NaN is neither more nor less
than a tolerance, and a test that logs what it was given may log the word that it is judged by.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

EMPTY, NAN, WORDS = "empty", "nan", "words"
REFUSED = {
    EMPTY: "the result holds an empty container, where the reference's never does",
    NAN: "the result holds a NaN, where the reference's never does",
    WORDS: "the result holds a word that the test is judged by, where the reference's never does",
}
_CONTAINERS = ("list", "dict", "ordered", "set", "tuple", "frozenset", "size")
_JUDGED_BY = ("Passed", "Failed")


def peculiarities(parcel: dict[str, Any], changes: list[Any], arguments: Sequence[Any]) -> set[str]:
    """Which of :data:`REFUSED` is in a result, in what it changed, and in those arguments that it hands back.

    ``arguments`` are the packed things of the call, which a parcel refers to by their numbers. Parcel and changes may
    have any form.
    """
    root = parcel.get("root")
    found = {EMPTY} if isinstance(root, str) and not root else set()
    handed_back: set[int] = set()
    waiting: list[Any] = [parcel, changes]
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, dict):
            found |= _of_kinds(tree)
            waiting += tree.values()
            number = tree.get("thing")
            if type(number) is int and 0 <= number < len(arguments) and number not in handed_back:
                handed_back.add(number)
                waiting.append(arguments[number])
        elif isinstance(tree, list):
            waiting += tree
        else:
            found |= _of_leaf(tree)
    return found


def _of_kinds(tree: dict[str, Any]) -> set[str]:
    """What the kind of a packed value makes of its content."""
    found = set()
    for kind, content in tree.items():
        no_columns = kind == "frame" and isinstance(content, list) and content[:1] == [[]]
        if (kind in _CONTAINERS and not _has_some(content)) or no_columns or (kind == "range" and _is_over(content)):
            found.add(EMPTY)
        if kind == "bytes" and isinstance(content, np.ndarray):
            found |= _of_leaf(content.tobytes().decode("latin-1"))
        if kind == "tensor" and tree.get("dtype") == "bfloat16":
            found |= _of_leaf(_from_bfloat16(content))
    return found


def _of_leaf(leaf: Any) -> set[str]:
    if isinstance(leaf, np.ndarray):
        no_number = leaf.dtype.kind in "fc" and bool(np.isnan(leaf).any())
        return {kind for kind, is_there in ((EMPTY, not leaf.size), (NAN, no_number)) if is_there}
    if isinstance(leaf, float) and math.isnan(leaf):
        return {NAN}
    return {WORDS} if isinstance(leaf, str) and any(word in leaf for word in _JUDGED_BY) else set()


def _has_some(content: Any) -> bool:
    return not isinstance(content, list) or bool(content)


def _is_over(content: Any) -> bool:
    """Whether a range of these bounds is empty."""
    try:
        return not range(*content)
    except (TypeError, ValueError):
        return False


def _from_bfloat16(content: Any) -> Any:
    """The numbers whose upper halves travel as 16-bit integers, since NumPy has no such dtype."""
    if not isinstance(content, np.ndarray) or content.dtype != np.int16:
        return None
    return np.asarray(content.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
