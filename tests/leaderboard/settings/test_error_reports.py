"""Errors of pages and jobs at a server that receives them as Sentry does: they arrive, and nothing else does."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import brotli
import pytest
from django.conf import settings

from evaluator.queue.pushing import SITE, push_once
from tests.evaluator.processes import PATIENCE_SECONDS, PROJECT_ROOT, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "seven-secret-words"


class Receiver(ThreadingHTTPServer):
    """Collects the bodies that are sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[str] = []

    @property
    def dsn(self) -> str:
        return f"http://public@127.0.0.1:{self.server_port}/1"

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events in the order of their arrival."""
        found = []
        for body in self.bodies:
            _, *items = [json.loads(line) for line in body.splitlines() if line]
            found += [item for kind, item in zip(items[::2], items[1::2], strict=True) if kind["type"] == "event"]
        return found


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # The library uses Brotli where a development tool has installed it.
        unpack = {"gzip": gzip.decompress, "br": brotli.decompress}.get(self.headers["Content-Encoding"], bytes)
        body = unpack(body)
        assert isinstance(self.server, Receiver)
        self.server.bodies.append(body.decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def program(*arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT_ROOT,
        env=environment(LOG_LEVEL="INFO", LOG_FORMAT="json", HOST_NAME="far", **variables),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    return done.stderr


PAGE = f"""
import django; django.setup()
from django.conf import settings
settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
from django.test import Client
from leaderboard.web.views import status
def broken():
    {SECRET.replace("-", "_")} = "{SECRET}"
    raise ValueError("{SECRET}")
status.current_status = broken
client = Client(raise_request_exception=False, headers={{"Authorization": "Bearer {SECRET}", "User-Agent": "{SECRET}"}})
client.cookies["sessionid"] = "{SECRET}"
print(client.get("/status/?token={SECRET}", SERVER_NAME="localhost", REMOTE_ADDR="192.0.2.77")["X-Request-ID"])
"""


@pytest.mark.django_db(transaction=True)
def test_an_error_of_a_page_arrives_once_without_anything_of_the_request(receiver: Receiver) -> None:
    log = program("-c", PAGE, SENTRY_DSN=receiver.dsn)
    (event,) = receiver.events
    (error,) = event["exception"]["values"]
    assert (error["type"], event["level"], event["server_name"]) == ("ValueError", "error", "far")
    assert event["release"].startswith("lmr-board@")
    frames = [frame["function"] for frame in error["stacktrace"]["frames"]]
    assert frames[-2:] == ["status", "broken"]
    failed = next(json.loads(line) for line in log.splitlines() if "request_failed" in line)
    assert (event["tags"]["request_id"], SECRET in failed["exception"]) == (failed["request_id"], True)
    assert not {"request", "user", "extra", "breadcrumbs", "contexts", "modules"} & event.keys()
    sent = "".join(receiver.bodies)
    assert [text for text in (SECRET, "sessionid", "192.0.2.77", "/status/", "vars") if text in sent] == []


@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
def test_an_error_of_a_job_arrives_before_its_process_ends(receiver: Receiver, redis_url: str) -> None:
    push_once(SITE, "leaderboard.upkeep.jobs.rank_board", SECRET, job_id="broken")
    program("manage.py", "worker", "--models", "--burst", "--name", "one", SENTRY_DSN=receiver.dsn)
    (event,) = receiver.events
    assert event["exception"]["values"][-1]["type"] == "ValueError"
    assert SECRET not in "".join(receiver.bodies)


def test_without_a_dsn_the_library_is_not_loaded() -> None:
    assert settings.ENVIRONMENT.sentry_dsn == ""
    program("-c", "import django, sys; django.setup(); assert 'sentry_sdk' not in sys.modules")
