"""How differences are counted and put into words. Every text is short, whatever the values are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluator.testing.types import Data

MAX_EXAMPLES = 5
MAX_VALUE_CHARACTERS = 60
MAX_PATH_CHARACTERS = 80
_ARRAY_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Expected elements of a multiset without a partner: some of them, and whether there may be more."""

    elements: tuple[Data, ...]
    may_be_more: bool


class Report:
    """Collects what differs in one output: how much of it, the first examples, the largest errors."""

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
        """Whether anything differs at all."""
        return bool(self._differing or self._structural)

    def add_structure(self, path: str, expected: str, actual: str) -> None:
        """Note that at ``path`` there is something of another structure, kind or shape."""
        self._structural += 1
        self._example(path, expected, actual)

    def add_scalar(self, path: str, expected: Data, actual: Data, *, differs: bool) -> None:
        """Count one value that is no number."""
        self._compared += 1
        if differs:
            self._differing += 1
            self._example(path, show(expected), show(actual))

    def add_array(self, path: str, expected: NDArray[Any], actual: NDArray[Any], differs: NDArray[np.bool_]) -> None:
        """Count the values of two arrays of one shape, of which those marked in ``differs`` differ."""
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
        """Note elements of a multiset that have no partner on the other side."""
        self._structural += 1
        count = f"{'at least ' if unmatched.may_be_more else ''}{len(unmatched.elements)}"
        shown = ", ".join(show(element) for element in unmatched.elements)
        self._examples.append(
            f"{_path(path)}: {count} of {total} expected elements have no equal partner in any order: {shown}"
        )

    def text(self) -> str:
        """Everything noted, as one summary line and up to ``MAX_EXAMPLES`` indented examples."""
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
    """The kind that must agree before values are compared; for arrays that of their elements."""
    if value is None:
        return "none"
    if isinstance(value, np.ndarray | np.generic):
        return _ARRAY_KINDS[value.dtype.kind]
    return type(value).__name__


def describe(value: Data) -> str:
    """A short text for the structure of ``value``: its kind and shape or length, or the value where it is a scalar."""
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
    """``repr`` of a value, cut to ``MAX_VALUE_CHARACTERS``; of containers in a container only the size is said."""
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
