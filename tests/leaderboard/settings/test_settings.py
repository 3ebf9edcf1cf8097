"""The configuration: every error at once, secrets from files, paths that work everywhere; and the logs."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from django.db.utils import OperationalError, ProgrammingError

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError
from leaderboard.management.errors import explained
from leaderboard.settings.environment import ConfigurationError, Environment, Variables, read, secret_key, unknown_names
from leaderboard.settings.logs import logging_settings, process_name
from reviews.annotators.invitations import invite
from tests.conftest import PROJECT_ROOT
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in list(os.environ):
        if name not in {"PATH", "HOME"}:
            monkeypatch.delenv(name)
    return monkeypatch


def configured(clean: pytest.MonkeyPatch, **values: str) -> Environment:
    for name, value in values.items():
        clean.setenv(name, value)
    return read(Variables())


def manage(*arguments: str, **values: str) -> subprocess.CompletedProcess[str]:
    """``manage.py`` with exactly these variables."""
    environment = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, **values}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_errors_are_listed_together_and_nothing_starts(tmp_path: Path) -> None:
    result = manage("check", DEBUG="flase", PORT="70000", TIME_ZONE="Berlin", SECRET_KEY_FILE=str(tmp_path / "none"))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "The configuration is wrong (environment or .env; see docs/configuration.md):\n"
        "  DEBUG: Not a valid boolean.\n"
        "  PORT: Must be greater than or equal to 1 and less than or equal to 65535.\n"
        "  SECRET_KEY_FILE: This file cannot be read as text.\n"
        "  TIME_ZONE: 'Berlin' is not a time zone such as Europe/Berlin\n"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CSRF_TRUSTED_ORIGINS", "board.example.org"),
        ("DATABASE_URL", "mysql://host/name"),
        ("REDIS_URL", "http://host"),
        ("STORAGE_URL", "http://key:secret@host/bucket"),
        ("STORAGE_URL", "s3://host"),
        ("STORAGE_URL", "s3:///bucket"),
        ("STORAGE_URL", "s3://-/bucket"),
        ("STORAGE_URL", "s3://host:port/bucket"),
        ("STORAGE_CACHE_MB", "0"),
        ("POOLS", "tests,test"),
        ("POOLS", ""),
        ("EMAIL_URL", "imap://host"),
        ("WORKERS", "0"),
        ("EVALUATOR_SANDBOX", "none"),
        ("SANDBOX_HOST_UID", "0"),
        ("LOG_LEVEL", "LOUD"),
        ("SIGN_UP_OPEN", "perhaps"),
        ("SENTRY_DSN", "https://sentry.example.org/1"),
        ("SENTRY_DSN", "https://key@sentry.example.org/"),
        ("SENTRY_DSN", "key@sentry.example.org/1"),
        ("METRICS_LISTEN", "9101"),
        ("METRICS_LISTEN", "localhost:9101"),
        ("METRICS_LISTEN", "127.0.0.256:9101"),
        ("METRICS_LISTEN", "127.0.0.1:65536"),
        ("METRICS_LISTEN", "[::1]"),
        ("METRICS_LISTEN", "0.0.0.0:9101"),
        ("METRICS_LISTEN", "[::]:9101"),
        ("SECURITY_CONTACT", "security@board.example.org"),
        ("SECURITY_CONTACT", "http://board.example.org"),
        ("SECURITY_CONTACT", "mailto:"),
        ("SECURITY_CONTACT", "https://"),
    ],
)
def test_a_wrong_value_is_refused_by_name(clean: pytest.MonkeyPatch, name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        configured(clean, **{name: value})
    lines = str(refused.value).splitlines()
    assert (len(lines), lines[1].split(":")[0]) == (2, f"  {name}")


@pytest.mark.parametrize(
    ("value", "token", "address"),
    [
        ("", "", None),
        ("127.0.0.1:9101", "", ("127.0.0.1", 9101)),
        ("[::1]:9101", "", ("::1", 9101)),
        ("0.0.0.0:9101", "secret", ("0.0.0.0", 9101)),
        ("[2001:db8::1]:9101", "secret", ("2001:db8::1", 9101)),
    ],
)
def test_the_address_of_metrics(
    clean: pytest.MonkeyPatch, value: str, token: str, address: tuple[str, int] | None
) -> None:
    """Other machines need a token."""
    assert configured(clean, METRICS_LISTEN=value, METRICS_TOKEN=token).metrics_address == address


def test_defaults_need_no_server(clean: pytest.MonkeyPatch) -> None:
    environment = configured(clean)
    var = PROJECT_ROOT / "var"
    assert environment.data_dir == var
    assert environment.database_url == f"sqlite:///{var / 'db.sqlite3'}"
    assert environment.queue_url == f"unix://{var / 'run' / 'redis.sock'}?db=0"
    assert (environment.bind, environment.port, environment.debug) == ("127.0.0.1", 8000, False)


def test_a_secret_comes_from_a_file_without_its_newline(clean: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from the file\n", encoding="ascii")
    environment = configured(clean, SECRET_KEY_FILE=str(tmp_path / "key"))
    assert secret_key(environment) == "from the file"


def test_a_secret_key_is_made_once_and_kept(clean: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment = configured(clean, DATA_DIR=str(tmp_path / "new"))
    key = secret_key(environment)
    assert len(key) >= 60
    assert secret_key(environment) == key
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["secret_key"]
    assert (tmp_path / "new" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_a_data_folder_that_cannot_hold_the_key_stops_the_start(clean: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = configured(clean, DATA_DIR=str(tmp_path / "file"))
    with pytest.raises(ConfigurationError) as stopped:
        secret_key(environment)
    assert str(stopped.value) == (
        f"DATA_DIR: the secret key cannot be read or stored in {tmp_path}/file: Not a directory."
    )


POSTGRES, REDIS = "postgres://u:p@host/name", "redis://host:6379/0"
BOTH = {"SECRET_KEY": "s" * 50, "ENDPOINT_KEYS": "e" * 50}


@pytest.mark.parametrize(
    ("variables", "absent"),
    [
        ({"DATABASE_URL": POSTGRES, "REDIS_URL": REDIS}, "SECRET_KEY and ENDPOINT_KEYS are not set"),
        ({"DATABASE_URL": POSTGRES, "REDIS_URL": REDIS, "SECRET_KEY": "s" * 50}, "ENDPOINT_KEYS is not set"),
        (
            {"DATABASE_URL": "postgresql://u:p@host/name", "REDIS_URL": REDIS, "ENDPOINT_KEYS": "e" * 50},
            "SECRET_KEY is",
        ),
        ({"DATABASE_URL": POSTGRES, "REDIS_URL": REDIS, **BOTH}, ""),
        ({"DATABASE_URL": POSTGRES}, ""),
        ({"REDIS_URL": REDIS}, ""),
        ({"DATABASE_URL": "sqlite:////a/b", "REDIS_URL": REDIS}, ""),
        ({}, ""),
    ],
)
def test_hosts_that_share_servers_need_keys_that_are_set(
    clean: pytest.MonkeyPatch, variables: dict[str, str], absent: str
) -> None:
    problem = configured(clean, **variables).keys_problem
    assert (absent in problem, bool(problem)) == (True, bool(absent))
    assert ("manage.py keys" in problem) == bool(absent)


def test_a_long_data_folder_gets_a_short_socket(clean: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 60) / ("y" * 60)
    socket = configured(clean, DATA_DIR=str(long)).embedded_redis_socket
    assert len(os.fsencode(socket)) <= 60
    assert socket == configured(clean, DATA_DIR=str(long), TMPDIR="/elsewhere").embedded_redis_socket
    assert socket != configured(clean, DATA_DIR=str(long / "z")).embedded_redis_socket


def test_unknown_names_in_the_env_file_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "board.env"
    file.write_text(
        "DALY_SUBMISSIONS=3\nPORT=8000\nSECRET_KEY_FILE=/run/key\n#COMENT=1\nNOTHING_LIKE_IT=1\nport=1\n",
        encoding="ascii",
    )
    monkeypatch.setenv("ENV_FILE", str(file))
    problem = "in board.env is not a setting (docs/configuration.md lists all)."
    assert unknown_names() == [
        f"DALY_SUBMISSIONS {problem} Did you mean DAILY_SUBMISSIONS?",
        f"NOTHING_LIKE_IT {problem}",
        f"port {problem} Did you mean PORT?",
    ]
    monkeypatch.setenv("ENV_FILE", str(tmp_path / "none.env"))
    assert unknown_names() == []


def test_an_env_file_is_read_and_the_environment_wins(tmp_path: Path) -> None:
    (tmp_path / "board.env").write_text("LOG_LEVEL=LOUD\nWORKERS=many\n", encoding="ascii")
    result = manage("check", ENV_FILE=str(tmp_path / "board.env"), WORKERS="0", DATA_DIR=str(tmp_path))
    assert result.stderr.splitlines()[1:] == [
        "  LOG_LEVEL: Must be one of: DEBUG, INFO, WARNING, ERROR.",
        "  WORKERS: Must be greater than or equal to 1.",
    ]


SET_UP = "Run make setup (or manage.py setup) first.\n"


def test_without_tables_one_line_names_the_remedy(tmp_path: Path) -> None:
    result = manage("reconcile", DATA_DIR=str(tmp_path / "var"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("The database is not set up, or not up to date (no such table: ")
    assert result.stderr.endswith(SET_UP)
    assert result.stderr.count("\n") == 1
    with_traceback = manage("reconcile", "--traceback", DATA_DIR=str(tmp_path / "var"))
    assert (with_traceback.returncode, "Traceback" in with_traceback.stderr) == (1, True)


def test_an_unreachable_database_is_named(tmp_path: Path) -> None:
    url = "postgres://nobody@127.0.0.1:1/none"
    result = manage("board", "--suite", "lmr-mini", DATA_DIR=str(tmp_path / "var"), DATABASE_URL=url)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith("The database cannot be used: ")


def test_errors_of_the_content_store_are_explained() -> None:
    assert explained(StorageUnavailableError("It is away.")) == (
        "It is away. Start or repair the storage, or correct STORAGE_URL (docs/configuration.md)."
    )
    assert explained(ContentMissingError("No file x.")) == (
        "No file x. manage.py storage lists everything that is missing."
    )


def test_an_error_of_the_program_keeps_its_traceback() -> None:
    assert explained(ZeroDivisionError("x")) == ""
    assert explained(OperationalError('near "SELCT": syntax error')) == ""
    assert explained(ProgrammingError("can't adapt type 'object'")) == ""


@pytest.mark.postgres
@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="needs DATABASE_URL of a PostgreSQL server")
def test_a_missing_table_on_postgresql() -> None:
    from django.db import connection

    with pytest.raises(ProgrammingError) as missing, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM no_such_table")
    assert explained(missing.value) == (
        'The database is not set up, or not up to date (relation "no_such_table" does not exist). ' + SET_UP.strip()
    )


ENV_FILE = "ENV_FILE"


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Names and defaults, as environs recorded them while reading an empty environment."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    env = Variables()
    read(env)
    return dict(env.dump())


def documented() -> dict[str, str]:
    """Name → default of each row of the tables."""
    text = (PROJECT_ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]*?) \|", text, flags=re.MULTILINE))


def test_every_variable_is_documented_with_its_real_default_and_no_other(variables: dict[str, object]) -> None:
    assert sorted(documented()) == sorted([ENV_FILE, *variables])
    wrong = {}
    for name, text in documented().items():
        if name in {ENV_FILE, "DATABASE_URL"}:
            continue
        value = variables[name]
        shown = ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value
        expected = f"`{shown}`" if shown != "" else "empty"
        if text != expected:
            wrong[name] = (text, expected)
    assert wrong == {}


def test_the_example_file_names_known_variables_only(variables: dict[str, object]) -> None:
    text = (PROJECT_ROOT / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#?([A-Z_]+)=", text, flags=re.MULTILINE))
    assert named - set(variables) == set()
    assert {"PORT", "DATABASE_URL", "REDIS_URL"} <= named


def test_no_variable_is_read_elsewhere() -> None:
    """One place reads the environment, so that one place can check and document it."""
    reading = re.compile(r"""environ(?:\.get\(|\.setdefault\(|\[)\s*["'](\w+)|getenv\(\s*["'](\w+)""")
    found = set()
    for app in ("benchmark_tasks", "submissions", "evaluator", "reviews", "leaderboard"):
        for file in (PROJECT_ROOT / app).rglob("*.py"):
            if file.parent == PROJECT_ROOT / "evaluator" / "testing" / "box" or "overlays" in file.parts:
                continue  # runs in boxes, which have their own environment
            if file.parent == PROJECT_ROOT / "leaderboard" / "sharing" / "client":
                continue  # is downloaded and runs on its user's machine
            for match in reading.finditer(file.read_text(encoding="utf-8")):
                found.add(match[1] or match[2])
    assert found - {"PATH", "DJANGO_SETTINGS_MODULE", "XDG_RUNTIME_DIR"} == {ENV_FILE}


def formatted(record: logging.LogRecord, form: str) -> str:
    """``record`` as the handler of :func:`logging_settings` writes it."""
    made: dict[str, Any] = logging_settings(level="INFO", form=form)["formatters"]["structured"]
    return str(made.pop("()")(**made).format(record))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["manage.py", "reconcile", "--every", "30"], "reconcile"),
        (["/srv/lmr-board/manage.py"], "manage.py"),
        (["/srv/lib/python3.11/site-packages/gunicorn/__main__.py", "leaderboard.wsgi"], "web"),
        (["/srv/bin/gunicorn", "leaderboard.wsgi"], "web"),
        (["/usr/bin/pytest"], "pytest"),
        ([], ""),
    ],
)
def test_processes_have_names_in_the_log(arguments: list[str], name: str) -> None:
    assert process_name(arguments) == name


@pytest.mark.parametrize("form", ["console", "json"])
def test_opening_an_invitation_logs_no_secret(client: Client, caplog: pytest.LogCaptureFixture, form: str) -> None:
    _, secret = invite(actor=UserFactory(is_staff=True), annotator=True, adjudicator=False)
    with caplog.at_level(logging.INFO):
        assert client.get(f"/reviews/join/{secret}/").status_code == 200
        assert client.get(f"/accounts/login/?next=/reviews/join/{secret}/").status_code == 200
        assert client.get(f"/reviews/join/{secret}x/").status_code == 404
    lines = [formatted(record, form) for record in caplog.records]
    assert any("/reviews/join/" in line for line in lines)
    assert [line for line in lines if secret in line] == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("GET /reviews/join/aB-_9/", "GET /reviews/join/[secret]/"),
        ("GET /accounts/password/reset/key/1-d9w-7f/", "GET /accounts/password/reset/key/[secret]/"),
        ("GET /accounts/confirm-email/MQ:1vN:a_-9/", "GET /accounts/confirm-email/[secret]/"),
        ("GET /accounts/login/?next=%2Freviews%2Fjoin%2FaB-_9%2F", "?next=%2Freviews%2Fjoin%2F[secret]%2F"),
        ("GET /team-invitations/aB-_9/", "GET /team-invitations/[secret]/"),
        ("GET /notices/off/1:aB-_9/", "GET /notices/off/[secret]/"),
        ("GET /notices/off/.1%3AaB-_9/", "GET /notices/off/[secret]/"),
        ("GET /accounts/login/?next=%2Fteam-invitations%2FaB-_9%2F", "?next=%2Fteam-invitations%2F[secret]%2F"),
        ("GET /reviews/label/12/", "GET /reviews/label/12/"),
    ],
)
def test_secrets_in_addresses_are_not_logged(text: str, written: str) -> None:
    record = logging.LogRecord("django.request", logging.WARNING, __file__, 1, "Not Found: %s", (text,), None)
    assert written in json.loads(formatted(record, "json"))["event"]


@pytest.mark.parametrize(("level", "times"), [("ERROR", 0), ("WARNING", 1), ("DEBUG", 1)])
def test_djangos_lines_obey_the_level(level: str, times: int, tmp_path: Path) -> None:
    line = "import logging; logging.getLogger('django.request').warning('a page was absent')"
    variables = {"LOG_LEVEL": level, "DEBUG": "true", "DATA_DIR": str(tmp_path)}
    assert manage("shell", "--no-imports", "-c", line, **variables).stderr.count("a page was absent") == times


def test_lines_of_the_development_server_are_logged() -> None:
    record = logging.LogRecord("django.server", logging.INFO, __file__, 1, '"%s" %s', ("GET / HTTP/1.1", 200), None)
    with socket.socket() as record.request:
        assert json.loads(formatted(record, "json"))["event"] == '"GET / HTTP/1.1" 200'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\x1b[31mred", "\u2039U+001B\u203a[31mred"),
        ("abc\u202efed", "abc\u2039U+202E\u203afed"),
        ("pass\u200bword", "pass\u2039U+200B\u203aword"),
        ("a\u2028b", "a\u2039U+2028\u203ab"),
        ("a\r\n2026-01-01 [error] forged", "a\\r\\n2026-01-01 [error] forged"),
    ],
    ids=["terminal", "reorders", "zero width", "line separator", "line of its own"],
)
def test_control_characters_in_foreign_text_are_escaped(text: str, written: str) -> None:
    caught = (ValueError, ValueError(text), None)
    record = logging.LogRecord("django.request", logging.ERROR, __file__, 1, "Not found: %s", (text,), caught)
    found = json.loads(formatted(record, "json"))
    assert found["event"] == f"Not found: {written}"
    first, _, rest = formatted(record, "console").partition("\n")
    assert f"Not found: {written}" in first
    shown = written.replace("\\r\\n", "\\r\n")  # a traceback has lines
    assert f"ValueError: {shown}" in found["exception"]
    assert f"ValueError: {shown}" in rest


def test_nested_values_are_escaped_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        structlog.get_logger("site").info("said", who={"names": ["a\u202eb"]}, number=3)
    found = json.loads(formatted(caplog.records[-1], "json"))
    assert (found["who"], found["number"]) == ({"names": ["a\u2039U+202E\u203ab"]}, 3)
