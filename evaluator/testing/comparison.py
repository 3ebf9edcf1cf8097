"""Compare a candidate's output with the expected one by the task's rules, and describe the differences.

Order of checks: structure, kind (bool, int, float, complex, str), shape, then values. 0-dimensional arrays count as
scalars of their kind; the width of a dtype does not matter (float32 equals float64 within the tolerance). Non-finite
values must be at the same places with the same sign, regardless of tolerances; NaN equals NaN only under ``equal_nan``.
Tolerances apply to float and complex: bool, int and str are always compared exactly.

With ``ordered`` false, an output that is a list or a one-dimensional array is a multiset (not what is nested in it).
Elements with identical encodings are paired first, the rest by a maximum matching over "equal within the rule". Only if
different elements are closer than the tolerance could the first step take a partner that the second needs; a task with
such outputs should sort in ``run(case)`` instead.
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.verdicts import Check, Data, Rule

MAX_TEXT_CHARACTERS = 2000
MAX_INEXACT = 300
MAX_NAMED = 5
MAX_EXAMPLES = 5
MAX_VALUE_CHARACTERS = 60
MAX_PATH_CHARACTERS = 80
_ARRAY_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def compare(expected: Data, actual: Data, check: Check) -> str:
    """Describe how the output of ``run(case)`` differs from the golden function's; empty if it does not.

    ``expected`` must be a dict from output name to data. The text has at most ``MAX_TEXT_CHARACTERS`` characters and
    gives, per differing output, the path, the kinds or shapes, the first differing values, the largest absolute and
    relative error, and how many of all values differ.
    """
    if not isinstance(expected, dict):
        raise TypeError(f"the reference returned {describe(expected)}, run(case) must return a dict")
    if not isinstance(actual, dict):
        return _bounded(f"run(case) returned {describe(actual)}, expected a dict of outputs")
    rules = dict(check.output_rules)
    texts = []
    for name in [*expected, *(name for name in actual if name not in expected)]:
        text = _compare_output(name, expected, actual, rules.get(name, check.default_rule))
        if text:
            texts.append(text)
    return _bounded("\n".join(texts))


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

    The tolerance interval around an expected value moves up with the value (``rtol`` below 1), so if any matching is
    within the tolerance, the sorted one is.
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
    """Pair every expected element with an equal actual element; return None if all have a partner.

    Both lists have the same length. ``equal(expected, actual)`` need not be transitive. More than ``MAX_INEXACT``
    elements without an identical partner are not searched and count as unmatched: so many pairs are costly to compare.
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
    # Imported here: slow, and few tasks need it.
    sparse: Any = importlib.import_module("scipy.sparse")
    csgraph: Any = importlib.import_module("scipy.sparse.csgraph")
    right = [element for twins in waiting.values() for element in twins]
    pairs = sparse.csr_array([[equal(one, other) for other in right] for one in left])
    partners = csgraph.maximum_bipartite_matching(pairs, perm_type="column")
    missing = [one for one, partner in zip(left, partners, strict=True) if partner < 0]
    return Unmatched(tuple(missing[:MAX_NAMED]), may_be_more=len(missing) > MAX_NAMED) if missing else None


def _identity(element: Data) -> bytes:
    """Return the element's encoding; empty if it has none.

    A candidate may write JSON whose canonical form (of ``1e9``, say) exceeds a message's size: a wrong answer, not an
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
    """Compare one node and everything below it; ``expected`` bounds the size of the walk."""
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
    """Return whether two scalars of one Python type are equal; a shortcut, as NumPy is slow on single numbers."""
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
    """Return which elements differ, for two arrays of one kind and shape (0-dimensional ones included)."""
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


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Expected elements of a multiset without a partner: some examples, and whether there may be more."""

    elements: tuple[Data, ...]
    may_be_more: bool


class Report:
    """Collects the differences in one output: their number, the first examples, the largest errors."""

    def __init__(self) -> None:
        self._examples: list[str] = []
        self._compared = 0
        self._differing = 0
        self._structural = 0
        self._largest_absolute = 0.0
        self._largest_relative = 0.0
        self._has_errors = False

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return bool(self._differing or self._structural)

    def add_structure(self, path: str, expected: str, actual: str) -> None:
        """Add a difference in structure, kind or shape at ``path``."""
        self._structural += 1
        self._example(path, expected, actual)

    def add_scalar(self, path: str, expected: Data, actual: Data, *, differs: bool) -> None:
        """Count one value that is not a number."""
        self._compared += 1
        if differs:
            self._differing += 1
            self._example(path, show(expected), show(actual))

    def add_array(self, path: str, expected: NDArray[Any], actual: NDArray[Any], differs: NDArray[np.bool_]) -> None:
        """Count the values of two arrays of one shape; those marked in ``differs`` differ."""
        self._compared += expected.size
        count = int(np.count_nonzero(differs))
        if not count:
            return
        self._differing += count
        for place in np.flatnonzero(differs)[: MAX_EXAMPLES - len(self._examples)]:
            index = tuple(int(number) for number in np.unravel_index(place, expected.shape))
            inside = f"[{', '.join(map(str, index))}]" if index else ""
            self._example(f"{path}{inside}", show(expected[index]), show(actual[index]))
        if expected.dtype.kind != "b":
            self._note_errors(expected[differs], actual[differs])

    def add_unmatched(self, path: str, unmatched: Unmatched, *, total: int) -> None:
        """Add elements of a multiset that have no partner on the other side."""
        self._structural += 1
        count = f"{'at least ' if unmatched.may_be_more else ''}{len(unmatched.elements)}"
        shown = ", ".join(show(element) for element in unmatched.elements)
        self._examples.append(
            f"{_path(path)}: {count} of {total} expected elements have no equal partner in any order: {shown}"
        )

    def text(self) -> str:
        """Return the differences as one summary line and up to ``MAX_EXAMPLES`` indented examples."""
        summary = []
        if self._differing:
            summary.append(f"{self._differing} of {self._compared} values differ")
        if self._structural:
            summary.append(
                f"{self._structural} {'place differs' if self._structural == 1 else 'places differ'} in structure"
            )
        if self._has_errors:
            summary.append(f"largest absolute error {self._largest_absolute:.4g}")
            summary.append(f"largest relative error {self._largest_relative:.4g}")
        return "\n  ".join(["; ".join(summary), *self._examples])

    def _example(self, path: str, expected: str, actual: str) -> None:
        if len(self._examples) < MAX_EXAMPLES:
            self._examples.append(f"{_path(path)}: expected {expected}, got {actual}")

    def _note_errors(self, expected: NDArray[Any], actual: NDArray[Any]) -> None:
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        one, other = expected.astype(wide), actual.astype(wide)
        finite = np.isfinite(one) & np.isfinite(other)
        if not finite.any():
            return
        with np.errstate(all="ignore"):
            absolute = np.abs(other[finite] - one[finite])
            relative = absolute / np.abs(one[finite])
        self._has_errors = True
        self._largest_absolute = max(self._largest_absolute, float(absolute.max()))
        self._largest_relative = max(self._largest_relative, float(relative.max()))


def kind_of(value: Data) -> str:
    """Return the kind that must agree before values are compared; for arrays, that of their elements."""
    if value is None:
        return "none"
    if isinstance(value, np.ndarray | np.generic):
        return _ARRAY_KINDS[value.dtype.kind]
    return type(value).__name__


def describe(value: Data) -> str:
    """Describe the structure of ``value``: its kind and shape or length, or the value if it is a scalar."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"{'an' if kind_of(value) == 'int' else 'a'} {kind_of(value)} array of shape {value.shape}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"a dict of {len(value)}"
    if value is None:
        return "None"
    return f"the {kind_of(value)} {show(value)}"


def show(value: Any) -> str:
    """Return the ``repr`` of a value, cut to ``MAX_VALUE_CHARACTERS``; nested containers show only their size."""
    if isinstance(value, np.ndarray | np.generic):
        return describe(value) if value.ndim else show(value.item())  # type: ignore[arg-type]
    if isinstance(value, list | dict) and len(value) > MAX_VALUE_CHARACTERS:
        return describe(value)
    if isinstance(value, list):
        return _cut(f"[{', '.join(map(_show_inner, value))}]")
    if isinstance(value, dict):
        return _cut(f"{{{', '.join(f'{show(key)}: {_show_inner(item)}' for key, item in value.items())}}}")
    if isinstance(value, str):
        return _cut(repr(value[:MAX_VALUE_CHARACTERS]))
    return repr(value)


def _show_inner(value: Any) -> str:
    return describe(value) if isinstance(value, list | dict) else show(value)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[: MAX_VALUE_CHARACTERS - 1]}…"


def _path(path: str) -> str:
    return path if len(path) <= MAX_PATH_CHARACTERS else f"{path[: MAX_PATH_CHARACTERS - 1]}…"
