"""The supervisor with small programs: order, restarts, stubborn and forking children, its own death."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from leaderboard.supervision.programs import instance_programs
from leaderboard.supervision.supervisor import LOGS_KEPT, keep_logs, rotate, tail
from tests.conftest import PROJECT_ROOT
from tests.evaluator.processes import is_running, wait_until

FOREVER = "import time\nwhile True: time.sleep(0.05)"
# Notes its end in the shared file, so that the order of ends can be compared.
POLITE = """
import pathlib, signal, sys, time
def stop(*_):
    with pathlib.Path({folder!r}, "ends").open("a") as f: f.write({name!r} + " ")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
pathlib.Path({folder!r}, {name!r}).touch()
while True: time.sleep(0.05)
"""
STUBBORN = """
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({file!r}).touch()
time.sleep(1000)
"""

STOPPING = "Stopping; current work has up to {} seconds to finish…\n"
Supervise = Callable[..., subprocess.Popen[str]]


def recorded_pids(folder: Path) -> list[int]:
    return [int(file.read_text(encoding="ascii")) for file in sorted(folder.glob("*.pid"))]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    started: list[subprocess.Popen[str]] = []

    def start(*programs: dict[str, Any], up: bool = True, arguments: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        (tmp_path / "programs.json").write_text(json.dumps(programs), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.leaderboard.programs", str(tmp_path), *arguments],
            cwd=PROJECT_ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        if up:
            wait_until((tmp_path / "up").exists, "the start")
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def test_stages_stop_in_the_opposite_order(tmp_path: Path, supervise: Supervise) -> None:
    names = ["redis", "worker", "web"]
    process = supervise(
        *(
            {"name": name, "stage": stage, "code": POLITE.format(folder=str(tmp_path), name=name), "ready": name}
            for stage, name in enumerate(names)
        )
    )
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=15)
    assert (process.returncode, output) == (0, STOPPING.format("2.5"))
    assert (tmp_path / "ends").read_text(encoding="utf-8").split() == ["web", "worker", "redis"]


def test_a_killed_program_starts_again_and_its_orphans_are_gone(tmp_path: Path, supervise: Supervise) -> None:
    code = f"""
import os, pathlib, subprocess, sys
number = len(list(pathlib.Path({str(tmp_path)!r}).glob("*.main.pid")))
folder = pathlib.Path({str(tmp_path)!r})
child = subprocess.Popen([sys.executable, "-c", {FOREVER!r}])
(folder / f"{{number}}.child.pid").write_text(str(child.pid))
(folder / f"{{number}}.main.pid").write_text(str(os.getpid()))
child.wait()
"""
    process = supervise({"name": "worker", "code": code, "ready": "0.main.pid"})
    child, main = recorded_pids(tmp_path)
    os.kill(main, signal.SIGKILL)
    second = tmp_path / "1.main.pid"
    wait_until(lambda: second.exists() and second.read_text(encoding="ascii"), "its successor")
    assert not is_running(child)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=15)
    assert process.returncode == 0
    assert re.match(r"worker was killed by SIGKILL after \d+ s and starts again in 1 s \(see ", output)
    assert [pid for pid in recorded_pids(tmp_path) if is_running(pid)] == []


@pytest.mark.parametrize(("grace", "signals", "seconds"), [(0.5, 1, "0.25"), (1000, 2, "500")], ids=["grace", "second"])
def test_a_stubborn_program_is_killed_when_its_grace_ends_or_at_a_second_ctrl_c(
    tmp_path: Path, supervise: Supervise, grace: float, signals: int, seconds: str
) -> None:
    ready = str(tmp_path / "ready")
    process = supervise({"name": "worker", "code": STUBBORN.format(file=ready), "grace": grace, "ready": "ready"})
    for _ in range(signals):
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    output, _ = process.communicate(timeout=10)
    assert (process.returncode, output) == (
        0,
        STOPPING.format(seconds) + "worker did not stop in time and is killed.\n",
    )


def test_without_a_log_folder_programs_write_to_the_supervisors_output(tmp_path: Path, supervise: Supervise) -> None:
    code = "import os, pathlib; print('nice', os.nice(0)); pathlib.Path({!r}).touch(); raise SystemExit(3)"
    program = {"name": "worker", "code": code.format(str(tmp_path / "ready")), "ready": "ready", "nice": 3}
    process = supervise(program, arguments=("console",))
    assert process.stdout is not None
    assert process.stdout.readline() == f"nice {os.nice(0) + 3}\n"
    assert re.fullmatch(
        r"worker ended with exit code 3 after \d+ s and starts again in 1 s\.\n", process.stdout.readline()
    )
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=15)
    assert (process.returncode, (tmp_path / "logs").exists()) == (0, False)


def test_a_worker_gets_two_signals(tmp_path: Path, supervise: Supervise) -> None:
    code = f"""
import pathlib, signal, sys, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
pathlib.Path({str(tmp_path / "ready")!r}).touch()
while len(asked) < 2: time.sleep(0.02)
pathlib.Path({str(tmp_path / "twice")!r}).touch()
"""
    process = supervise({"name": "worker", "code": code, "grace": 2, "ready": "ready"})
    process.send_signal(signal.SIGTERM)
    # Printed before the supervisor waits for programs.
    assert process.stdout is not None
    assert process.stdout.readline() == STOPPING.format("1")
    assert not (tmp_path / "twice").exists()
    output, _ = process.communicate(timeout=10)
    assert (process.returncode, output, (tmp_path / "twice").exists()) == (0, "", True)


def test_a_daemonised_grandchild_is_found(tmp_path: Path, supervise: Supervise) -> None:
    code = f"""
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {FOREVER!r}], start_new_session=True)
pathlib.Path({str(tmp_path / "0.pid")!r}).write_text(str(child.pid))
pathlib.Path({str(tmp_path / "ready")!r}).touch()
time.sleep(1000)
"""
    process = supervise({"name": "web", "code": code, "ready": "ready"})
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=10)
    assert output == STOPPING.format("2.5") + "Killed 1 process left behind.\n"
    assert not is_running(recorded_pids(tmp_path)[0])


def test_a_program_that_fails_at_the_start_stops_all_with_its_log(tmp_path: Path, supervise: Supervise) -> None:
    polite = POLITE.format(folder=str(tmp_path), name="redis")
    process = supervise(
        {"name": "redis", "code": polite, "ready": "redis"},
        {"name": "web", "stage": 1, "code": "print('no such module'); raise SystemExit(4)", "ready": "never"},
        up=False,
    )
    output, _ = process.communicate(timeout=15)
    assert process.returncode == 3
    assert output == (
        f"web ended with exit code 4 before it was ready. The end of its log ({tmp_path}/logs/web.log):\n"
        "    no such module\n"
    )
    assert (tmp_path / "ends").read_text(encoding="utf-8") == "redis "


def test_the_children_end_when_the_supervisor_is_killed(tmp_path: Path, supervise: Supervise) -> None:
    code = f"import os, pathlib\npathlib.Path({str(tmp_path / '0.pid')!r}).write_text(str(os.getpid()))\n{FOREVER}"
    process = supervise({"name": "redis", "code": code, "ready": "0.pid"})
    process.kill()
    wait_until(lambda: not is_running(recorded_pids(tmp_path)[0]), "its end")


LOSS = "NOTHING IS EVALUATED."


def test_a_program_that_keeps_failing_is_explained_once(tmp_path: Path, supervise: Supervise) -> None:
    """The loss is printed only when no other program can replace the failing one."""
    folder = tmp_path / "logs"
    # The second program's log ends with an older error, which did not end the program now.
    folder.mkdir()
    (folder / "worker-2.log").write_text("OldError: long ago\n", encoding="ascii")
    count = (
        "import pathlib, sys, time\nfile = pathlib.Path({file!r})\nfile.write_text(file.read_text() + 'x' if "
        "file.exists() else 'x')\n"
    )
    first = count.format(file=str(tmp_path / "first")) + "print('Starting')\nraise ValueError('no box')"
    # Runs until the first program has been explained.
    second = f"""
import pathlib, time
while not pathlib.Path({str(tmp_path / "fail-too")!r}).exists(): time.sleep(0.02)
raise SystemExit(4)
"""
    process = supervise(
        {"name": "worker-1", "code": first, "loss": LOSS}, {"name": "worker-2", "code": second, "loss": LOSS}
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    assert [line.partition(" (")[0] for line in lines[:2]] == [
        "worker-1 ended with exit code 1 after 0 s and starts again in 1 s",
        "worker-1 ended with exit code 1 after 0 s and starts again in 2 s",
    ]
    assert lines[2] == (
        f"worker-1 keeps failing, 3 times in a row now: ValueError: no box (its log: {folder}/worker-1.log)\n"
    )
    (tmp_path / "fail-too").touch()
    *_, last = [process.stdout.readline() for _ in range(3)]
    assert last == (
        "worker-2 keeps failing, 3 times in a row now: ended with exit code 4 "
        f"(its log: {folder}/worker-2.log) {LOSS}\n"
    )
    # The first program continued to fail, without further messages.
    wait_until(lambda: len((tmp_path / "first").read_text(encoding="ascii")) >= 4, "its fourth end")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=10)[0] == STOPPING.format("2.5")


def test_a_large_log_is_rotated_and_only_some_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    for number in range(LOGS_KEPT + 3):
        rotate(log, largest=6)
        with log.open("a", encoding="ascii") as file:
            file.write(f"run {number}\n")
    assert {file.name: file.read_text(encoding="ascii") for file in tmp_path.iterdir()} == {
        "web.log": "run 5\n",
        "web.log.1": "run 4\n",
        "web.log.2": "run 3\n",
        "web.log.3": "run 2\n",
    }


def test_old_logs_are_removed_while_programs_append(tmp_path: Path) -> None:
    log, older = tmp_path / "web.log", tmp_path / "web.log.1"
    older.write_text("old\n", encoding="ascii")
    os.utime(older, (time.time() - 4 * 24 * 3600,) * 2)
    with log.open("ab", buffering=0) as program:
        for day in ("2026-11-28", "2026-11-29"):
            program.write(f"on {day}\n".encode())
            for _ in range(2):
                keep_logs(tmp_path, days=3, today=day)
        program.write(b"later\n")
    (tmp_path / "web.log.2026-11-28").touch()
    assert {file.name: file.read_text(encoding="ascii") for file in tmp_path.iterdir()} == {
        "web.log": "later\n",
        "web.log.2026-11-28": "on 2026-11-28\n",
        "web.log.2026-11-29": "on 2026-11-29\n",
    }


def test_the_end_of_a_log_is_shown_even_when_it_is_not_text(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_bytes(b"first\n" * 20 + b"\xffbroken\n")
    assert tail(log)[-2:] == ["first", "\ufffdbroken"]
    assert tail(log, since=6 * 20) == ["\ufffdbroken"]


@pytest.mark.parametrize(("workers", "without_audits"), [(1, []), (3, ["worker-1"])])
def test_one_of_several_workers_makes_no_audits(workers: int, without_audits: list[str], redis_url: str) -> None:
    environment = replace(settings.ENVIRONMENT, redis_url=redis_url)
    programs = instance_programs(environment, project_root=PROJECT_ROOT, workers=workers)
    evaluating = [each for each in programs if each.name.startswith("worker-")]
    assert len(evaluating) == workers
    assert [each.name for each in evaluating if "--no-audits" in each.argv] == without_audits
