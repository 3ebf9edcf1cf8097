"""``manage.py import_suite``."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from benchmark_tasks.domain.known_answers import SHIPPED_SUITES_FOLDER
from benchmark_tasks.models import Suite, TaskRevision
from evaluator.generation.papers import UNREADABLE
from evaluator.generation.prompt_tasks import why_unreadable
from tests.benchmark_tasks.factories import write_paper
from tests.evaluator.generation.pdfs import pdf_without_readable_text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db

READABLE = SHIPPED_SUITES_FOLDER / "lmr-mini" / "08-EDA" / "paper.pdf"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


@pytest.fixture
def readable(suite_folder: Path) -> Path:
    """The suite's folder, with a paper that has text."""
    shutil.copyfile(READABLE, suite_folder / "01-Alpha" / "paper.pdf")
    return suite_folder


def test_each_reason_is_reported_once_with_its_tasks(readable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite_folder = readable
    (suite_folder / "01-Alpha/unit_test/run_2.py").unlink()
    (suite_folder / "01-Alpha/golden_files/core_golden_2.py").unlink()
    for number in range(1, 7):
        (suite_folder / f"01-Alpha/scoring-repo/data_{number}.pt").write_text(POINTER)
    call_command("import_suite", suite_folder, "--slug", "small")
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[:-1] == [
        "Small Suite (small): new version 1",
        "  runnable: alpha/1",
        "  not runnable: golden_file golden_files/core_golden_2.py is missing: alpha/2",
        "  not runnable: unit_test_file unit_test/run_2.py is missing: alpha/2",
        "Tasks: 2; 1 runnable, 1 not runnable; 2 created, 0 changed, 0 unchanged, 0 removed",
    ]
    assert lines[-1] == "Task kit: 0.0 MB"
    files = ", ".join(f"01-Alpha/scoring-repo/data_{number}.pt" for number in range(1, 6))
    advice = "files are Git LFS pointers; fetch them with 'git lfs pull' and import again\n"
    assert err == f"{files} and 1 more: {advice}"
    for number in range(7, 22):
        (suite_folder / f"01-Alpha/scoring-repo/data_{number}.pt").write_text(POINTER)
    call_command("import_suite", suite_folder, "--slug", "small")
    assert capsys.readouterr().err == f"01-Alpha/scoring-repo: {advice}"


def test_dry_run(suite_folder: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_suite", suite_folder, "--slug", "small", "--dry-run")
    assert capsys.readouterr().out.splitlines() == [
        "Small Suite (small): dry run, new version 1",
        "  runnable: alpha/1, alpha/2",
        "Tasks: 2; 2 runnable, 0 not runnable; 2 created, 0 changed, 0 unchanged, 0 removed",
    ]
    assert not data_dir.exists()
    assert not Suite.objects.exists()
    call_command("import_suite", suite_folder, "--slug", "small")
    capsys.readouterr()
    call_command("import_suite", suite_folder, "--slug", "small", "--dry-run", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["imported"], found["version"], found["unchanged"]) == (False, None, ["alpha/1", "alpha/2"])


def test_refused(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_paper(suite_folder, "02-Beta", info=b'{"year": 2024,\n "x" }')
    with pytest.raises(SystemExit) as caught:
        call_command("import_suite", suite_folder, "--slug", "small", "--strict")
    assert caught.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "02-Beta/info.json:2:6: is not JSON: Expecting ':' delimiter",
        "Nothing was imported: 1 error. Correct it and run this again.",
    ]
    assert not Suite.objects.exists()


def test_json(readable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (readable / "extra").mkdir()
    call_command("import_suite", readable, "--slug", "small", "--json")
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "imported": True,
        "suite": "small",
        "version": 1,
        "created": ["alpha/1", "alpha/2"],
        "changed": [],
        "unchanged": [],
        "removed": [],
        "tasks": [
            {"task": "alpha/1", "change": "created", "runnable": True, "reasons": []},
            {"task": "alpha/2", "change": "created", "runnable": True, "reasons": []},
        ],
        "not_runnable": {},
        "left_out": [],
        "problems": [
            {"file": "extra", "line": None, "column": None, "message": "has no info.json; left out", "fatal": False}
        ],
    }


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    with pytest.raises(SystemExit):
        call_command("import_suite", folder, "--slug", "small", *options)
    return capsys.readouterr().err.splitlines()


def test_a_papers_own_folder_is_recognised(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(suite_folder / "01-Alpha", capsys) == [
        "01-Alpha: this is one paper's folder: give the folder above it",
        "Nothing was imported: 1 error. Correct it and run this again.",
    ]


@pytest.mark.parametrize("arguments", [["--dry-run"], []])
def test_a_paper_that_models_cannot_read_is_named(
    suite_folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (suite_folder / "01-Alpha" / "paper.pdf").write_bytes(pdf_without_readable_text())
    call_command("import_suite", suite_folder, "--slug", "small", *arguments)
    why = UNREADABLE.format("PDF")
    assert capsys.readouterr().err == f"01-Alpha/paper.pdf: {why} Models and judges do not get it.\n"
    assert [why_unreadable(each) for each in TaskRevision.objects.all()] == ([] if arguments else [why, why])
