"""The ways in which models write down a definition, for any golden definition: a name, and the text around it."""

from __future__ import annotations

import difflib
import html
import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Golden:
    """A golden answer: its ``definition`` from column 0, its whole ``file``, and the ``masked`` one, at ``path``."""

    name: str
    definition: str
    file: str
    masked: str
    path: str


def _fenced(code: str, info: str = "python", mark: str = "```") -> str:
    return f"{mark}{info}\n{code}{mark}\n"


def _indented(code: str, by: str = "    ") -> str:
    return textwrap.indent(code, by)


def _diff(golden: Golden, context: int = 3) -> str:
    return "".join(
        difflib.unified_diff(
            golden.masked.splitlines(keepends=True),
            golden.file.splitlines(keepends=True),
            f"a/{golden.path}",
            f"b/{golden.path}",
            n=context,
        )
    )


def _stub(golden: Golden) -> str:
    header = golden.definition.split("):\n")[0].split(") ->")[0]
    return f"{header}):\n    ...\n"


TAKEN: dict[str, Callable[[Golden], str]] = {
    "fence": lambda g: _fenced(g.definition),
    "fence with attributes": lambda g: _fenced(g.definition, 'py title="a.py" {1,3}'),
    "tildes": lambda g: _fenced(g.definition, "python", "~~~"),
    "no fence": lambda g: g.definition,
    "words around a fence": lambda g: f"Here it is:\n\n{_fenced(g.definition)}\nIt follows equation (2).\n",
    "open fence": lambda g: f"Answer:\n```python\n{g.definition}",
    "fence in a list": lambda g: "1. The function:\n\n" + _indented(_fenced(g.definition), "   "),
    "a sketch first": lambda g: f"Outline:\n{_fenced(_stub(g))}\nWhole:\n{_fenced(g.definition)}",
    "the whole file": lambda g: _fenced(g.file),
    "extra indentation": lambda g: _fenced(_indented(g.definition)),
    "tabs": lambda g: _fenced("\n".join(_tabbed(line) for line in g.definition.split("\n"))),
    "Windows line ends": lambda g: f"Here:\n{_fenced(g.definition)}".replace("\n", "\r\n"),
    "thoughts before": lambda g: (
        f"<think>\nMaybe\n{_fenced(_stub(g).replace('...', 'return 0'))}</think>\n{_fenced(g.definition)}"
    ),
    "a diff": _diff,
    "a fenced diff": lambda g: f"The change:\n{_fenced(_diff(g), 'diff')}",
    "a diff without context": lambda g: _fenced(_diff(g, 0), "diff"),
}
"""Ways that hold the golden definition as it is."""

NOT_TAKEN: dict[str, Callable[[Golden], str]] = {
    "words around, no fence": lambda g: f"Sure, from the paper:\n\n{g.definition}\nThis returns what was asked for.\n",
    "open fence and words": lambda g: f"```python\n{g.definition}\nNote that the loss is not averaged here.\n",
    "nested fences": lambda g: f"````markdown\n# The answer:\n{_fenced(g.definition)}````\n",
    "no-break spaces": lambda g: _fenced(g.definition.replace("    ", "\u00a0\u00a0\u00a0\u00a0")),
    "HTML escapes": lambda g: f"<pre><code>\n{html.escape(g.definition, quote=False)}</code></pre>\n",
    "JSON": lambda g: json.dumps({"explanation": "As asked.", "code": g.definition}),
    "another name": lambda g: _fenced(re.sub(rf"\b{g.name}\b", "compute", g.definition)),
    "a body at the margin": lambda g: _fenced(re.sub(r"^ +", "", g.definition, flags=re.MULTILINE)),
    "a diff with wrong context": lambda g: _fenced(
        re.sub(r"^[ -](?! *$)", r"\g<0>x", _diff(g), flags=re.MULTILINE), "diff"
    ),
}
"""Ways from which the definition would have to be repaired."""


def _tabbed(line: str) -> str:
    code = line.lstrip(" ")
    spaces = len(line) - len(code)
    return "\t" * (spaces // 4) + " " * (spaces % 4) + code
