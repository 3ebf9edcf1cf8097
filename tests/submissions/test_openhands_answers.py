"""``manage.py openhands_answers``: from OpenHands' sessions to stored answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from submissions.answers.session_answers import answers_of_sessions
from submissions.domain.command_line import packed
from submissions.domain.submitting import submit
from submissions.domain.uploads import described_by
from submissions.models import Implementation
from submissions.trajectories.sessions import Session
from tests.benchmark_tasks.factories import GOLDEN_1, GOLDEN_DOUBLE_BODY, STUB
from tests.submissions.answers.tree_makers import task_files
from tests.submissions.trajectories.openhands_sessions import edit, numbered, output_line, reading, run, session

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

GOAL = "/workspace/benchmark/1-Alpha/scoring-repo/scoring/core.py"
SOLVED = edit(
    GOAL, "str_replace", old_str=f'    """Twice x."""\n{STUB}', new_str=f'    """Twice x."""\n{GOLDEN_DOUBLE_BODY}'
)
ALPHA = "/workspace/01-Alpha/alpha-repo/src"
NOT_THERE = "it replaces a text that the file has 0 times"
FIRST = edit(
    f"{ALPHA}/scores.py", "str_replace", old_str='"""The first."""\n    raise NotImplementedError', new_str="return x"
)


def lines_of(tmp_path: Path, *sessions: Session) -> list[str]:
    return [each.line() for each in answers_of_sessions(sessions, task_files(tmp_path), suite="small")]


def one(*pairs: list[dict[str, Any]], name: str = "1-Alpha", began: str = "2025-05-16", **more: str) -> Session:
    return Session(name, tuple(numbered(*pairs, began=began)), **more)


def test_a_session_becomes_a_submission(
    tmp_path: Path, small: SuiteVersion, alice: User, capsys: pytest.CaptureFixture[str]
) -> None:
    session(
        tmp_path / "logs/file_store/sessions/1-Alpha", numbered(SOLVED, edit(f"{GOAL}.bak", "create", file_text="x"))
    )
    tree = tmp_path / "tree"
    call_command("openhands_answers", tmp_path / "logs", suite="small", out=tree)
    assert capsys.readouterr().out == "1-Alpha: alpha/1 (2 edits applied)\n1 answer from 1 session\n"
    assert (tree / "01-Alpha/scoring-repo/scoring/core.py").read_text() == GOLDEN_1
    described = described_by({"suite": "small", "system": "Agent", "backbone": "model-1"})
    with packed(tree) as file:
        submit(owner=alice, path=file, described=described)
    first, second = Implementation.objects.order_by("revision__task__index")
    assert (first.files, first.set_aside) == ({"scoring/core.py": GOLDEN_1}, [])
    assert (first.attempted, second.attempted) == (True, False)


def test_json_has_the_same_facts(tmp_path: Path, small: SuiteVersion, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "output.jsonl"
    file.write_text(output_line("1", numbered(SOLVED, run(f"cat > {GOAL}.txt"))) + output_line("7", []))
    call_command("openhands_answers", file, suite="small", json=True)
    assert json.loads(capsys.readouterr().out) == {
        "answers": 1,
        "sessions": [
            {
                "session": "1",
                "paper": "alpha",
                "tasks": ["alpha/1"],
                "why": "",
                "edits": {"applied": 1, "refused": 0, "outside": 0},
                "commands": ["2"],
            },
            {
                "session": "7",
                "paper": "",
                "tasks": [],
                "why": "its paths name no paper of 'small'",
                "edits": {"applied": 0, "refused": 0, "outside": 0},
                "commands": [],
            },
        ],
    }


def test_wrong_arguments(tmp_path: Path, small: SuiteVersion, capsys: pytest.CaptureFixture[str]) -> None:
    folder = session(tmp_path / "1-Alpha", numbered(run("ls")))
    cases: tuple[tuple[Path, dict[str, Any], str], ...] = (
        (tmp_path / "none", {}, "none is not a file or a folder."),
        (tmp_path / "1-Alpha/events", {}, "holds no sessions"),
        (folder, {"out": tmp_path}, "exists already; name a new folder."),
        (
            folder,
            {"suite": "none"},
            "There is no suite 'none' with imported code. Suites with code: small.",
        ),
    )
    for place, options, message in cases:
        with pytest.raises(CommandError, match=message):
            call_command("openhands_answers", place, **{"suite": "small", **options})
    with pytest.raises(SystemExit) as ended:
        call_command("openhands_answers", folder, suite="small", out=tmp_path / "tree")
    assert ended.value.code == 1
    assert capsys.readouterr().out == ("1-Alpha: no answer, it ended before its first edit\n0 answers from 1 session\n")
    assert not (tmp_path / "tree").exists()


def test_a_line_says_why_a_session_has_no_answer(tmp_path: Path) -> None:
    refused = edit(f"{ALPHA}/scores.py", "str_replace", "ERROR:\nNo.", old_str="x", new_str="y")
    helper = edit(f"{ALPHA}/scores.py", "str_replace", old_str="return x", new_str="return +x")
    moved = edit(f"{ALPHA}/scores.py", "str_replace", old_str="nowhere", new_str="y")
    for pairs, why in (
        ([run("ls")], "it ended before its first edit"),
        ([refused], "the editor refused all its edits (0 edits applied; 1 refused by the editor)"),
        (
            [edit("/tmp/01-Alpha/x.py", "create", file_text="x")],
            "all its edits are outside the repository (0 edits applied; 1 outside the repository, left out)",
        ),
        ([helper], "its edits leave the goals as they are masked (1 edit applied)"),
        (
            [FIRST, moved],
            f"its edits cannot be replayed: event 2, src/scores.py: {NOT_THERE} (2 edits applied)",
        ),
    ):
        assert lines_of(tmp_path, one(*pairs)) == [f"1-Alpha: no answer, {why}"]
    assert lines_of(tmp_path, one(run("ls"), ending="BadRequestError")) == [
        "1-Alpha: no answer, it ended before its first edit: BadRequestError"
    ]
    assert lines_of(tmp_path, Session("x", broken="x/events: broken.")) == ["x: no answer, x/events: broken."]
    assert lines_of(tmp_path, one(reading("/other/file.py", "x"), name="other")) == [
        "other: no answer, its paths name no paper of 'small'"
    ]


def test_a_paper_takes_the_session_named_like_it_or_else_the_last(tmp_path: Path) -> None:
    early = one(FIRST, name="a", began="2025-05-16T01")
    late = one(FIRST, name="b", began="2025-05-16T02")
    named = one(FIRST, name="01-alpha", began="2025-05-15")
    numbered_like_it = one(FIRST, name="1", began="2025-05-15")
    assert lines_of(tmp_path, late, early) == [
        "b: alpha/1 (1 edit applied)",
        "a: no answer, the session b was taken for alpha",
    ]
    assert lines_of(tmp_path, early, named, late)[1] == "01-alpha: alpha/1 (1 edit applied)"
    assert lines_of(tmp_path, numbered_like_it, late)[0] == "1: alpha/1 (1 edit applied)"


def test_the_paths_decide_the_paper_and_not_the_name(tmp_path: Path) -> None:
    (line,) = lines_of(tmp_path, one(FIRST, name="12-Beta"))
    assert line == "12-Beta: alpha/1 (1 edit applied)"
    (line,) = lines_of(tmp_path, one(run("ls"), name="12-Beta"))
    assert line == "12-Beta: no answer, it ended before its first edit"


def test_the_tree_has_the_edited_files_and_the_goals_only(tmp_path: Path) -> None:
    new = edit(f"{ALPHA}/new.py", "create", file_text="A = 1\n")
    outside = edit("/workspace/01-Alpha/alpha-repo/../../x.py", "create", file_text="A = 1\n")
    windows = edit(f"{ALPHA}/windows.py", "insert", insert_line=1, new_str="C = 3")
    (found,) = answers_of_sessions([one(FIRST, new, outside, windows)], task_files(tmp_path), suite="small")
    assert found.replay.outside == 1
    place = "01-Alpha/alpha-repo/src"
    assert set(found.files) == {f"{place}/{name}.py" for name in ("new", "other", "scores", "windows")}
    assert found.files[f"{place}/windows.py"] == b"A = 1\nC = 3\nB = 2\n"


@pytest.mark.parametrize(
    "path", ["/w/01-Alpha/alpha-repo/a\0b.py", "/w/01-Alpha/alpha-repo/", "/w/01-Alpha/alpha-repo/a//", ""]
)
def test_hostile_paths_are_outside(tmp_path: Path, path: str) -> None:
    (found,) = answers_of_sessions(
        [one(FIRST, edit(path, "create", file_text="x"))], task_files(tmp_path), suite="small"
    )
    assert all("/../" not in name and "\0" not in name for name in found.files)
    assert found.replay.outside + len(found.files) >= 3
