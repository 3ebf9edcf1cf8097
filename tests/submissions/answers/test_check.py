from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark_tasks.domain.goals import Goal
from submissions.answers import check
from submissions.answers.check import check_bundle, try_answers
from submissions.answers.contents import AnswerKind, Manifest, Problem, RawAnswer, Severity, TaskFiles
from submissions.answers.diff_text import DECODED
from submissions.answers.limited import BundleRequest
from tests.submissions.answers.archive_makers import make_tar, make_zip

MANIFEST = {"suite": "small", "system": "S", "backbone": "B", "scaffold": "none", "inputs": "full"}
DESCRIBED = Manifest("small", None, "S", "B", "none", "full", "", (), "")
RIGHT = b"def f(x): return x\n"
LEFT_OUT = "This task accepts no answers (no unit test), so the answer to it was left out."


@pytest.fixture
def tasks(tmp_path: Path) -> dict[str, TaskFiles]:
    (tmp_path / "a.py").write_text("def f(x):\n    raise NotImplementedError\n")
    open_task = TaskFiles(goal=Goal("dpo/1", "a.py", "f"), repository=tmp_path)
    closed = TaskFiles(goal=Goal("cd/1", "a.py", "f"), repository=tmp_path, closed="no unit test")
    return {"dpo/1": open_task, "cd/1": closed}


def answer(task: str, content: bytes, *, trial: int = 1, kind: AnswerKind = AnswerKind.SOURCE) -> RawAnswer:
    return RawAnswer(task=task, trial=trial, kind=kind, content=content, file=f"answers/{task}/{trial}")


def sent(form: str, answers: dict[str, bytes]) -> bytes:
    """Return a bundle of ``answers`` in one of its forms."""
    if form == "jsonl":
        rows = [
            {"instance_id": task, "function": text.decode(), "model_name_or_path": "B"}
            for task, text in answers.items()
        ]
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    files = {"submission.json": json.dumps(MANIFEST).encode()}
    files |= {f"answers/{task}/answer.py": text for task, text in answers.items()}
    return make_zip(files) if form == "zip" else make_tar(files)


def test_answers_that_grow_beyond_the_limit_together_are_refused(
    tasks: dict[str, TaskFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "MAX_APPLIED_BYTES", 1024)
    given = [answer("dpo/1", b"X = '" + b"x" * 300 + b"'\n" + RIGHT, trial=trial) for trial in (1, 2, 3)]
    tried = try_answers(given, tasks)
    assert [each.applied is not None for each in tried] == [True, True, False]
    problem = tried[-1].problem
    assert problem is not None
    assert (problem.severity, problem.file) == (Severity.REFUSE, "answers/dpo/1/3")
    assert problem.message.startswith("The files changed by the previous answers exceed 1 KB in total;")


@pytest.mark.parametrize("form", ["zip", "tar.gz", "jsonl"])
def test_answers_to_closed_tasks_are_left_out(tasks: dict[str, TaskFiles], form: str) -> None:
    request = BundleRequest(tasks={"small": tasks}, defaults=DESCRIBED)
    reading = check_bundle(sent(form, {"cd/1": RIGHT, "dpo/1": RIGHT}), request)
    assert [(each.task, each.applied is not None) for each in reading.answers] == [("dpo/1", True)]
    remarks = [(remark.severity, remark.task, remark.message) for remark in reading.problems]
    assert remarks == [(Severity.REMARK, "cd/1", LEFT_OUT)]
    nothing = check_bundle(sent(form, {"cd/1": RIGHT}), request)
    assert nothing.problems[-1].message == (
        "There is nothing to submit: all answers are to tasks that accept none: cd/1 (no unit test)."
    )
    assert nothing.refused


@pytest.mark.parametrize(("kind", "parses"), [(AnswerKind.SOURCE, 2), (AnswerKind.DIFF, 1)])
def test_a_long_answer_is_parsed_once_per_file(
    tasks: dict[str, TaskFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: AnswerKind, parses: int
) -> None:
    """``answer.py`` is parsed, then the masked file with it; for a diff, only the resulting file is parsed."""
    line = f"    return [{'1, ' * 20_000}]"
    (tmp_path / "golden.py").write_text("def f(x):\n    y = x + 1\n    return y\n")
    compared = {"dpo/1": replace(tasks["dpo/1"], reference=tmp_path / "golden.py")}
    diff = f"--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-    raise NotImplementedError\n+{line}\n"
    content = diff if kind is AnswerKind.DIFF else f"def f(x):\n{line}\n"
    lengths: list[int] = []
    parse = ast.parse

    def counted(source: str | bytes) -> ast.Module:
        lengths.append(len(source))
        return parse(source)

    monkeypatch.setattr(ast, "parse", counted)
    (tried,) = try_answers([answer("dpo/1", content.encode(), kind=kind)], compared)
    assert tried.applied is not None
    assert tried.applied.similarity["tokens"] < 0.1
    assert sum(length > len(line) for length in lengths) == parses


DIFF = "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-    raise NotImplementedError\n+    return x\n"
UTF16 = DIFF.encode("utf-16")


@pytest.mark.parametrize(
    ("name", "content"),
    [("answer.diff", UTF16), ("answer.patch", UTF16), ("answer.py", RIGHT.decode().encode("utf-16"))],
)
def test_an_answer_in_utf16_is_read_with_a_remark(tasks: dict[str, TaskFiles], name: str, content: bytes) -> None:
    file = f"answers/dpo/1/{name}"
    bundle = make_zip({"submission.json": json.dumps(MANIFEST).encode(), file: content})
    reading = check_bundle(bundle, BundleRequest(tasks={"small": tasks}))
    assert [each.applied is not None for each in reading.answers] == [True]
    assert reading.problems == (Problem(Severity.REMARK, DECODED, "dpo/1", file),)


def test_predictions_in_utf16_are_read_with_a_remark(tasks: dict[str, TaskFiles]) -> None:
    rows = sent("jsonl", {"dpo/1": RIGHT}).decode().encode("utf-16")
    reading = check_bundle(rows, BundleRequest(tasks={"small": tasks}, defaults=DESCRIBED))
    assert [each.applied is not None for each in reading.answers] == [True]
    assert reading.problems == (Problem(Severity.REMARK, DECODED),)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_utf16_file_is_not_an_answer(tasks: dict[str, TaskFiles], text: str) -> None:
    answer_file = {"answers/dpo/1/answer.diff": text.encode("utf-16")}
    bundle = make_zip({"submission.json": json.dumps(MANIFEST).encode(), **answer_file})
    reading = check_bundle(bundle, BundleRequest(tasks={"small": tasks}))
    assert [(each.task, each.message[:24]) for each in reading.problems] == [
        ("dpo/1", "There is no answer here "),
        ("", "No answer here holds a p"),
    ]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (
            [{"instance_id": "dpo/1", "model_patch": None, "model_name_or_path": "B"}] * 2,
            "No answer here holds a patch or code (each is null or empty), so there is nothing to submit.",
        ),
        ([], "There is no answer here, so there is nothing to submit. In an output tree, "),
    ],
)
def test_predictions_without_an_answer_are_refused_with_a_reason(
    tasks: dict[str, TaskFiles], rows: list[dict[str, object]], why: str
) -> None:
    reading = check_bundle(json.dumps(rows).encode(), BundleRequest(tasks={"small": tasks}, defaults=DESCRIBED))
    refused = [problem.message for problem in reading.problems if problem.severity is Severity.REFUSE]
    assert [message[: len(why)] for message in refused] == [why]
