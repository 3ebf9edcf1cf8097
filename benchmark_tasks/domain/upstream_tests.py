"""Find the unit test of the upstream protocol, and data that it needs and that is missing. No Django here.

Upstream runs ``python unit_test/unit_test_1.py`` in the repository, so tests are there and name data relative to it.
"""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.folders import LFS_ADVICE, PathLeavesFolderError, clean_relative_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MISSING_DATA: Final = "reads, is missing"
MORE_DATA: Final = "more of its files are pointers or missing"
_USUAL_FOLDER: Final = "unit_test"
_DATA: Final = frozenset({".pt", ".pth", ".pkl", ".pickle", ".npy", ".npz", ".safetensors", ".h5", ".hdf5", ".parquet"})
_WRITERS: Final = frozenset(
    {"save", "save_file", "savez", "savez_compressed", "dump", "to_pickle", "to_parquet", "to_hdf", "write_bytes"}
)
_EXISTENCE_CHECKS: Final = frozenset({"exists", "isfile", "is_file"})
_MOST_REASONS: Final = 10
_MOST_PATTERNS: Final = 100  # each one is compared with every file


def choose_unit_test(named: str, index: int, files: Collection[str]) -> str:
    """Return the test's path among the repository's ``files``; empty if there is none.

    It is ``named`` if that exists, else ``unit_test_<index>.py`` or the only ``unit_test*.py`` in the same folder.
    """
    if named in files:
        return named
    folder = str(PurePosixPath(named).parent) if named else _USUAL_FOLDER
    beside = [path for path in files if str(PurePosixPath(path).parent) == folder]
    usual = [path for path in beside if PurePosixPath(path).name == f"unit_test_{index}.py"]
    alike = [path for path in beside if fnmatchcase(PurePosixPath(path).name, "unit_test*.py")]
    found = usual or alike
    return found[0] if len(found) == 1 else ""


def missing_data(test_file: str, tree: ast.Module, files: Collection[str], pointers: Collection[str]) -> list[str]:
    """List reasons why the test cannot run: files that are Git LFS pointers or missing, by repository path.

    Checked are pointers in the test's own folder, pointers to Python files, and all files that the test's texts name.
    """
    folder = str(PurePosixPath(test_file).parent)
    unfetched = {path for path in pointers if path.startswith(f"{folder}/") or path.endswith(".py")}
    absent = set()
    names, known = _Names(tree), _Files(files)
    patterns = sorted(text for text in names.texts if _is_pattern(text))
    for text in names.texts.difference(patterns[_MOST_PATTERNS:]):
        found = known.named(text, folder)
        unfetched.update(found if all(path in pointers for path in found) else ())
        if not found and _is_data(text) and text not in names.optional and not _is_pattern(text):
            absent.add(text)
    reasons = [f"{path} {LFS_ADVICE}" for path in sorted(unfetched)]
    reasons += [f"{path}, which {test_file} {MISSING_DATA}" for path in sorted(absent)]
    if len(reasons) > _MOST_REASONS:
        reasons[_MOST_REASONS:] = [f"{len(reasons) - _MOST_REASONS} {MORE_DATA}"]
    return reasons


class _Names:
    """The relative paths that a test's texts may name, as patterns if parts are computed.

    ``optional`` are those that need not exist: the test writes them, or checks whether they exist.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.texts: set[str] = set()
        self.optional: set[str] = set()
        pieces = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        notes = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        targets: dict[str, set[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and node not in pieces and node not in notes:
                self.texts |= _as_path(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    targets.setdefault(_dotted(target), set()).update(_as_path(node.value))
        for text in _optional(tree):
            self.optional |= {text} | targets.get(text, set())


def _as_path(node: ast.AST) -> set[str]:
    """Return the text of a constant as a clean path, with ``*`` for computed parts; empty if it cannot be a path.

    It may begin with ``..``: many tests name their data relative to their own folder.
    """
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
    is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    if not is_text or not 2 <= len(text) <= 300 or "://" in text or text.endswith("/"):
        return set()
    steps = PurePosixPath(text).parts
    climbs = [*takewhile(lambda step: step == "..", steps)]
    try:
        return {"/".join([*climbs, clean_relative_path("/".join(steps[len(climbs) :]))])}
    except PathLeavesFolderError:
        return set()


def _optional(tree: ast.Module) -> Iterator[str]:
    """Yield paths, and names of variables with paths, that the test writes itself or does not require."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            modes = [a.value for a in arguments[1:] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            writes = name in _WRITERS or (name == "open" and any(set(mode) & set("wax") for mode in modes))
            if writes or name in _EXISTENCE_CHECKS:
                for argument in arguments:
                    yield from _as_path(argument) or {_dotted(argument)}


def _dotted(node: ast.AST) -> str:
    """Return ``self.path`` for an attribute or a name; empty for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


class _Files:
    """A repository's paths, to be found by a text that may name them."""

    def __init__(self, files: Collection[str]) -> None:
        self._files = frozenset(files)
        self._by_name: dict[str, list[str]] = {}
        for path in files:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def named(self, text: str, folder: str) -> list[str]:
        """Find ``text`` relative to the root, else to the test's ``folder``, else to any folder: scripts join paths."""
        for path in (text, normpath(f"{folder}/{text}")):
            if path in self._files:
                return [path]
        while text.startswith("../"):
            text = text[3:]
        if _is_pattern(text):
            return [path for path in self._files if fnmatchcase(path, text) or fnmatchcase(path, f"*/{text}")]
        return [path for path in self._by_name.get(text.rpartition("/")[2], ()) if path.endswith(f"/{text}")]


def _is_data(text: str) -> bool:
    return PurePosixPath(text).suffix.lower() in _DATA


def _is_pattern(text: str) -> bool:
    return "*" in text or "?" in text or "[" in text
