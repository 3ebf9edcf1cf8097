"""Compare a candidate's output with the expected one, by the task's declared rules, and say how they differ.

Order of checks: structure, kind (bool, int, float, complex, str), shape, then values. 0-dimensional arrays count as
scalars of their kind; the width of a dtype does not matter (float32 equals float64 within the tolerance). Not-finite
values must stand at the same places, with the same sign, whatever the tolerances; NaN equals NaN only under
``equal_nan``. Tolerances are for float and complex: bool, int and str are always compared exactly.

With ``ordered`` false the output itself (not what is nested in it) is a multiset when it is a list or a
one-dimensional array. Elements whose encoding is identical are then paired first, the rest by a maximum matching over
"equal within the rule". Only where different elements lie closer together than the tolerance could the first step take
a partner that the second would have needed; a task with such outputs should sort in ``run(case)`` instead.
"""

from __future__ import annotations

import importlib
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluator.testing.box import frames
from evaluator.testing.report import Report, Unmatched, describe, kind_of, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.types import Check, Data, Rule

MAX_TEXT_CHARACTERS = 2000
MAX_INEXACT = 300
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """How two outputs differ: the names of the outputs concerned and a bounded text."""

    outputs: tuple[str, ...]
    text: str


def compare(expected: Data, actual: Data, check: Check) -> Difference | None:
    """Compare what ``run(case)`` returned with what it returned for the golden function; None means equal.

    ``expected`` must be a dict from output name to data. The text of the difference has at most
    ``MAX_TEXT_CHARACTERS`` characters and names, per differing output, the path, the kinds or shapes, the first
    differing values, the largest absolute and relative error, and how many of how many values differ.
    """
    if not isinstance(expected, dict):
        raise TypeError(f"the reference returned {describe(expected)}, run(case) must return a dict")
    if not isinstance(actual, dict):
        return Difference(
            (), f"run(case) returned {describe(actual)}, expected a dict of outputs"[:MAX_TEXT_CHARACTERS]
        )
    rules = dict(check.output_rules)
    texts = {}
    for name in [*expected, *(name for name in actual if name not in expected)]:
        text = _compare_output(name, expected, actual, rules.get(name, check.default_rule))
        if text:
            texts[name] = text
    if not texts:
        return None
    return Difference(tuple(texts), _bounded("\n".join(texts.values())))


def _compare_output(name: str, expected: dict[str, Data], actual: dict[str, Data], rule: Rule) -> str:
    label = show(name)
    if name not in actual:
        return f"output {label} is missing, expected {describe(expected[name])}"
    if name not in expected:
        return f"output {label} is not expected, got {describe(actual[name])}"
    report = Report()
    if rule.ordered:
        _walk(expected[name], actual[name], name, rule, report)
    else:
        _walk_unordered(expected[name], actual[name], name, rule, report)
    return f"output {label}: {report.text()}" if report.differs else ""


def _walk_unordered(expected: Data, actual: Data, path: str, rule: Rule, report: Report) -> None:
    if isinstance(expected, np.ndarray) and expected.ndim == 1:
        if _same_layout(expected, actual, path, report):
            _walk_unordered_array(expected, np.asarray(actual), path, rule, report)
    elif isinstance(expected, list):
        if isinstance(actual, list) and len(actual) == len(expected):
            _match(expected, actual, path, rule, report)
        else:
            report.add_structure(path, describe(expected), describe(actual))
    else:
        _walk(expected, actual, path, rule, report)


def _walk_unordered_array(expected: NDArray[Any], actual: NDArray[Any], path: str, rule: Rule, report: Report) -> None:
    """Compare real arrays sorted, complex ones as lists.

    The tolerance interval around an expected value moves up with the value (``rtol`` below 1), so a matching within
    the tolerance exists if and only if the sorted one is such a matching.
    """
    if expected.dtype.kind == "c":
        _match([np.asarray(value) for value in expected], [np.asarray(value) for value in actual], path, rule, report)
    else:
        one, other = np.sort(expected), np.sort(actual)
        report.add_array(f"sorted {path}", one, other, unequal(one, other, rule))


def _match(expected: list[Data], actual: list[Data], path: str, rule: Rule, report: Report) -> None:
    unmatched = match_in_any_order(expected, actual, equal=lambda one, other: _equal(one, other, rule))
    if unmatched:
        report.add_unmatched(path, unmatched, total=len(expected))


def match_in_any_order(
    expected: list[Data], actual: list[Data], *, equal: Callable[[Data, Data], bool]
) -> Unmatched | None:
    """Pair every expected element with one actual element that equals it; None when all have a partner.

    Both lists have one length. ``equal(expected, actual)`` need not be transitive. More than ``MAX_INEXACT`` elements
    without an identical partner are not searched and count as unmatched: that many pairs are costly to compare.
    """
    waiting: dict[bytes, list[Data]] = defaultdict(list)
    for element in actual:
        waiting[_identity(element)].append(element)
    left = []
    for element in expected:
        twins = waiting[_identity(element)]
        # An element that holds NaN need not equal its twin.
        if twins and equal(element, twins[-1]):
            twins.pop()
        else:
            left.append(element)
    if not left:
        return None
    if len(left) > MAX_INEXACT:
        return Unmatched(tuple(left[:MAX_NAMED]), may_be_more=True)
    # Slow to import, and few tasks need it.
    sparse: Any = importlib.import_module("scipy.sparse")
    csgraph: Any = importlib.import_module("scipy.sparse.csgraph")
    right = [element for twins in waiting.values() for element in twins]
    pairs = sparse.csr_array([[equal(one, other) for other in right] for one in left])
    partners = csgraph.maximum_bipartite_matching(pairs, perm_type="column")
    missing = [one for one, partner in zip(left, partners, strict=True) if partner < 0]
    return Unmatched(tuple(missing[:MAX_NAMED]), may_be_more=len(missing) > MAX_NAMED) if missing else None


def _identity(element: Data) -> bytes:
    """The element's encoding; nothing where it has none.

    A candidate may write JSON that is longer in our spelling (``1e9``) than a message may be: a wrong answer, no
    infrastructure error.
    """
    try:
        return frames.encode(element)
    except frames.FrameError:
        return b""


def _equal(expected: Data, actual: Data, rule: Rule) -> bool:
    report = Report()
    _walk(expected, actual, "", rule, report)
    return not report.differs


def _walk(expected: Data, actual: Data, path: str, rule: Rule, report: Report) -> None:
    """Compare one node and everything below it; ``expected`` decides how large the walk can get."""
    if isinstance(expected, list):
        if isinstance(actual, list) and len(actual) == len(expected):
            for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
                _walk(one, other, f"{path}[{index}]", rule, report)
        else:
            report.add_structure(path, describe(expected), describe(actual))
    elif isinstance(expected, dict):
        _walk_dict(expected, actual, path, rule, report)
    elif isinstance(expected, np.ndarray) and expected.ndim:
        if _same_layout(expected, actual, path, report):
            array = np.asarray(actual)
            report.add_array(path, expected, array, unequal(expected, array, rule))
    else:
        _walk_scalar(expected, actual, path, rule, report)


def _walk_dict(expected: dict[str, Data], actual: Data, path: str, rule: Rule, report: Report) -> None:
    if not isinstance(actual, dict):
        report.add_structure(path, describe(expected), describe(actual))
        return
    for key in [*expected, *(key for key in actual if key not in expected)]:
        below = f"{path}[{show(key)}]"
        if key not in actual:
            report.add_structure(below, describe(expected[key]), "nothing")
        elif key not in expected:
            report.add_structure(below, "nothing", describe(actual[key]))
        else:
            _walk(expected[key], actual[key], below, rule, report)


def _walk_scalar(expected: Data, actual: Data, path: str, rule: Rule, report: Report) -> None:
    kind = kind_of(expected)
    if _plain_equal(expected, actual, rule):
        report.add_scalar(path, expected, actual, differs=False)
    elif not _is_scalar(actual) or kind_of(actual) != kind:
        report.add_structure(path, describe(expected), describe(actual))
    elif kind in ("none", "str"):
        report.add_scalar(path, expected, actual, differs=True)
    else:
        one, other = np.asarray(expected), np.asarray(actual)
        report.add_array(path, one, other, unequal(one, other, rule))


def _is_scalar(value: Data) -> bool:
    return value.ndim == 0 if isinstance(value, np.ndarray) else not isinstance(value, list | dict)


def _plain_equal(expected: Data, actual: Data, rule: Rule) -> bool:
    """Whether two scalars of one Python type are equal; a short cut, as NumPy is slow on single numbers."""
    if isinstance(expected, np.ndarray) or type(expected) is not type(actual):
        return False
    if expected == actual:
        return True
    if rule.exact or not isinstance(expected, float) or not isinstance(actual, float):
        return False
    near = abs(actual - expected) <= rule.atol + rule.rtol * abs(expected)
    return near and math.isfinite(expected) and math.isfinite(actual)


def _same_layout(expected: NDArray[Any], actual: Data, path: str, report: Report) -> bool:
    if isinstance(actual, np.ndarray) and actual.shape == expected.shape and kind_of(actual) == kind_of(expected):
        return True
    report.add_structure(path, describe(expected), describe(actual))
    return False


def unequal(expected: NDArray[Any], actual: NDArray[Any], rule: Rule) -> NDArray[np.bool_]:
    """Say for each element whether it differs, for two arrays of one kind and shape (0-dimensional ones included)."""
    if expected.dtype.kind not in "fc":
        return np.asarray(expected != actual)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    one, other = expected.astype(wide), actual.astype(wide)
    with np.errstate(all="ignore"):
        equal: NDArray[np.bool_] = np.asarray(one == other)
        if not rule.exact:
            close = np.abs(other - one) <= rule.atol + rule.rtol * np.abs(one)
            equal = equal | (close & np.isfinite(one) & np.isfinite(other))
    if rule.equal_nan:
        equal = equal | (np.isnan(one) & np.isnan(other))
    return ~equal


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[: MAX_TEXT_CHARACTERS - 1]}…"
