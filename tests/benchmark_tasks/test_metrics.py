"""Counting events in files that processes share: forks, processes that follow each other, and disks that refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from benchmark_tasks.domain import bucket, metrics
from tests.conftest import PROJECT_ROOT
from tests.measures import values_in

if TYPE_CHECKING:
    from pathlib import Path

DECLARED = (
    "import os, sys\n"
    "from benchmark_tasks.domain import metrics\n"
    "EATEN = metrics.counter('eaten', 'Things that were eaten.', 'what')\n"
    "TIMES = metrics.histogram('chewing_seconds', 'Seconds.', 'what', buckets=(1.0, 5.0))\n"
)


def run(folder: Path, code: str) -> str:
    """Run a program that counts, as a process of an instance does; return what it logged."""
    result = subprocess.run(
        [sys.executable, "-c", DECLARED + code],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], metrics.FOLDER_VARIABLE: str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout


def counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], float]:
    monkeypatch.setenv(metrics.FOLDER_VARIABLE, str(folder))
    return values_in(metrics.exposition().decode())


def test_processes_and_their_forks_are_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "metrics.count(EATEN, 'apple')\n"
        "for _ in range(3):\n"
        "    if not (child := os.fork()):\n"
        "        metrics.count(EATEN, 'apple', by=10)\n"
        "        metrics.observe(TIMES, 2.0, 'apple')\n"
        "        os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "metrics.count(EATEN, 'apple')\n"
    )
    run(tmp_path, code)
    run(tmp_path, code)
    found = counts(tmp_path, monkeypatch)
    assert found["eaten_total", "apple"] == 64.0
    assert (found["chewing_seconds_count", "apple"], found["chewing_seconds_sum", "apple"]) == (6.0, 12.0)
    assert (found["chewing_seconds_bucket", "1.0", "apple"], found["chewing_seconds_bucket", "5.0", "apple"]) == (0, 6)
    # Jobs come one after the other, so two processes at a time need two sets of files, however many there were.
    assert sorted(file.name for file in tmp_path.glob("counter*")) == ["counter_0.db", "counter_1.db"]


def test_processes_at_the_same_time_have_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "metrics.count(EATEN, 'apple')\n"
        "import subprocess\n"
        "if sys.argv[1:] != ['again']:\n"
        "    program = [sys.executable, '-c', open('/proc/self/cmdline').read().split('\\0')[2], 'again']\n"
        "    subprocess.run(program, check=True)\n"
        "metrics.count(EATEN, 'apple')\n"
    )
    run(tmp_path, code)
    assert counts(tmp_path, monkeypatch)["eaten_total", "apple"] == 4.0
    assert len(list(tmp_path.glob("counter*"))) == 2


def test_the_files_have_their_whole_size_on_the_disk(tmp_path: Path) -> None:
    """A hole would be filled when a process counts, and a full disk would kill the process then."""
    run(tmp_path, "metrics.count(EATEN, 'apple')")
    status = (tmp_path / "counter_0.db").stat()
    assert (status.st_size, status.st_blocks * 512 >= status.st_size) == (1024 * 1024, True)


@pytest.mark.parametrize("refusal", ["no folder", "full disk"])
def test_a_disk_that_refuses_is_logged_once_and_harms_nothing(tmp_path: Path, refusal: str) -> None:
    folder = tmp_path / "metrics"
    code = "metrics.count(EATEN, 'apple')\n" * 3 + "metrics.observe(TIMES, 1.0, 'apple')\nprint('went on')\n"
    if refusal == "no folder":
        folder.touch()
        reason = "File exists"
    else:
        code = f"def full(*_): raise OSError(28, 'No space left on device')\nos.posix_fallocate = full\n{code}"
        reason = "No space left on device"
    lines = run(folder, code).splitlines()
    assert (len(lines), lines[1], "events_not_counted" in lines[0], reason in lines[0]) == (2, "went on", True, True)


def test_without_a_folder_nothing_is_counted_or_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules without Django are also used outside of an instance."""
    monkeypatch.delenv(metrics.FOLDER_VARIABLE)
    with capture_logs() as logged:
        metrics.count(bucket._FAILED, "store")
    assert logged == []


def test_counts_of_earlier_processes_can_be_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, "metrics.count(EATEN, 'apple')")
    monkeypatch.setenv(metrics.FOLDER_VARIABLE, str(tmp_path))
    metrics.forget()
    assert list(tmp_path.iterdir()) == []
    assert metrics.exposition() == b""
