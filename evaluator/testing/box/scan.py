"""Search the environment in a box for an installed copy of a task's reference. Mounted at ``/box/scan.py``.

``scan.py NONCE``; stdin is one frame, ``{"name": goal's name, "reference": its definition, "packages": names of the
repository's own}``. After the hello it sends frames of the kind ``copy``, with the path of each file that has a
definition of that name in one of the packages, or with the reference's syntax tree, and finally ``done``. It reads
files and imports none of them, and no answer is in its box.

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
MAX_SECONDS = 100.0
MAX_FILES = 60000
MAX_FILE_BYTES = 1024 * 1024
MAX_COPIES = 200
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LEAST_NODES = 30
"""Smaller definitions may be equal by chance, such as ``return self.x``."""


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
    """Emit the paths of the files that ``order`` describes; return whether every file was searched."""
    ends = time.monotonic() + MAX_SECONDS
    name = order["name"]
    reference = shape(ast.parse(in_a_block(order["reference"])))
    wanted = re.compile(rb"(?:def|class)[ \t]+" + re.escape(name).encode() + rb"\b")
    files = emitted = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for file in sorted(names):
                if not file.endswith(".py"):
                    continue
                files += 1
                if files > MAX_FILES or time.monotonic() > ends or emitted >= MAX_COPIES:
                    return False
                path = Path(place) / file
                relative = path.relative_to(folder)
                own = relative.parts[0].partition(".")[0] in order["packages"]
                if any(own or shape(each) == reference != "" for each in definitions(path, name, wanted)):
                    emitted += 1
                    emit({"kind": "copy", "path": str(relative)})
    return True


def definitions(path: Path, name: str, wanted: re.Pattern[bytes]) -> list[ast.AST]:
    """Return the definitions called ``name`` in a file; none if it cannot be read."""
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
    return [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS) and node.name == name]


def in_a_block(source: str) -> str:
    """Return a definition as a statement at the margin, even if its lines are indented."""
    return f"if True:\n{source}" if source[:1] in (" ", "\t") else source


def shape(tree: ast.AST) -> str:
    """Return the syntax tree of the first definition in ``tree``, without decorators, docstrings and annotations.

    Empty if there is none, or only a small one. The tree is changed.
    """
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            node.decorator_list = []
            if not isinstance(node, ast.ClassDef):
                node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    definition = next((node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)), None)
    if definition is None or sum(1 for _ in ast.walk(definition)) < LEAST_NODES:
        return ""
    return ast.dump(definition)


def _load_frames() -> Any:
    spec: Any = importlib.util.spec_from_file_location("box_frames", BOX / "frames.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["box_frames"] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    frames = _load_frames()
    main(sys.argv[1])
