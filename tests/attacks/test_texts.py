"""Texts designed to be slow, for each function that pages apply to the text of answers, replies and logs.

A regular expression blocks the interpreter until it ends, so only a process can be stopped: the functions run in one of
their own, and the system kills it when one text takes :data:`DEADLINE` seconds of processor time. That is many times
what the slowest needs, and far less than any of them needed when its time was quadratic in a text's length.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

from evaluator.testing.logs import clean_text
from leaderboard.evidence.call_texts import pretty, reply_turns
from submissions.comparison import numbered, side_by_side
from submissions.highlighting import highlighted
from submissions.markdown import render
from tests.conftest import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE = 20
LENGTH = 60_000
GOLDEN = "\n\n".join(f"    total_{number} = step(total, x, y, {number}) + bias" for number in range(60))


def long(text: str) -> str:
    """``text`` repeated up to ``LENGTH`` characters."""
    return (text * (LENGTH // len(text) + 1))[:LENGTH]


TEXTS = {
    **{f"{word}, blanks, and no more of it": f"{word}{long(' ')}config:" for word in ("match", "case", "lazy", "from")},
    "match and blank lines": "match" + long("\n"),
    "nearly blank lines": long(" \n"),
    "lines of blanks": long(" " * 999 + "\n"),
    "one word": long("a"),
    "words": long("a "),
    "other words": long("total = x, y, bias "),
    "one number": long("1_"),
    "numbers": long("1."),
    "open string": '"' + long("a\\"),
    "escaped quotes": long("'\\"),
    "quotes": long('"'),
    "open docstring": '"""' + long('""\\"'),
    "docstrings": long("\n  rb'''a"),
    "format fields": 'f"' + long("{a[b].c!r:"),
    "brackets": long("["),
    "pictures": long("!["),
    "links": long("[a]("),
    "stars": long("*a **b "),
    "backticks": "".join("`" * (number % 400) + " " for number in range(LENGTH // 200)),
    "quoted": long("> "),
    "nested lists": "\n".join(" " * (2 * depth) + "- a" for depth in range(400)),
    "headings alike": long("# a\n## a\n"),
    "wide table": "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + long("a\n"),
    "fences": long("```\n"),
    "references": "[a]: b\n" + long("[a\n"),
    "one line again and again": long("    total_1 = step(total, x, y, 1) + bias\n"),
    "lines that take turns": long("\n    total_2 = step(total, x, y, 2) + bias\n"),
    "golden backwards": "\n".join(long(GOLDEN).split("\n")[::-1]),
    "golden lines, each much longer": "\n".join(line + long(" bias")[:900] for line in GOLDEN.split("\n\n")),
    "terminal sequences": long("\x1b[" + "0;" * 500),
    "terminal title": long("\x1b]0;a"),
    "hidden marks": long("\u200b"),
    "one line of a megabyte": "x" * 2**20,
}


def deeply(value: Any, depth: int) -> Any:
    return [deeply(value, depth - 1)] if depth else value


PATHS: dict[str, Callable[[str], object]] = {
    "code": lambda text: highlighted(text, "python", first_line=1),
    "plain differences": lambda text: highlighted(text, "diff"),
    "comparison": lambda text: side_by_side(GOLDEN, text),
    "comparison without blanks": lambda text: side_by_side(GOLDEN, text, ignore_whitespace=True),
    "comparison with itself": lambda text: side_by_side(text, text[1:] + "a"),
    "files": numbered,
    "guidelines": lambda text: side_by_side(GOLDEN, text, languages=("", "")),
    "Markdown": render,
    "logs": clean_text,
    "conversations": lambda text: (pretty({"content": text}), reply_turns({"content": text})),
    "nested JSON": lambda text: pretty([deeply(text[:9], 50)] * (len(text) // 5)),
}


def work() -> None:
    """Apply each function to every text; the system kills this process if one text takes too long."""
    for path, name in product(PATHS, TEXTS):
        sys.stdout.write(f"{path}: {name}\n")
        sys.stdout.flush()
        signal.setitimer(signal.ITIMER_VIRTUAL, DEADLINE)
        PATHS[path](TEXTS[name])


def test_no_text_keeps_a_page_busy() -> None:
    code = "from tests.attacks.test_texts import work; work()"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    reached = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, ""), reached[-1:]
    assert reached == [f"{path}: {name}" for path, name in product(PATHS, TEXTS)]
