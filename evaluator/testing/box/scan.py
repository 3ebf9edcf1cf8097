"""Search the environment in a box for an installed copy of a task's reference. Mounted at ``/box/scan.py``.

``scan.py NONCE``; stdin is one frame, ``{"name": goal's name, "statements": their number in the reference,
"packages": names of the repository's own}``. After the hello it sends frames of the kind ``definition`` and finally
``done``. A definition is the source of an installed one of that name that is in one of the packages, or has as many
statements as the reference, a docstring more or less. It reads files and imports none of them; the worker judges what
is found.

Python 3.9 or newer and the standard library; frames.py needs NumPy.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
import sysconfig
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.box import frames

BOX = Path(__file__).resolve().parent
MAX_SECONDS = 25.0
MAX_FILES = 60000
MAX_FILE_BYTES = 1024 * 1024
MAX_DEFINITIONS = 200
MAX_SOURCE_CHARACTERS = 50000


def main(nonce: str) -> None:
    """Send hello, search, and report the findings."""
    out = os.dup(1)
    os.dup2(2, 1)

    def emit(message: dict[str, object]) -> None:
        view = memoryview(frames.encode(message))
        while view:
            view = view[os.write(out, view) :]

    emit({"kind": "hello", "nonce": nonce, "cpu_family": ""})
    order: Any = frames.decode(sys.stdin.buffer.read())
    complete = search(order, package_folders(), emit)
    emit({"kind": "done", "complete": complete})


def package_folders() -> list[Path]:
    """Return the folders where packages are installed: the search path without the standard library's."""
    library = Path(sysconfig.get_path("stdlib")).resolve()
    own = {library, library / "lib-dynload", BOX}
    return [path for path in map(Path, sys.path) if path.is_dir() and path.resolve() not in own]


def search(order: Any, folders: list[Path], emit: Callable[[dict[str, object]], None]) -> bool:
    """Emit the installed definitions that ``order`` describes; return whether every file was searched."""
    ends = time.monotonic() + MAX_SECONDS
    name = order["name"]
    wanted = re.compile(rb"(?:def|class)[ \t]+" + re.escape(name).encode() + rb"\b")
    files = emitted = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for file in sorted(names):
                if not file.endswith(".py"):
                    continue
                files += 1
                if files > MAX_FILES or time.monotonic() > ends or emitted >= MAX_DEFINITIONS:
                    return False
                path = Path(place) / file
                relative = path.relative_to(folder)
                like = None if relative.parts[0].partition(".")[0] in order["packages"] else order["statements"]
                for source in definitions(path, name, wanted, like):
                    emitted += 1
                    emit({"kind": "definition", "path": str(relative), "source": source})
    return True


def definitions(path: Path, name: str, wanted: re.Pattern[bytes], statements: int | None) -> list[str]:
    """Return the sources (whole lines) of definitions called ``name`` in a file; none if it cannot be read.

    With ``statements`` only those with so many, one more, or one less: a docstring is a statement.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return []
        content = path.read_bytes()
        if not wanted.search(content):
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    return [
        "".join(lines[node.lineno - 1 : node.end_lineno])[:MAX_SOURCE_CHARACTERS]
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and node.name == name
        and (statements is None or abs(count_statements(node) - statements) <= 1)
    ]


def count_statements(tree: ast.AST) -> int:
    """Return how many statements a syntax tree has, the definition's own included."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def _load_frames() -> Any:
    spec: Any = importlib.util.spec_from_file_location("box_frames", BOX / "frames.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["box_frames"] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    frames = _load_frames()
    main(sys.argv[1])
