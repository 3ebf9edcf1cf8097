"""``manage.py doctor`` as an operator runs it."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest

from tests.instances import Instance

NO_BOXES = {"EVALUATOR_SANDBOX": "docker", "DOCKER_HOST": "unix:///nowhere"}
AWAY = {
    "DATABASE_URL": "postgres://user:of-the-database@127.0.0.1:1/name",
    "REDIS_URL": "redis://:of-the-queue@127.0.0.1:1/0",
    "STORAGE_URL": "s3+http://key:of-the-storage@127.0.0.1:1/bucket",
    "EMAIL_URL": "smtp://user:of-the-mail@127.0.0.1:1",
    "SITE_ADDRESS": "http://user:of-the-site@127.0.0.1:1",
}


@pytest.fixture
def instance(prepared: Path, tmp_path: Path) -> Instance:
    """An instance with an empty database, which is not started and makes no boxes."""
    made = Instance(tmp_path, **NO_BOXES)
    shutil.copytree(prepared, made.data)
    return made


def states(text: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in json.loads(text)["findings"]}


def test_each_check_is_a_line_with_what_to_do_below_it(instance: Instance) -> None:
    ended = instance.manage("doctor")
    assert (ended.returncode, ended.stderr) == (1, "")
    lines = ended.stdout.splitlines()
    marks = [(line[:8].strip(), line[9:31].strip()) for line in lines if line[0] != " "]
    sqlite, *_ = marks
    assert sqlite == ("ok", "database")
    assert ("warning", "redis") in marks
    assert marks[-2:] == [("FAILED", "sandbox"), ("FAILED", "Docker")]
    todo = [line for line, before in zip(lines[1:], lines, strict=False) if line[0] == " " and before[0] != " "]
    assert len(todo) == sum(mark != "ok" for mark, _ in marks)
    assert todo[0] == "         Start the instance: make run."


def test_nothing_works_and_no_secret_is_shown(instance: Instance) -> None:
    instance.environment |= AWAY
    ended = instance.manage("doctor", "--json")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "of-the-" not in ended.stdout
    assert json.loads(ended.stdout)["ok"] is False
    failures = {name for name, state in states(ended.stdout).items() if state == "FAILED"}
    assert failures >= {"database", "redis", "storage", "keys", "site", "e-mail", "sandbox", "Docker"}


@pytest.mark.in_full
def test_a_database_that_does_not_answer_stops_no_other_check(instance: Instance) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        instance.environment["DATABASE_URL"] = f"postgres://user:word@127.0.0.1:{silent.getsockname()[1]}/name"
        ended = instance.manage("doctor", "--json")
    found = states(ended.stdout)
    assert (ended.returncode, found["database"], found["memory"]) == (1, "FAILED", "ok")
    assert "no result within" not in ended.stdout


def test_a_damaged_database_is_a_finding(instance: Instance) -> None:
    for file in instance.data.glob("db.sqlite3*"):
        file.unlink()
    (instance.data / "db.sqlite3").write_text("this is no database, but long enough to be read as one")
    ended = instance.manage("doctor", "--json")
    assert (ended.returncode, ended.stderr) == (1, "")
    (database,) = (each for each in json.loads(ended.stdout)["findings"] if each["name"] == "database")
    assert (database["state"], database["found"]) == ("FAILED", "file is not a database")


def test_a_new_host_gets_no_empty_database(tmp_path: Path) -> None:
    instance = Instance(tmp_path, **NO_BOXES)
    ended = instance.manage("doctor", "--json")
    assert (ended.returncode, ended.stderr, states(ended.stdout)["database"]) == (1, "", "FAILED")
    assert not (instance.data / "db.sqlite3").exists()
