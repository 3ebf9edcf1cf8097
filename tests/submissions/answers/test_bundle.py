from __future__ import annotations

import json
import random
from collections.abc import Mapping

import pytest

from submissions.answers.bundle import read_bundle
from submissions.answers.types import AnswerKind, BundleReading, Manifest, Problem, RawAnswer, Severity
from tests.submissions.answers.archive_makers import GOOD_FILES, make_tar, make_zip

LONG = random.Random(1).randbytes(4 * 1024 * 1024).hex().encode()  # noqa: S311 - no secret
ANSWER = b"def f(x):\n    return x\n"
DIFF = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n"
LAYOUT = "answers lie at answers/<paper>/<index>[/trial-N]/answer.diff or answer.py."
UNKNOWN_FILE = "Unknown file 'helper.py'; known: answer.diff, answer.patch, answer.py, usage.json"
OTHER = "answers/01-DPO/1/trial-1/answer.py"
NO_DEFAULTS = (
    "A JSONL file has no submission.json; give suite, inputs and the other fields in the form or on the command line."
)
DEFAULTS = Manifest("lmr-mini", None, "", "", "none", "full", "", (), "")


def read(data: bytes, defaults: Manifest | None = None) -> BundleReading:
    return read_bundle(data, defaults=defaults)


def parse(files: Mapping[str, bytes]) -> BundleReading:
    reading = read(make_zip({"submission.json": GOOD_FILES["submission.json"], **files}))
    assert not reading.refused
    return reading


def problems(data: bytes, defaults: Manifest | None = None) -> list[tuple[str, str, str]]:
    found = [problem for problem in read(data, defaults).problems if problem.severity is Severity.REFUSE]
    return [(problem.task, problem.file, problem.message) for problem in found]


def remarks(reading: BundleReading) -> list[Problem]:
    return [problem for problem in reading.problems if problem.severity is Severity.REMARK]


def jsonl(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def row(**fields: object) -> dict[str, object]:
    return {"instance_id": "dpo/1", "model_patch": "diff", "model_name_or_path": "small-model"} | fields


def test_answers_are_read_with_usage_and_trajectory() -> None:
    bundle = parse(
        {
            "answers/dpo/1/trial-2/answer.diff": DIFF,
            "answers/dpo/1/trial-2/usage.json": b'{"seconds": 3}',
            "answers/dpo/1/trial-2/run.jsonl": b"{}\n",
            "answers/01-DPO/1/trial-1/answer.py": ANSWER,
            "answers/CD/01/answer.patch": DIFF,
            "README.md": b"hello",
        }
    )
    assert bundle.manifest is not None
    assert (bundle.manifest.system, bundle.manifest.suite) == ("Plain", "lmr-mini")
    assert bundle.answers == (
        RawAnswer("cd/1", 1, AnswerKind.DIFF, DIFF, "answers/CD/01/answer.patch"),
        RawAnswer("dpo/1", 1, AnswerKind.SOURCE, ANSWER, "answers/01-DPO/1/trial-1/answer.py"),
        RawAnswer(
            "dpo/1",
            2,
            AnswerKind.DIFF,
            DIFF,
            "answers/dpo/1/trial-2/answer.diff",
            {"seconds": 3.0},
            b"{}\n",
            "run.jsonl",
        ),
    )


def session(trial: str = "") -> dict[str, bytes]:
    """A session's folder beside an answer, with what OpenHands leaves in it."""
    folder = f"answers/dpo/1/{trial}trajectory"
    event = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}
    return {
        f"answers/dpo/1/{trial}answer.py": ANSWER,
        f"{folder}/events/1.json": json.dumps(event, indent=1).encode(),
        f"{folder}/events/0.json": b'{"id": 0, "source": "user", "action": "message", "args": {}}',
        f"{folder}/notes.txt": b"words",
        f"{folder}/agent_state.pkl": b"\x80\x04",
    }


@pytest.mark.parametrize("trial", ["", "trial-2/"])
def test_a_folder_is_a_trajectory_with_a_row_for_each_file(trial: str) -> None:
    reading = read(make_zip({"submission.json": GOOD_FILES["submission.json"], **session(trial)}))
    (answer,) = reading.answers
    rows = [json.loads(line) for line in (answer.trajectory or b"").splitlines()]
    assert [row["file"] for row in rows] == ["events/0.json", "events/1.json", "notes.txt"]
    assert (rows[1]["content"]["args"], rows[2]["content"]) == ({"command": "ls"}, "words")
    assert answer.trajectory_name == "trajectory"
    assert [(remark.severity, remark.task, remark.file, remark.message) for remark in remarks(reading)] == [
        (
            "remark",
            "",
            f"answers/dpo/1/{trial}trajectory/agent_state.pkl",
            "Left out of the trajectory: only JSON and text files are kept.",
        ),
        (
            "remark",
            "dpo/1",
            f"answers/dpo/1/{trial}trajectory",
            "1 part is no JSON object (notes.txt); kept and not shown.",
        ),
    ]


def test_what_is_understood_is_not_remarked_on() -> None:
    line = b'{"action": "ls", "observation": "a.py"}\n'
    assert read(make_zip({**GOOD_FILES, "answers/dpo/1/run.jsonl": line})).problems == ()


def test_a_trajectory_that_is_none_is_kept_and_said() -> None:
    reading = read(make_zip({**GOOD_FILES, "answers/dpo/1/run.log": b"just a log"}))
    (remark,) = reading.problems
    assert (remark.file, remark.message[:59]) == (
        "answers/dpo/1/run.log",
        "Nothing in the trajectory can be shown as an agent's steps.",
    )
    assert reading.answers[-1].trajectory == b"just a log"


def test_the_digest_is_of_the_content_not_of_the_packing() -> None:
    packed = {read(data).digest() for data in (make_zip(GOOD_FILES), make_tar(GOOD_FILES))}
    changed = read(make_zip({**GOOD_FILES, "answers/dpo/1/answer.py": ANSWER + b"\n"}))
    assert len(packed) == 1
    assert changed.digest() not in packed


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/1/answer.diff": DIFF},
            [("dpo/1", "answers/dpo/1", "Both answer.diff and answer.py are here; keep one.")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, OTHER: ANSWER},
            [("dpo/1", "answers/dpo/1/answer.py", f"Trial 1 is answered twice (also in {OTHER}); keep one.")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/2/usage.json": b"{}"},
            [("dpo/2", "answers/dpo/2", "There is no answer.diff or answer.py here.")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/1/helper.py": b""},
            [("dpo/1", "answers/dpo/1/helper.py", UNKNOWN_FILE)],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/1/a.log": b"", "answers/dpo/1/trajectory/0.json": b"{}"},
            [("dpo/1", "answers/dpo/1/trajectory", "A second trajectory beside a.log; keep one.")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/1/trajectory/0.txt": LONG},
            [("dpo/1", "answers/dpo/1/trajectory", "The trajectory is larger than 8 MB.")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/1/a.log": b"", "answers/dpo/1/b.log": b""},
            [("dpo/1", "answers/dpo/1/b.log", "A second trajectory beside a.log; keep one.")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/1/usage.json": b'{"seconds":'},
            [("dpo/1", "answers/dpo/1/usage.json", "Not usable at column 12: it is not JSON: Expecting value.")],
        ),
        (
            {"answers/dpo/1/trial-21/answer.py": ANSWER, "answers/dpo/1/answer.py": ANSWER},
            [("dpo/1", "answers/dpo/1/trial-21", "Trials are numbered 1 to 20.")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "answers/dpo/answer.py": ANSWER, "answers/dpo/x/answer.py": ANSWER},
            [("", f"answers/dpo/{name}", f"Unknown place; {LAYOUT}") for name in ("answer.py", "x/answer.py")],
        ),
        (
            {"answers/dpo/1/answer.py": ANSWER, "notes/x.txt": b""},
            [("", "notes/x.txt", f"Unknown file; {LAYOUT}")],
        ),
        ({}, [("", "", f"The bundle holds no answer; {LAYOUT}")]),
    ],
)
def test_wrong_layouts_are_refused(files: dict[str, bytes], expected: list[tuple[str, str, str]]) -> None:
    assert problems(make_zip({"submission.json": GOOD_FILES["submission.json"], **files})) == expected


def test_what_is_wrong_in_one_place_hides_nothing_elsewhere() -> None:
    manifest = {
        "suite": "lmr-mini",
        "system": "Plain",
        "backbone": "",
        "inputs": "all",
        "links": ["x", "https://e.org"],
    }
    reading = read(
        make_zip(
            {
                "submission.json": json.dumps({**manifest, "extra": 1}).encode(),
                "notes.exe": b"",
                "answers/dpo/1/answer.py": ANSWER,
                "answers/01-DPO/1/answer.diff": DIFF,
                "answers/cd/1/answer.py": ANSWER,
                "answers/cd/1/answer.diff": DIFF,
                "answers/rope/1/answer.py": ANSWER,
            }
        )
    )
    assert [(problem.task, problem.file) for problem in reading.problems] == [
        ("", "notes.exe"),
        *[("", "submission.json")] * 4,
        ("cd/1", "answers/cd/1"),
        ("dpo/1", "answers/dpo/1/answer.py"),
    ]
    assert reading.manifest == Manifest("lmr-mini", None, "Plain", "", "none", "", "", (), "")
    assert [answer.task for answer in reading.answers] == ["cd/1", "dpo/1", "rope/1"]


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"submission.json": b" " * 2_000_000, "answers/dpo/1/answer.py": ANSWER}, ["submission.json"]),
        (
            {"submission.json": GOOD_FILES["submission.json"], "answers/dpo/1/answer.exe": b""},
            ["answers/dpo/1/answer.exe"],
        ),
        (
            {
                "submission.json": GOOD_FILES["submission.json"],
                "answers/dpo/1/answer.py": b" " * 2_000_000,
                "answers/dpo/1/usage.json": b"{}",
            },
            ["answers/dpo/1/answer.py"],
        ),
    ],
)
def test_what_was_refused_is_not_called_missing_too(files: dict[str, bytes], places: list[str]) -> None:
    assert [file for _, file, _ in problems(make_zip(files))] == places


def test_a_missing_manifest_and_missing_answers_are_said_together() -> None:
    assert [file for _, file, _ in problems(make_zip({"README.md": b"x"}))] == ["submission.json", ""]


def test_jsonl_rows_become_answers_and_fill_the_manifest() -> None:
    data = jsonl(
        row(model_patch=DIFF.decode()),
        row(instance_id="04-CD/1", model_patch=None, function=ANSWER.decode(), trial=2, usage={"cost_usd": 1}),
    )
    bundle = read(data, DEFAULTS)
    assert bundle.manifest == Manifest("lmr-mini", None, "small-model", "small-model", "none", "full", "", (), "")
    assert bundle.answers == (
        RawAnswer("cd/1", 2, AnswerKind.SOURCE, ANSWER, "line 2, function", {"cost_usd": 1.0}),
        RawAnswer("dpo/1", 1, AnswerKind.DIFF, DIFF, "line 1, model_patch"),
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(instance_id="dpo")], [("", "line 1", 'instance_id must name a task, like "dpo/1".')]),
        (
            [row(function="x")],
            [("", "line 1", "Give either 'model_patch' (a diff) or 'function' (the source), and only one.")],
        ),
        ([row(model_patch=3)], [("", "line 1", "model_patch must be a text in quotes, not 3.")]),
        ([row(trial=0)], [("", "line 1", "trial must be at least 1, not 0.")]),
        ([row(trial=True)], [("", "line 1", "trial must be a whole number, not true.")]),
        ([row(trail=2)], [("", "line 1", "Unknown key 'trail'; did you mean 'trial'?")]),
        ([row(usage={"seconds": -1})], [("", "line 1", "usage.seconds must be at least 0.0, not -1.")]),
        ([row(usage=1)], [("", "line 1", "usage must be an object, not 1.")]),
        (
            [row(model_name_or_path="", trial=21)],
            [("", "line 1", "model_name_or_path is empty; fill it in. trial must be at most 20, not 21.")],
        ),
        (
            [row(model_patch="x" * 1024 * 1024), row()],
            [("", "line 1", "The row is longer than 1 MB.")],
        ),
        (
            [row(), row(instance_id="DPO/01")],
            [("dpo/1", "line 2, model_patch", "Trial 1 is answered twice (also in line 1, model_patch); keep one.")],
        ),
        (
            [row(), row(trial=2, model_name_or_path="other")],
            [
                (
                    "",
                    "line 2",
                    "Rows disagree on 'model_name_or_path': 'small-model' and 'other'; send one file for each system.",
                )
            ],
        ),
    ],
)
def test_wrong_rows_are_refused(rows: list[object], expected: list[tuple[str, str, str]]) -> None:
    found = problems(jsonl(*rows), DEFAULTS)
    assert [problem for problem in found if problem in expected] == expected


def test_rows_that_are_no_objects_and_too_many_rows() -> None:
    assert problems(b'{"a": 1}\n[]\n{"a"\n', DEFAULTS)[1:3] == [
        ("", "line 2", "A row must be one JSON object, like {...}."),
        ("", "line 3", "The row is not usable at column 5: it is not JSON: Expecting ':' delimiter."),
    ]
    assert problems(b"{}\n" * 6001, DEFAULTS)[0] == ("", "", "The file has more than 6000 rows.")


def test_keys_of_other_tools_are_left_alone() -> None:
    bundle = read(jsonl(row(full_output="...", cost=3)), DEFAULTS)
    assert [answer.task for answer in bundle.answers] == ["dpo/1"]


def test_jsonl_without_the_other_fields_is_refused() -> None:
    assert problems(jsonl(row())) == [("", "", NO_DEFAULTS)]
    no_suite = Manifest("", None, "", "", "none", "full", "", (), "")
    assert problems(jsonl(row()), no_suite) == [("", "", "suite is missing; add it.")]
