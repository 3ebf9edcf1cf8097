"""Replaying OpenHands' edits on a repository's files."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.trajectories.replaying import MAX_FILE_CHARACTERS, Replay, replay
from tests.conftest import examples
from tests.submissions.trajectories.openhands_sessions import action, edit, numbered, reading, run, shown

if TYPE_CHECKING:
    from pathlib import Path

FILE = "/w/repo/core.py"
TEXT = "def f(x):\n    pass\n\n\ndef g(x):\n    return f(x)\n"
MASKED = {"core.py": TEXT, "tabs.py": "def f(x):\n\tpass\n"}


def replayed(*pairs: list[dict[str, Any]]) -> Replay:
    return replay(
        numbered(*pairs),
        place_of=lambda path: path.removeprefix("/w/repo/") if path.startswith("/w/repo/") else "",
        masked=MASKED.get,
    )


def text_after(*pairs: list[dict[str, Any]]) -> str | None:
    found = replayed(*pairs)
    assert (found.doubt, found.commands) == ("", [])
    return found.files.get("core.py")


def replaced(old: str, new: str, report: str = "", path: str = FILE) -> list[dict[str, Any]]:
    return edit(path, "str_replace", report, old_str=old, new_str=new)


def test_each_command_of_the_editor() -> None:
    assert text_after(replaced("    pass", "    return 2 * x")) == TEXT.replace("pass", "return 2 * x")
    assert text_after(replaced("\n    pass \n", "    return 1\n")) == TEXT.replace("pass", "return 1")
    assert text_after(edit(FILE, "insert", insert_line=1, new_str="    # two\n    # lines")) == TEXT.replace(
        "    pass", "    # two\n    # lines\n    pass"
    )
    assert text_after(edit(FILE, "insert", insert_line=6, new_str="X = 1")) == TEXT + "X = 1\n"
    assert text_after(edit(FILE, "create", file_text="A = 1\n")) == "A = 1\n"
    assert text_after(replaced("pass", "one"), replaced("one", "two"), edit(FILE, "undo_edit")) == TEXT.replace(
        "pass", "one"
    )
    found = replayed(edit("/w/repo/new.py", "create", file_text="A = 1\n"), edit("/w/repo/new.py", "undo_edit"))
    assert (found.files, found.applied, found.doubt) == ({}, 2, "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"content": "A = 1\n"}, "A = 1\n"),
        ({"content": "A = 1", "start": 1, "end": 2}, TEXT.replace("    pass", "A = 1")),
        ({"content": "A = 1\n", "start": 4, "end": -1}, TEXT.split("def g")[0] + "A = 1\n"),
    ],
)
def test_whole_files_or_lines_are_written(arguments: dict[str, Any], text: str) -> None:
    report = {"observation": "write", "content": "", "extras": {}}
    assert text_after([action("write", {"path": FILE, **arguments}), report]) == text


def test_refused_edits_change_nothing_and_are_counted() -> None:
    unseen = [action("edit", {"path": FILE, "command": "str_replace", "old_str": "pass", "new_str": "x"})]
    found = replayed(
        replaced("pass", "return 1", "ERROR:\nNo replacement was performed."),
        [action("edit", {"path": FILE}), {"observation": "error", "content": "Missing parameter", "extras": {}}],
        edit("/etc/passwd", "create", file_text="x"),
        unseen,
    )
    assert (found.files, found.applied, found.refused, found.outside) == ({}, 0, 3, 1)


def test_early_editors_replace_tabs_and_later_ones_keep_them() -> None:
    path = "/w/repo/tabs.py"
    head = "The file has been edited. Here's the result of running `cat -n` on a snippet:\n"
    old = replayed(replaced("        pass", "        return 1", head + shown("def f(x):\n        return 1\n"), path))
    assert (old.files, old.doubt) == ({"tabs.py": "def f(x):\n        return 1\n"}, "")
    new = replayed(replaced("\tpass", "\treturn 1", head + shown("def f(x):\n\treturn 1\n"), path))
    assert (new.files, new.doubt) == ({"tabs.py": "def f(x):\n\treturn 1\n"}, "")


def test_a_change_by_a_command_is_noticed() -> None:
    command = run("python fix.py > /dev/null && cp /tmp/core.py /w/repo/core.py")
    changed = TEXT.replace("pass", "return 3")
    assert replayed(command, reading(FILE, changed)).doubt == ""  # not edited, so it is no part of an answer
    found = replayed(replaced("pass", "return 1"), command, reading(FILE, changed))
    assert found.commands == ["2"]
    assert found.doubt == "event 4, core.py: line 2 is not what the session shows: a command changed the file"
    found = replayed(command, replaced("return 3", "return 4"))
    assert found.doubt == "event 2, core.py: it replaces a text that the file has 0 times"
    found = replayed(replaced("pass", "return 1"), edit(FILE, "insert", insert_line=99, new_str="x"))
    assert found.doubt == "event 2, core.py: it inserts after line 99, and the file has 7 lines"
    assert replayed(edit(FILE, "undo_edit")).doubt == "event 0, core.py: an edit is undone that was not replayed"
    assert replayed(edit(FILE, "")).doubt == "event 0, core.py: an edit '' cannot be replayed"


def test_another_masked_file_than_the_sessions_takes_edits_of_texts_only() -> None:
    other = reading(FILE, "import os\n" + TEXT)
    found = replayed(
        other, replaced("pass", "return 1"), reading(FILE, "import os\n" + TEXT.replace("pass", "return 1"))
    )
    assert (found.files, found.doubt) == ({"core.py": TEXT.replace("pass", "return 1")}, "")
    assert found.differing == {"core.py"}
    found = replayed(other, edit(FILE, "insert", insert_line=2, new_str="x"))
    assert "it inserts by line number" in found.doubt


def test_a_cut_report_and_the_empty_line_after_a_snippet_are_no_contradiction() -> None:
    content = shown(TEXT).split("\n")
    cut = "\n".join(
        [content[0], content[1][:8], "[... Observation truncated due to length ...]", content[4][9:], content[5]]
    )
    head = "Here's the result of running `cat -n` on it:\n"
    report = {"observation": "read", "content": head + cut, "extras": {}}
    snippet = "Here's the result of running `cat -n` on a snippet:\n" + shown("def f(x):\n    return 1\n")
    found = replayed([action("read", {"path": FILE}), report], replaced("pass", "return 1", snippet))
    assert (found.doubt, found.differing) == ("", set())


@pytest.mark.skipif(shutil.which("sed") is None, reason="needs sed")
@pytest.mark.parametrize("script", ["2d", "2,3d", "5,9d", "3i    # one\\n    two", "1ix"])
@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip("\n")])
def test_lines_are_deleted_and_inserted_as_sed_does(tmp_path: Path, script: str, text: str) -> None:
    (tmp_path / "core.py").write_text(text)
    subprocess.run(["sed", "-i", script, "core.py"], cwd=tmp_path, check=True)
    created = edit(FILE, "create", file_text=text)
    assert text_after(created, run(f"sed -i '{script}' {FILE}")) == (tmp_path / "core.py").read_text()


def test_only_simple_sed_commands_are_replayed() -> None:
    assert text_after(run(f"sed -i '2d' {FILE} && sed -i '2i    return 1' {FILE}")) == TEXT.replace(
        "    pass", "return 1"
    )
    for command in (
        "sed -i 's/pass/x/' core.py",
        f"sed -i '2d' {FILE} core.py",
        "sed -i '2d' /tmp/x",
        f"cat a > {FILE}",
    ):
        found = replayed(run(command))
        assert (found.commands, found.files) == (["0"], {})
    assert replayed(run(f"sed -i '2d' {FILE}", exit_code=1)).commands == ["0"]


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("cat > core.py <<EOF\nx\nEOF", True),
        ("python -c \"open('core.py', 'w').write('x')\"", True),
        ("git checkout core.py", True),
        ("patch -p1 < a.diff", True),
        ("cd repo && mv a.py b.py", True),
        ("sed -n '1,5p' core.py", False),
        ("python run.py 2>&1 | head", False),
        ("grep -n 'x > 1' core.py", True),  # it may be a redirection
        ("ls > /dev/null; awk '$1 >= 3' core.py", False),
        ("x" * 20_000, True),
    ],
)
def test_commands_that_may_write(command: str, writes: bool) -> None:
    assert replayed(run(command)).commands == (["0"] if writes else [])
    assert replayed(run(command, exit_code=127)).commands == []


def test_python_cells_that_may_write() -> None:
    def cell(code: str) -> list[dict[str, Any]]:
        report = {"observation": "run_ipython", "content": "", "extras": {}}
        return [action("run_ipython", {"code": code}), report]

    assert replayed(cell("open('a', 'r')\nx > 1"), cell("!cp a b"), cell("Path('a').write_text('x')")).commands == [
        "2",
        "4",
    ]


def test_files_are_bounded() -> None:
    found = replayed(edit(FILE, "create", file_text="x" * (MAX_FILE_CHARACTERS + 1)))
    assert (found.files, found.doubt) == ({}, f"core.py has more than {MAX_FILE_CHARACTERS} characters")


_VALUES = (
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["", "pass", "x", FILE, "/w/repo/../a", "\0"])
)
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "command", "old_str", "new_str", "insert_line", "file_text", "content", "start", "end"]),
    _VALUES | st.sampled_from(["str_replace", "insert", "undo_edit", "create", f"sed -i '1,2d' {FILE}"]),
)
_EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "id": _VALUES,
        "cause": _VALUES,
        "source": st.sampled_from(["agent", "user"]) | _VALUES,
        "action": st.sampled_from(["edit", "write", "read", "run", "run_ipython"]) | _VALUES,
        "observation": st.sampled_from(["edit", "write", "read", "run"]) | _VALUES,
        "args": _ARGUMENTS | _VALUES,
        "content": st.sampled_from([f"`cat -n`\n{shown(TEXT)}", "`cat -n`\n 99999\tx", "ERROR"]) | _VALUES,
        "extras": st.just({"metadata": {"exit_code": 0}}) | _VALUES,
    },
)


@settings(max_examples=examples(500))
@given(events=st.lists(_EVENTS, max_size=12))
def test_any_events_are_replayed_without_an_error(events: list[dict[str, Any]]) -> None:
    found = replay(events, place_of=lambda path: path if path == FILE else "", masked={FILE: TEXT}.get)
    assert found.files.keys() <= {FILE}
    assert len(events) >= found.refused + found.outside
