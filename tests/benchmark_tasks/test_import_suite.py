"""``manage.py import_suite``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from benchmark_tasks.models import Suite
from tests.benchmark_tasks.factories import write_paper

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db


def test_summary(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (suite_folder / "01-Alpha/unit_test/run_2.py").unlink()
    call_command("import_suite", suite_folder, "--slug", "small")
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "Small Suite (small): new version 1",
        "  created         2  alpha/1 alpha/2",
        "  changed         0",
        "  unchanged       0",
        "  removed         0",
        "  not runnable    1  alpha/2",
    ]
    assert err == (
        "01-Alpha/unit_test/run_2.py: alpha/2 is not runnable: unit_test_file unit_test/run_2.py is missing\n"
    )


def test_nothing_changed(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_suite", suite_folder, "--slug", "small", "--title", "Titled")
    capsys.readouterr()
    call_command("import_suite", suite_folder, "--slug", "small")
    assert capsys.readouterr().out.splitlines()[0] == "Titled (small): nothing changed"


def test_refused(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_paper(suite_folder, "02-Beta", info=b'{"year": 2024,\n "x" }')
    with pytest.raises(SystemExit) as caught:
        call_command("import_suite", suite_folder, "--slug", "small")
    assert caught.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "02-Beta/info.json:2:6: is not JSON: expecting ':' after a key",
        "Nothing was imported: 1 error(s) of form. Correct them and run this again.",
    ]
    assert not Suite.objects.exists()


def test_json(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (suite_folder / "extra").mkdir()
    call_command("import_suite", suite_folder, "--slug", "small", "--json")
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
        "not_runnable": {},
        "problems": [
            {"file": "extra", "line": None, "column": None, "message": "has no info.json; left out", "fatal": False}
        ],
    }


def test_refused_json(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_paper(suite_folder, info=b"[")
    with pytest.raises(SystemExit):
        call_command("import_suite", suite_folder, "--slug", "small", "--json")
    assert json.loads(capsys.readouterr().out) == {
        "imported": False,
        "problems": [
            {
                "file": "01-Alpha/info.json",
                "line": 1,
                "column": 2,
                "message": "is not JSON: Expecting value",
                "fatal": True,
            }
        ],
    }
