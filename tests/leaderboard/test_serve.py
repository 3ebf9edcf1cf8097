"""``manage.py serve`` as people run it: a real instance, in a process of its own, with real Redis and workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.utils.html import escape

from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.types import SandboxError
from tests.evaluator.processes import descendants, is_running, wait_until
from tests.instances import Instance


@pytest.fixture
def boxes() -> None:
    """Workers start only where a box can be made."""
    try:
        configured_sandbox()
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with an empty database, made once: migrating takes longer than most tests here."""
    instance = Instance(tmp_path_factory.mktemp("instance"))
    for command in (["migrate", "--no-input", "-v0"], ["createcachetable"], ["collectstatic", "--no-input", "-v0"]):
        instance.printed(*command)
    return instance.data


@pytest.fixture
def instance(tmp_path: Path, prepared: Path) -> Iterator[Instance]:
    subprocess.run(["cp", "-r", str(prepared), str(tmp_path / "var")], check=True)
    instance = Instance(tmp_path)
    yield instance
    if instance.process is not None and instance.process.poll() is None:
        instance.process.kill()
        instance.process.wait()


@pytest.mark.redis
@pytest.mark.bubblewrap
def test_it_answers_replaces_what_dies_is_alone_and_leaves_no_process(
    boxes: None, instance: Instance, tmp_path: Path
) -> None:
    """In a folder whose name is too long for a Unix socket in it."""
    long = tmp_path / ("x" * 100)
    instance.data.rename(long)
    instance.data = long
    instance.environment["DATA_DIR"] = str(long)
    supervisor = instance.start()
    assert instance.get("/healthz")[0] == 200

    second = instance.manage("serve")
    assert second.returncode == 1
    assert second.stderr.startswith(
        f"CommandError: LMR-Board is running already on the data folder {instance.data} (process {supervisor})."
    )
    (instance.data / ".lmr-board").touch()
    reset = instance.manage("reset", "--force")
    assert (reset.returncode, "is running already" in reset.stderr) == (1, True)

    wait_until(lambda: instance.worker("worker-1"), "a worker")
    first = instance.worker("worker-1")
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: instance.worker("worker-1") not in {None, first}, "another one")

    started = descendants(supervisor)
    assert len(started) >= 6  # Redis, two workers, the reconciler, gunicorn and its worker
    assert instance.stop(signal.SIGINT) == 0
    assert [pid for pid in started if is_running(pid)] == []
    greeting, logs, killed, *end = instance.said().splitlines()[1:]
    assert greeting == f"LMR-Board answers at http://127.0.0.1:{instance.port}/, workers: 2. Ctrl-C stops it."
    assert logs == f"Logs are in {instance.data / 'logs'}; make password sets a maintainer's password."
    assert killed.startswith("worker-1 was ended by SIGKILL after ")
    assert end == ["Stopping; what is under way gets up to 10 seconds…", "Stopped."]
    names = {"redis.log", "worker-1.log", "worker-2.log", "models-1.log", "models-2.log", "reconcile.log", "web.log"}
    assert {file.name for file in (instance.data / "logs").iterdir()} == names


def test_a_taken_port_is_a_clear_error(instance: Instance) -> None:
    with closing(socket.create_server(("127.0.0.1", instance.port))):
        started = time.monotonic()
        result = instance.manage("serve")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"CommandError: Port {instance.port} on 127.0.0.1 is taken by another program.\n"
        f"Choose another one, for example: make run PORT={instance.port + 1}\n"
    )
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(("damage", "arguments"), [("pages", []), ("header", ["--setup"])], ids=["serve", "setup"])
def test_a_damaged_database_is_noticed_and_left_alone(instance: Instance, damage: str, arguments: list[str]) -> None:
    file = instance.data / "db.sqlite3"
    content = bytearray(file.read_bytes())
    place = slice(0, 100) if damage == "header" else slice(len(content) // 2, len(content) // 2 + 40_000)
    content[place] = b"x" * (place.stop - place.start)
    file.write_bytes(content)
    result = instance.manage("serve", *arguments)
    assert (result.returncode, result.stdout, "Traceback" in result.stderr) == (1, "", False)
    assert result.stderr.startswith(f"CommandError: The database {file} is damaged (")
    assert result.stderr.endswith("restore your last backup (docs/operating.md, “After a crash”).\n")
    assert file.read_bytes() == content


def test_a_redis_that_does_not_answer_is_a_clear_error(instance: Instance) -> None:
    instance.environment["REDIS_URL"] = "redis://:secret@127.0.0.1:1/0"
    result = instance.manage("serve")
    assert result.returncode == 1
    assert result.stderr == (
        "CommandError: The Redis server that REDIS_URL names does not answer. "
        "Start it, correct REDIS_URL, or leave it empty.\n"
    )


@pytest.mark.redis
def test_without_a_sandbox_the_board_runs_and_says_so_once(instance: Instance, tmp_path: Path) -> None:
    # Everything on PATH but bubblewrap, and an image that no engine has.
    (tmp_path / "bin").mkdir()
    redis_server = subprocess.run(["which", "redis-server"], capture_output=True, text=True, check=False).stdout.strip()
    if redis_server:
        (tmp_path / "bin" / "redis-server").symlink_to(redis_server)
    instance.environment |= {"PATH": str(tmp_path / "bin"), "EVALUATOR_SANDBOX": "bubblewrap"}
    instance.start("--setup")
    assert "workers: 0" in instance.said()
    wait_until(lambda: "Mend that" in instance.said(), "the reason")
    assert "\nNOTHING IS EVALUATED, for no sandbox works here (the reason is above).\n" in instance.said()
    assert [instance.said().count(words) for words in ("bwrap is not on PATH", "make password")] == [1, 1], (
        instance.said()
    )
    assert instance.get("/healthz")[0] == 200
    why = "no sandbox works on the evaluator's machine"
    assert f"Nothing can be evaluated here: {why}." in json.loads(instance.get("/status.json")[1])["troubles"]
    assert (
        escape(f"The audit cannot be made: nothing can be evaluated on this site, {why}.")
        in instance.get("/suites/lmr-mini/")[1]
    )
    assert instance.stop(signal.SIGINT) == 0
