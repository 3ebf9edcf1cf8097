"""The summary of ``make test``: the hooks of tests/conftest.py, and scripts/test_summary.py."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.conftest import BOTH_DATABASES, PROJECT_ROOT, _runs_in_other_boxes, examples

SKIPS = """\
import time, pytest

def test_passes():
    pass

def test_skips():
    pytest.skip({reason!r})

@pytest.fixture
def slow():
    time.sleep(0.2)
    yield
    time.sleep(0.2)

def test_slow(slow):
    time.sleep(0.2)
"""
OPERATIONS = """\
import schemathesis

answers = {"get": {"responses": {"200": {"description": "fine"}}}}
document = schemathesis.openapi.from_dict(
    {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/one": answers, "/two": answers}}
)

@document.parametrize()
def test_it(case):
    pass
"""


def run(*command: str, require_all: bool) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "REQUIRE_ALL"))}
    return subprocess.run(
        [sys.executable, *command],
        cwd=PROJECT_ROOT,
        env=environment | ({"REQUIRE_ALL": "1"} if require_all else {}),
        capture_output=True,
        text=True,
        check=False,
    )


def reported(folder: Path, *options: str, require_all: bool) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run the tests of ``folder / "test_it.py"``; return pytest's result and its report file."""
    report = folder / "report.json"
    result = run(
        *("-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(PROJECT_ROOT)),
        *("-c", "pyproject.toml", "--report-file", str(report), *options, str(folder / "test_it.py")),
        require_all=require_all,
    )
    return result, json.loads(report.read_text(encoding="utf-8"))


def test_each_operation_of_a_description_is_run_by_xdist_and_a_skip_fails_under_require_all(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(OPERATIONS + SKIPS.format(reason="no Redis"), encoding="utf-8")
    result, found = reported(tmp_path, "-n", "1", "--dist", "loadgroup", require_all=True)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "skipped, which REQUIRE_ALL=1 forbids" in result.stdout
    assert (found["passed"], [skip[1] for skip in found["skips"]]) == (4, ["no Redis"])
    names = sorted(name.partition("::")[2] for name in found["seconds"])
    assert names == ["test_it[GET /one]", "test_it[GET /two]", "test_passes", "test_skips", "test_slow"]


def test_two_tests_with_one_id_are_refused() -> None:
    twins: Any = [SimpleNamespace(nodeid="test_it.py::test_it", name="test_it")] * 2
    with pytest.raises(pytest.UsageError, match=r"xdist would run one of them: test_it\.py::test_it$"):
        conftest.pytest_collection_modifyitems(SimpleNamespace(), twins)  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", conftest.MAY_SKIP)
def test_a_skip_for_lack_of_these_does_not_fail_and_seconds_include_setup_and_teardown(
    tmp_path: Path, reason: str
) -> None:
    (tmp_path / "test_it.py").write_text(SKIPS.format(reason=reason), encoding="utf-8")
    result, found = reported(tmp_path, require_all=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "skipped, which REQUIRE_ALL=1 forbids" not in result.stdout
    assert (found["passed"], [skip[1] for skip in found["skips"]]) == (2, [reason])
    seconds = {name.partition("::")[2]: taken for name, taken in found["seconds"].items()}
    assert sorted(seconds) == ["test_passes", "test_skips", "test_slow"]
    assert 0.6 <= seconds["test_slow"] < 5


def summary(folder: Path, *failed: str, require_all: bool = False, **reports: Any) -> tuple[int, list[str]]:
    for name, report in reports.items():
        counts = {"passed": 0, "failed": 0, "error": 0, "xfailed": 0, "xpassed": 0, "skips": [], "seconds": {}}
        (folder / f"{name}.json").write_text(json.dumps(counts | report), encoding="utf-8")
    result = run("scripts/test_summary.py", str(folder), "61.5", *failed, require_all=require_all)
    assert result.stderr == ""
    return result.returncode, result.stdout.splitlines()


def test_the_last_line_sums_all_runs_in_pytest_s_format(tmp_path: Path) -> None:
    code, lines = summary(tmp_path, sqlite={"passed": 10}, postgresql={"passed": 5}, browser={"passed": 1})
    assert (code, "Nothing was skipped." in lines) == (0, True)
    assert re.fullmatch(r"=+ 16 passed in 61\.50s =+", lines[-1])
    code, lines = summary(tmp_path, "lint", sqlite={"passed": 10, "failed": 2, "error": 1})
    assert (code, "FAILED: lint" in lines) == (1, True)


@pytest.mark.parametrize("require_all", [True, False])
def test_skips_and_stages_that_did_not_run_are_listed(tmp_path: Path, require_all: bool) -> None:
    (tmp_path / "not-run").write_text("the tests on PostgreSQL: it is not installed\n", encoding="utf-8")
    skips = [["tests/a.py::test", "no Redis"]]
    code, lines = summary(
        tmp_path, sqlite={"passed": 10, "skips": skips}, browser={"skips": skips}, require_all=require_all
    )
    assert code == int(require_all)
    assert "not run: the tests on PostgreSQL: it is not installed" in lines
    assert "skipped (browser, sqlite): tests/a.py::test: no Redis" in lines
    assert (lines[-1].count("1 errors"), "2 skipped" in lines[-1]) == (int(require_all), True)


def test_missing_upstream_files_and_gvisor_alone_do_not_fail_the_run(tmp_path: Path) -> None:
    skips = [["tests/a.py::test", reason] for reason in conftest.MAY_SKIP]
    code, lines = summary(tmp_path, sqlite={"passed": 10, "skips": skips}, require_all=True)
    assert code == 0
    assert [line.strip("! ") for line in lines if "!!!" in line] == ["NOT EVERYTHING WAS TESTED", ""]


def test_stages_and_the_slowest_tests_are_listed_with_their_seconds(tmp_path: Path) -> None:
    (tmp_path / "stages").write_text("machine 7 Debian packages\nmachine 20 images\ntests 30 lint\n", encoding="utf-8")
    sqlite = {f"tests/a.py::test_{number}": number / 10 for number in range(50)}
    _, lines = summary(tmp_path, sqlite={"seconds": sqlite}, browser={"seconds": {"tests/b.py::test[a b]": 2.05}})
    slowest = lines[lines.index("The 40 slowest tests, with setup and teardown:") + 1 :][:40]
    assert slowest[0] == "     4.9 s  sqlite: tests/a.py::test_49"
    assert (slowest[29], slowest[-1]) == (
        "     2.0 s  browser: tests/b.py::test[a b]",
        "     1.1 s  sqlite: tests/a.py::test_11",
    )
    assert lines[lines.index("Stages:") + 1 :][:5] == [
        "     7 s  Debian packages",
        "    20 s  images",
        "    30 s  lint",
        "    27 s  of these to prepare a bare machine: packages, environment, images",
        "    34 s  everything else",
    ]


def test_files_that_run_on_both_databases_exist() -> None:
    assert [path for path in BOTH_DATABASES if not (PROJECT_ROOT / path).exists()] == []


@pytest.mark.parametrize(("in_full", "counts"), [(False, [5, 5, 30]), (True, [5, 25, 150])])
def test_make_test_tries_a_fifth_of_the_examples(
    in_full: bool, counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conftest, "IN_FULL", in_full)
    assert [examples(count) for count in (5, 25, 150)] == counts


class ForkedBubblewrap:
    """Has the name of a sandbox."""


@pytest.mark.parametrize(
    ("fixtures", "params", "left_out"),
    [
        ([], {"each_way": "bubblewrap"}, False),
        ([], {"each_way": "forked_bubblewrap"}, True),
        ([], {"number": 3, "kind": "docker"}, True),
        ([], {"looped": ForkedBubblewrap}, True),
        (["torch_packages"], {}, True),
        (["docker"], {}, False),
    ],
)
def test_only_make_boxes_runs_tests_in_other_boxes(fixtures: list[str], params: dict[str, Any], left_out: bool) -> None:
    item: Any = SimpleNamespace(fixturenames=fixtures, callspec=SimpleNamespace(params=params))
    assert _runs_in_other_boxes(item) is left_out
