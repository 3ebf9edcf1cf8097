"""Variants of submitted diffs, each written by git: prefixes, line ends, encodings and colours."""

from __future__ import annotations

import contextlib
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.goals import Goal
from submissions.answers.contents import AnswerError, TaskFiles
from submissions.answers.diff_text import COLOURED, DECODED, as_utf8, plain_diff
from submissions.answers.diffs import OTHER_LINE_ENDS, apply_diff
from tests.conftest import examples

if TYPE_CHECKING:
    from pathlib import Path

STUB = "import os\n\n\ndef f(x):\n    raise NotImplementedError\n"
SOLVED = 'import os\n\n\ndef f(x):\n    return "\N{GREEK SMALL LETTER BETA}" + x  \n'
NEW = "A = 1\n"


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout


@pytest.fixture
def masked(tmp_path: Path) -> Path:
    """A masked repository with a folder named like a prefix."""
    folder = tmp_path / "masked"
    for name in ("pkg/goal.py", "c/goal.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(STUB)
    return folder


def diff_of(masked: Path, *options: str, path: str = "pkg/goal.py", line_end: str = "\n") -> bytes:
    """Return the output of ``git diff`` in a copy in which ``path`` is solved and a file added."""
    copy = masked.parent / "copy"
    subprocess.run(["cp", "-r", str(masked), str(copy)], check=True)
    for each in ("init", "config core.autocrlf false", "add .", "-c user.name=x -c user.email=x@x.example commit -m x"):
        git(copy, *each.split())
    (copy / path).write_bytes(SOLVED.replace("\n", line_end).encode())
    (copy / path).with_name("new.py").write_text(NEW)
    git(copy, "add", "-N", ".")
    config, rest = [each for each in options if "=" in each], [each for each in options if "=" not in each]
    return git(copy, *(part for each in config for part in ("-c", each)), "diff", *rest)


def task(masked: Path, path: str = "pkg/goal.py") -> TaskFiles:
    return TaskFiles(goal=Goal("dpo/1", path, "f"), repository=masked)


@pytest.mark.parametrize("path", ["pkg/goal.py", "c/goal.py"])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("diff.mnemonicPrefix=true",),
        ("diff.mnemonicPrefix=true", "HEAD"),
        ("diff.mnemonicPrefix=true", "-R"),
        ("diff.noprefix=true",),
    ],
    ids=" ".join,
)
def test_every_prefix_that_git_writes_applies(masked: Path, options: tuple[str, ...], path: str) -> None:
    backwards = "-R" in options
    diff = diff_of(masked, *options, path=path)
    new = path.replace("goal", "new")
    if backwards:
        (masked / path).write_text(SOLVED)
        (masked / new).write_text(NEW)
    applied = apply_diff(task(masked, path), diff)
    assert applied.files == ({path: STUB} if backwards else {path: SOLVED, new: NEW})
    assert (applied.deleted, applied.notes) == ((new,) if backwards else (), ())


def test_a_comparison_of_two_folders_applies(masked: Path) -> None:
    diff_of(masked)
    folders = ["diff", "-ruN", "--exclude=.git", "masked", "copy"]
    diff = subprocess.run(folders, cwd=masked.parent, check=False, capture_output=True).stdout
    assert apply_diff(task(masked), diff).files == {"pkg/goal.py": SOLVED, "pkg/new.py": NEW}


FORMS = {
    "UTF-16, little-endian": lambda diff: b"\xff\xfe" + diff.decode().encode("utf-16-le"),
    "UTF-16, big-endian": lambda diff: b"\xfe\xff" + diff.decode().encode("utf-16-be"),
    "UTF-16 with Windows line ends": lambda diff: diff.decode().replace("\n", "\r\n").encode("utf-16"),
    "a byte order mark": lambda diff: b"\xef\xbb\xbf" + diff,
    "Windows line ends": lambda diff: diff.replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_encodings_and_line_ends_apply(masked: Path, form: str) -> None:
    applied = apply_diff(task(masked), FORMS[form](diff_of(masked)))
    assert applied.files == {"pkg/goal.py": SOLVED, "pkg/new.py": NEW}
    decoded, ends = "UTF-16" in form, "Windows" in form
    assert applied.notes == (*[DECODED] * decoded, *[OTHER_LINE_ENDS] * ends)


def test_a_unix_diff_applies_to_a_windows_file_whose_line_ends_are_kept(masked: Path) -> None:
    diff = diff_of(masked)
    (masked / "pkg/goal.py").write_bytes(STUB.replace("\n", "\r\n").encode())
    applied = apply_diff(task(masked), diff)
    assert applied.files == {"pkg/goal.py": SOLVED.replace("\n", "\r\n"), "pkg/new.py": NEW}
    assert applied.notes == (OTHER_LINE_ENDS,)
    # In a file with both kinds, line ends are significant.
    (masked / "pkg/goal.py").write_bytes(STUB.replace("\n", "\r\n", 3).encode())
    with pytest.raises(AnswerError, match=r"are not those of the masked file\.$"):
        apply_diff(task(masked), diff)


def test_line_ends_converted_by_an_editor_are_restored(masked: Path) -> None:
    applied = apply_diff(task(masked), diff_of(masked, line_end="\r\n"))
    assert applied.files["pkg/goal.py"] == SOLVED


@pytest.mark.parametrize("options", [(), ("color.diff.whitespace=red reverse", "color.diff.new=bold green")])
def test_colours_are_removed_with_a_note(masked: Path, options: tuple[str, ...]) -> None:
    diff = diff_of(masked, "--color", *options)
    assert b"\x1b[" in diff
    applied = apply_diff(task(masked), diff)
    assert (applied.files, applied.notes) == ({"pkg/goal.py": SOLVED, "pkg/new.py": NEW}, (COLOURED,))


def test_escapes_in_the_content_are_kept(masked: Path) -> None:
    red = b'\x1b[31m--- not a header\x1b[m"'
    diff = diff_of(masked).replace(b"+A = 1", b'+A = "' + red)
    applied = apply_diff(task(masked), diff)
    assert (applied.files["pkg/new.py"], applied.notes) == (f'A = "{red.decode()}\n', ())


@pytest.mark.parametrize(
    ("diff", "line", "message"),
    [
        (b"\xff\xfe" + "x".encode("utf-16-le") + b"\x00", 1, "The diff is not UTF-8 text."),
        ("x\ny\n".encode("utf-16-le"), 1, "The diff contains a NUL character. UTF-16 text needs a byte order mark."),
        (b"\xff\xfe" + "```diff\n".encode("utf-16-le"), 1, "The diff is wrapped in a Markdown fence"),
        (b"\xff\xfe" + (" " * 1024).encode("utf-16-le"), None, "The diff is empty."),
        (b"\xff\xfe" + ("x" * (1024 * 1024 + 1)).encode("utf-16-le"), None, "The diff is larger than 1024 KB"),
    ],
)
def test_problems_of_a_text_name_their_line(diff: bytes, line: int | None, message: str) -> None:
    with pytest.raises(AnswerError, match=re.escape(message)) as caught:
        plain_diff(diff)
    assert caught.value.line == line


LINES = st.sampled_from(
    [b"diff --git a/x b/x\n", b"\x1b[1mdiff --git a/x b/x\x1b[m\n", b"Binary files a/x and b/x differ\n", b"--- a/x\n",
     b"GIT binary patch\r\n", b"@@ -1 +1 @@\n", b"+++ w/x\n", b"\x1b[32m+x\x1b[m\r\n", b"-\x1b[31m\n", b"+\xe9\n"]
)  # fmt: skip
SENT = st.lists(LINES, max_size=8).map(b"".join) | st.binary(max_size=200)


@settings(max_examples=examples(200))
@given(SENT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_any_bytes_become_a_plain_diff_or_an_error(sent: bytes, encoding: str) -> None:
    with contextlib.suppress(UnicodeDecodeError):
        sent = sent.decode().encode(encoding)
    with contextlib.suppress(AnswerError):
        plain = plain_diff(sent)
        assert plain_diff(plain.text or b"x").text in (plain.text, b"x\n")
        assert as_utf8(plain.text) == plain.text
