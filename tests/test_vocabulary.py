"""Words that product, scripts and documentation do not use, and what to write instead.

As a program it checks the files given, as the hook of ``.pre-commit-config.yaml`` does::

    .venv/bin/python -m tests.test_vocabulary FILE...
"""

from __future__ import annotations

import re
import subprocess
import sys
import tokenize
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

PROJECT_ROOT: Final = Path(__file__).resolve().parents[1]
LONGEST_LINE: Final = 200
"""Characters of a line in a template: longer ones cannot be read, nor their changes."""

WORDS: Final = {
    "told": "reported, given, known, notified; for 'told apart': distinguished",
    "tells": "reports, returns, shows; for 'tells apart': distinguishes",
    "anew": "again, or a verb that says it: rewrite, recompute, replace",
    "whoever": "the role: the viewer, the owner, the operator, the caller",
    "nobody": "no annotator, no reader, no process, or the passive voice",
    "anybody": "everyone, any reader, any user",
    "letter": "e-mail; for one on a keyboard: key",
    "letters": "e-mails; for those on a keyboard: keys",
    "fault": "error",
    "faults": "errors",
    "stands": "is, applies, appears; for 'stands for': represents",
    "is asked for": "is requested, is wanted, is called with",
    "of which": "whose, including, or two sentences",
    "what came of": "the result of, the outcome of",
}
"""Word or phrase (whole, in any case, also as a part of a name) -> what to write instead."""

EXEMPT: Final = {
    "LICENSE": "the licence's own text",
    "benchmark_tasks/overlays/": "digests of these files identify task revisions",
    "benchmark_tasks/suites/lmr-mini/": "digests of these files identify task revisions",
    "docs/openapi.json": "generated from the API's docstrings, which are checked",
    "evaluator/auditing/released/": "generated from audits, which quote the overlays",
    "evaluator/generation/prompts/": "a changed prompt makes earlier results incomparable",
    "evaluator/judging/prompts/": "the prompt's hash identifies a judge's configuration",
    "reviews/guidelines/guidelines.md": "annotators accept a revision of this text",
    "reviews/practice/items.toml": "the file's digest identifies the practice round",
    "static/vendor/": "other projects' code",
    "tests/evaluator/upstream/overlays/": "data that tests import",
}
"""Files and folders (with a slash at the end) that are not checked -> the reason."""

_ALPHABET: Final = "letters of an alphabet"
_INJECTION: Final = "fault injection"
_MODULE: Final = "the module's name"
ALLOWED: Final = {
    "% letters": _ALPHABET,
    "capital letters": _ALPHABET,
    "drive_letter": "the beginning of a path on Windows",
    "few letters": _ALPHABET,
    "letter case": _ALPHABET,
    "letter-spacing": "the property of CSS",
    "letters are counted": _ALPHABET,
    "letters, digits": _ALPHABET,
    "lower-case letters": _ALPHABET,
    "math_letter": _ALPHABET,
    "page faults": "accesses to memory pages that are not loaded",
    "repeats the faults": _INJECTION,
    "the same faults": _INJECTION,
    "error_bodies, faults": _MODULE,
    "faults.py": _MODULE,
    "faults.quotable": _MODULE,
    "providers.faults": _MODULE,
    "stands_out": "is conspicuous",
}
"""Phrases in which a word of the list is the right one -> what it means there."""

ALLOWED_IN: Final = {
    ("evaluator/generation/agent.py", "anew"): "part of the prompt: a changed one makes earlier results incomparable",
    ("evaluator/generation/agent.py", "stands"): "part of the prompt: a changed one makes earlier results incomparable",
    ("evaluator/generation/readable_text.py", "letters"): _ALPHABET,
    ("evaluator/judging/prompt.py", "stands"): "part of the prompt, whose hash identifies a judge's configuration",
    ("evaluator/management/commands/audit_tasks.py", "faults"): "a key of the command's JSON output",
    ("evaluator/providers/sdk_client.py", "faults"): _MODULE,
    ("evaluator/sandbox/bubblewrap.py", "nobody"): "the user of this name",
    ("submissions/domain/samples.py", "tells"): "part of the samples' digest, by which setup recognises them",
    ("tests/chaos/instance.py", "faults"): _INJECTION,
    ("tests/chaos/test_chaos.py", "fault"): _INJECTION,
    ("tests/chaos/test_chaos.py", "faults"): _INJECTION,
    ("tests/evaluator/providers/test_error_bodies.py", "faults"): _MODULE,
    ("tests/evaluator/providers/test_faults.py", "faults"): _MODULE,
    ("tests/evaluator/sandbox/test_programs.py", "fault"): "segmentation fault, what a signal reports",
}
"""File and word of the list that is the right one in all of the file -> what it means there."""

_BEGIN: Final = r"(?:(?<![A-Za-z])|(?-i:(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])))"
_END: Final = r"(?:(?![A-Za-z])|(?-i:(?<=[a-z0-9])(?=[A-Z])))"
_BETWEEN: Final = r"(?:[\s_]|\n[ \t]*(?:#|//|>))+"


class Finding(NamedTuple):
    """A word of the list: its line (from 1), the word as written, and what to write instead."""

    line: int
    word: str
    instead: str


def pattern(phrase: str) -> str:
    """A regular expression for ``phrase``, whose words may be divided by a line break or joined by underscores."""
    return _BETWEEN.join(map(re.escape, re.split(r"[\s_]", phrase)))


def whole(phrase: str) -> str:
    """The pattern of ``phrase`` as whole words; names in snake case and camel case consist of words, too."""
    return f"{_BEGIN}{pattern(phrase)}{_END}"


_BEFORE_DOCSTRINGS: Final = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_LISTED: Final = {word: re.compile(whole(word), re.IGNORECASE) for word in WORDS}
_PERMITTED: Final = {phrase: re.compile(pattern(phrase), re.IGNORECASE) for phrase in ALLOWED}


def findings(text: str, name: str = "") -> list[Finding]:
    """The words of the list in ``text``, the text of the file ``name``, in order; without those that are allowed."""
    lower = text.lower()
    # Most files have no word of the list, and a search for a part of it is much faster than one for whole words.
    listed = [word for word in WORDS if word.split()[0] in lower and (name, word) not in ALLOWED_IN]
    found = [(match, word) for word in listed for match in _LISTED[word].finditer(text)]
    allowed = [match.span() for each in _PERMITTED.values() for match in each.finditer(text)] if found else []
    return [
        Finding(text.count("\n", 0, match.start()) + 1, match[0], WORDS[word])
        for match, word in sorted(found, key=lambda each: each[0].start())
        if not any(start <= match.start() and match.end() <= end for start, end in allowed)
    ]


def is_checked(name: str) -> bool:
    """Whether the file ``name``, relative to the project, is held to the list."""
    return "/migrations/" not in name and not any(
        name.startswith(place) if place.endswith("/") else name == place for place in EXEMPT
    )


def text_of(file: Path) -> str:
    """The text of ``file``; empty where it is a picture or has been removed."""
    try:
        return file.read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return ""


def without_data(source: str) -> str:
    """Return Python code with its literals blanked; docstrings, comments and names stay, each in its line.

    The literals of tests are data, and pages' texts as expected.
    """
    lines = source.splitlines(keepends=True)
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.STRING and before not in _BEFORE_DOCSTRINGS:
            for number in range(token.start[0], token.end[0] + 1):
                line = lines[number - 1]
                start = token.start[1] if number == token.start[0] else 0
                end = token.end[1] if number == token.end[0] else len(line.rstrip("\n"))
                lines[number - 1] = line[:start] + " " * (end - start) + line[end:]
        if token.type not in {tokenize.COMMENT, tokenize.NL}:
            before = token.type
    return "".join(lines)


def checked_text(name: str, root: Path = PROJECT_ROOT) -> str:
    """The text of the file ``name`` that is held to the list."""
    text = text_of(root / name)
    is_test = name.startswith("tests/") and name.endswith(".py")
    return without_data(text) if is_test and findings(text) else text


def complaints(names: Iterable[str], root: Path = PROJECT_ROOT) -> Iterator[str]:
    """``file:line: word, and what to write instead`` for each finding in the files ``names`` below ``root``."""
    for name in filter(is_checked, names):
        for line, word, instead in findings(checked_text(name, root), name):
            yield f"{name}:{line}: {' '.join(word.split())!r}: write {instead}"


def tracked() -> list[str]:
    """The files of the project's working tree that git knows, relative to it."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    return sorted(filter(None, listed.stdout.split("\0")))


def test_no_file_uses_a_word_of_the_list() -> None:
    assert list(complaints(tracked())) == []


def test_no_line_of_a_template_is_too_long() -> None:
    templates = sorted((PROJECT_ROOT / "templates").rglob("*.html"))
    lines = [
        f"{file.relative_to(PROJECT_ROOT)}:{number}: {len(line)}"
        for file in templates
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > LONGEST_LINE
    ]
    assert (len(templates) > 100, lines) == (True, [])


def test_each_exempt_place_exists() -> None:
    files = tracked()
    assert [place for place in EXEMPT if not any(name.startswith(place) for name in files)] == []


def test_each_allowed_phrase_occurs() -> None:
    texts = [checked_text(name) for name in tracked() if is_checked(name)]
    assert [phrase for phrase, each in _PERMITTED.items() if not any(map(each.search, texts))] == []


def test_each_word_allowed_in_a_file_occurs_there() -> None:
    idle = [(name, word) for name, word in ALLOWED_IN if not _LISTED[word].search(checked_text(name))]
    assert idle == []


def test_each_allowed_phrase_has_a_word_of_the_list() -> None:
    idle = [phrase for phrase in ALLOWED if not any(each.search(phrase) for each in _LISTED.values())]
    assert idle == []


def test_a_planted_sentence_is_found(tmp_path: Path) -> None:
    planted = '''"""Rooms."""

def _told_there(letters: str) -> None:
    """What came
    of it. Nobody is asked
    # for anything, of which it TELLS; anew.
    """
    raise ProviderFaultError("whoever", "anybody", mail_letter, HTTPFaults)  # it stands
'''
    (tmp_path / "rooms.py").write_text(planted, encoding="utf-8")
    assert list(complaints(["rooms.py"], tmp_path)) == [
        f"rooms.py:{line}: {word!r}: write {WORDS[listed]}"
        for line, word, listed in (
            (3, "told", "told"),
            (3, "letters", "letters"),
            (4, "What came of", "what came of"),
            (5, "Nobody", "nobody"),
            (5, "is asked # for", "is asked for"),
            (6, "of which", "of which"),
            (6, "TELLS", "tells"),
            (6, "anew", "anew"),
            (8, "Fault", "fault"),
            (8, "whoever", "whoever"),
            (8, "anybody", "anybody"),
            (8, "letter", "letter"),
            (8, "Faults", "faults"),
            (8, "stands", "stands"),
        )
    ]


def test_parts_of_other_words_and_allowed_phrases_are_not_found() -> None:
    text = "default faulty untold letterhead standstill newsletters: use letters, digits; major page\nfaults"
    assert findings(text) == []
    assert [each.word for each in findings("a page fault, segmentation fault")] == ["fault", "fault"]
    assert [each.word for each in findings("faults, anew", "evaluator/generation/agent.py")] == ["faults"]


def test_literals_of_tests_are_data(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    planted = '''"""Told."""


def test_it():  # anew
    """Nobody."""
    page = """one
    fault"""; letter = f"told {page}"
    "stands"
'''
    (tmp_path / "tests/test_it.py").write_text(planted, encoding="utf-8")
    found = [complaint.partition(": write")[0] for complaint in complaints(["tests/test_it.py"], tmp_path)]
    assert found == [
        *("tests/test_it.py:1: 'Told'", "tests/test_it.py:4: 'anew'", "tests/test_it.py:5: 'Nobody'"),
        *("tests/test_it.py:7: 'letter'", "tests/test_it.py:8: 'stands'"),
    ]


def test_exempt_files_are_not_read(tmp_path: Path) -> None:
    for name in ("static/vendor/page.html", "submissions/migrations/0001_initial.py", "LICENSE", "LICENSE.md"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("nobody", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG nobody")
    names = ["static/vendor/page.html", "submissions/migrations/0001_initial.py", "LICENSE", "LICENSE.md"]
    assert list(complaints([*names, "picture.png", "removed.py"], tmp_path)) == [
        f"LICENSE.md:1: 'nobody': write {WORDS['nobody']}"
    ]


def test_the_program_prints_complaints_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("An error.", encoding="utf-8")
    bad.write_text("A\nfault.", encoding="utf-8")
    assert (main([str(good)], tmp_path), capsys.readouterr().out) == (0, "")
    assert (main([str(good), str(bad)], tmp_path), capsys.readouterr().out) == (1, "bad.md:2: 'fault': write error\n")


def main(names: list[str], root: Path = PROJECT_ROOT) -> int:
    """Print the complaints about the files ``names``, which are below ``root``; return 1 if there are any."""
    found = list(complaints((Path(name).resolve().relative_to(root).as_posix() for name in names), root))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
