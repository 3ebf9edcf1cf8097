"""Checks of database, Redis, storage and e-mail, each against a real one."""

from __future__ import annotations

import os
import re
import socket
import socketserver
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import redis
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from benchmark_tasks.domain.bucket import bucket_at
from evaluator.hosts import grants
from leaderboard.doctor import services
from leaderboard.doctor.findings import Finding, State, failed, ok, warning
from tests.bucket import proxy_before
from tests.evaluator.roles import acting_as, execute, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_django import Settings

TO_SET = "Let an NTP service (chrony, systemd-timesyncd) set the clock of every host."
STORAGE_TODO = "Start or repair the storage, or correct STORAGE_URL (docs/configuration.md)."


def one(found: Iterator[Finding]) -> Finding:
    (finding,) = found
    return finding


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        (99.0, ok("clock of it", "1.0 s from this host's")),
        (100.5, ok("clock of it", "0.0 s from this host's")),
        (103.0, ok("clock of it", "2.0 s from this host's")),
        (103.1, warning("clock of it", "2.1 s from this host's", TO_SET)),
        (161.0, warning("clock of it", "60.0 s from this host's", TO_SET)),
        (39.9, failed("clock of it", "60.1 s from this host's", TO_SET)),
    ],
)
def test_clocks_are_compared_with_the_time_of_reading(theirs: float, expected: Finding) -> None:
    assert services.clock("it", theirs, earliest=100.0, latest=101.0) == expected


@pytest.mark.django_db
@pytest.mark.both_databases
class TestDatabase:
    def test_a_whole_database(self) -> None:
        version, migrations, *clock = services.database()
        product = {"sqlite": r"SQLite 3\.\d+\.\d+, \d\S* [KM]B in /\S+", "postgresql": r"PostgreSQL \d+\.\d+"}
        assert re.fullmatch(product[connection.vendor], version.found)
        assert (version.name, version.state) == ("database", State.OK)
        number = len(MigrationRecorder(connection).applied_migrations())
        assert migrations == ok("migrations", f"all {number} applied")
        assert clock == [ok("clock of the database", "0.0 s from this host's")] * (connection.vendor == "postgresql")

    def test_missing_migrations(self) -> None:
        ((app, name),) = MigrationLoader(connection).graph.leaf_nodes("leaderboard")
        MigrationRecorder(connection).record_unapplied(app, name)
        assert list(services.database())[1] == failed(
            "migrations",
            f"1 not applied: {app}.{name}",
            "Run make setup (or manage.py migrate) on one host.",
        )

    def test_migrations_of_a_newer_version(self) -> None:
        recorder = MigrationRecorder(connection)
        recorder.record_applied("leaderboard", "9999_of_the_future")
        recorder.record_applied("an_app_that_is_gone", "0001_initial")
        assert list(services.database())[1] == failed(
            "migrations",
            "1 applied that this host's code does not have: leaderboard.9999_of_the_future",
            "Update the code on this host: another host has a newer version.",
        )


@pytest.mark.django_db
@pytest.mark.postgres
@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="needs DATABASE_URL of a PostgreSQL server")
def test_the_role_of_a_host_that_only_runs_tests(tests_role: str, settings: Settings) -> None:
    needed = len(grants.needed())
    remedy = f"Run manage.py worker_grants {tests_role} on the site's host, as after each upgrade."
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, pools=["tests"])
    name, own = "database role", connection.settings_dict["USER"]
    rest = len(grants.held(own)) - needed - 3
    more = "CREATE TABLE IN public, DELETE account_emailaddress, DELETE account_emailconfirmation"
    found = f"{own} may do more than running tests needs: {more} and {rest} more"
    assert role_finding() == [warning(name, found, grants.REDUCE)]
    with acting_as(tests_role):
        assert role_finding() == [ok(name, f"{tests_role} may do what running tests needs, and nothing else")]
    execute(f"REVOKE UPDATE (log, outcome) ON evaluator_testrun FROM {quoted(tests_role)}")
    lacking = f"{tests_role} lacks UPDATE evaluator_testrun.log, UPDATE evaluator_testrun.outcome"
    with acting_as(tests_role):
        assert role_finding() == [failed(name, lacking, remedy)]
        assert "migrations" not in [finding.name for finding in services.database()]
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, pools=["tests", "builds"])
        assert role_finding() == []


def role_finding() -> list[Finding]:
    return [finding for finding in services.database() if finding.name == "database role"]


def test_a_missing_sqlite_file_is_not_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", tmp_path / "db.sqlite3")
    found = f"there is no SQLite file {tmp_path}/db.sqlite3"
    assert one(services.database()) == failed("database", found, "Run make setup, or correct DATABASE_URL.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.redis
def test_redis_and_a_policy_that_drops_work(redis_url: str) -> None:
    server, clock = services.redis()
    assert re.fullmatch(r"Redis \d+\.\d+\.\d+, \S+ used, policy noeviction", server.found)
    assert (server.name, server.state) == ("redis", State.OK)
    assert clock == ok("clock of Redis", "0.0 s from this host's")
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        dropping, _ = services.redis()
        client.config_set("maxmemory-policy", "noeviction")
    assert (dropping.state, dropping.found.endswith("policy allkeys-lru")) == (State.WARNING, True)
    assert dropping.todo.startswith("Set maxmemory-policy noeviction")


class TestStorage:
    def test_the_data_folder(self, settings: Settings, tmp_path: Path) -> None:
        settings.DATA_DIR = tmp_path
        found = one(services.storage())
        assert (found.name, found.state, found.todo) == ("storage", State.OK, "")
        assert found.found.startswith(f"{tmp_path}/content: a file was stored, read and removed in 0.")
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

    def test_a_data_folder_that_cannot_be_written(self, settings: Settings, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        settings.DATA_DIR = tmp_path / "file"
        found = one(services.storage())
        assert (found.state, found.todo) == (
            State.FAILED,
            "Make room below DATA_DIR, and let the site's user write there.",
        )
        assert found.found == f"{tmp_path}/file/content: [Errno 20] Not a directory"

    def test_a_bucket(self, storage_url: str) -> None:
        stored, clock = services.storage()
        shared = bucket_at(storage_url)
        assert (stored.name, stored.state, stored.todo) == ("storage", State.OK, "")
        assert stored.found.startswith(f"{shared.address}/{shared.name}/: a file was stored, read and removed in ")
        assert clock == ok("clock of the bucket", "0.0 s from this host's")
        assert list(shared.listed()) == []

    def test_a_bucket_that_returns_other_bytes(self, storage_url: str, s3_place: str, settings: Settings) -> None:
        with proxy_before(s3_place) as proxy:
            url = storage_url.replace(s3_place, proxy.place)
            settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=url)
            proxy.failures = [("GET", "changed")] * 3
            found = one(services.storage())
        assert (found.name, found.state, found.todo) == ("storage", State.FAILED, "Repair the storage.")
        assert found.found.endswith(" returned other bytes than were stored")
        assert list(bucket_at(storage_url).listed()) == []

    def test_no_bucket(self, storage_away: Callable[[], AbstractContextManager[None]]) -> None:
        with storage_away():
            found = one(services.storage())
        assert (found.name, found.state, found.todo) == ("storage", State.FAILED, STORAGE_TODO)
        assert found.found.startswith("The storage at http://127.0.0.1:1 could not look up files/")


class _Greeting(socketserver.StreamRequestHandler):
    """A mail server that greets, and accepts one password."""

    def handle(self) -> None:
        self.wfile.write(b"220 mail.example\r\n")
        for line in self.rfile:
            self.server.seen.append(line.split()[0])  # type: ignore[attr-defined]
            answers = {b"EHLO": b"250-mail.example\r\n250 AUTH PLAIN\r\n", b"QUIT": b"221 ended\r\n"}
            accepted = b"AHVzZXIAcmlnaHQ=" in line  # "\0user\0right" in base 64
            refusal = b"235 accepted\r\n" if accepted else b"535 refused\r\n"
            self.wfile.write(answers.get(line.split()[0].upper(), refusal))


class TestMail:
    @pytest.fixture
    def server(self, settings: Settings) -> Iterator[Any]:
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Greeting) as running:
            running.daemon_threads, running.seen = True, []  # type: ignore[attr-defined]
            threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
            settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
            settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.server_address[1]
            settings.DEFAULT_FROM_EMAIL = "Board <board@example.org>"
            yield running
            running.shutdown()

    def test_without_a_server(self) -> None:
        assert one(services.mail()) == ok("e-mail", "not used")

    def test_a_server_that_greets_gets_no_mail(self, server: Any) -> None:
        assert one(services.mail()) == ok("e-mail", f"127.0.0.1, port {server.server_address[1]} answers")
        assert server.seen == [b"quit"]

    def test_the_password_is_tried(self, server: Any, settings: Settings) -> None:
        where = f"127.0.0.1, port {server.server_address[1]}"
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "user", "right"
        assert one(services.mail()) == ok("e-mail", f"{where} answers and accepts the password")
        settings.EMAIL_HOST_PASSWORD = "wrong"
        refused = one(services.mail())
        assert (refused.state, refused.found) == (State.FAILED, f"{where}: (535, b'refused')")

    def test_the_default_sender_is_a_warning(self, server: Any, settings: Settings) -> None:
        settings.DEFAULT_FROM_EMAIL = "LMR-Board <noreply@localhost>"
        assert list(services.mail())[1:] == [
            warning(
                "e-mail",
                "the sender is LMR-Board <noreply@localhost>, which many servers refuse",
                "Set DEFAULT_FROM_EMAIL to an address of yours.",
            )
        ]

    def test_a_closed_port(self, server: Any, settings: Settings) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            settings.EMAIL_PORT = closed.getsockname()[1]
            found = f"127.0.0.1, port {settings.EMAIL_PORT}: [Errno 111] Connection refused"
            todo = "Start the server, or correct EMAIL_URL (docs/configuration.md)."
            assert one(services.mail()) == failed("e-mail", found, todo)
