"""The client where the network or the site is not at its best; the site is a server that answers as it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.views.client import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUBMISSION = {
    "id": 7,
    "suite": "small",
    "state": "scored",
    "open": False,
    "counting": False,
    "system": {"name": "Otter"},
    "progress": {"done": 2, "total": 2},
    "tests": {"passed": 1.0, "tasks": 2, "percent": 50.0, "low": None, "high": None},
}
SHOWN = "submission 7 (Otter on small): scored, 1 of 2 tasks pass: 50.0 %\n"


@dataclass
class Scripted:
    """A server's answers in their order (status, headers, body), and the requests that it got."""

    address: str
    answers: list[tuple[int, dict[str, str], bytes]]
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def will(self, status: int, body: Any = b"", **headers: str) -> None:
        """Answer the next request so."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, data))


@pytest.fixture
def site() -> Iterator[Scripted]:
    """A listening one, without answers yet."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            scripted.requests.append((self.command, self.path, dict(self.headers)))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = scripted.answers.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scripted = Scripted(f"http://127.0.0.1:{server.server_address[1]}", [])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield scripted
    server.shutdown()
    thread.join()
    server.server_close()


def run(site: Scripted, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """One command against the site; never a traceback."""
    result = subprocess.run(
        [sys.executable, "-I", str(FILE), "--site", site.address, *arguments],
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "LMR_BOARD_TOKEN": "lmr_secret"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in result.stderr, result.stderr
    return result


@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_the_site_asks(site: Scripted, tmp_path: Path, status: int) -> None:
    site.will(status, Retry_After="1")
    site.will(200, SUBMISSION)
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stdout) == (0, SHOWN)
    assert result.stderr == "the site asks to wait 1 s\n"
    method, path, headers = site.requests[1]
    assert (method, path, headers["Authorization"]) == ("GET", "/api/v1/submissions/7", "Bearer lmr_secret")


@pytest.mark.parametrize(("headers", "code"), [({}, 5), ({"Retry_After": "7200"}, 5)])
def test_it_does_not_wait_for_hours(site: Scripted, tmp_path: Path, headers: dict[str, str], code: int) -> None:
    problem = {"type": "/docs/api/#quota", "title": "Quota used", "status": 429, "detail": "Wait.", "errors": []}
    site.will(429, problem, **headers)
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stderr) == (code, "lmr_board: Quota used: Wait.\n")


def test_it_asks_again_when_a_connection_breaks_but_never_acts_twice(site: Scripted, tmp_path: Path) -> None:
    site.will(200, b"", Content_Length="x")
    site.will(200, SUBMISSION)
    result = run(site, "status", "7", home=tmp_path)
    assert result.returncode in {0, 6}
    site.requests.clear()
    site.answers.clear()
    checked = {"id": 1, "checked": True, "acceptable": True, "answers": [], "problems": []}
    for answer in ({}, checked, checked):
        site.will(200, answer)
    file = tmp_path / "a.zip"
    file.write_bytes(b"PK")
    # There is no answer left for the act: the server breaks off.
    result = run(site, "submit", "a.zip", home=tmp_path)
    assert (result.returncode, [each[:2] for each in site.requests][-1]) == (6, ("POST", "/api/v1/uploads/1/submit"))
    assert [each[0] for each in site.requests] == ["GET", "POST", "GET", "POST"]


def test_its_token_follows_no_redirect(site: Scripted, tmp_path: Path) -> None:
    site.will(301, Location="http://elsewhere.example/api/v1/submissions/7")
    result = run(site, "status", "7", home=tmp_path)
    assert result.returncode == 6
    assert "it has moved to http://elsewhere.example/api/v1/submissions/7. Is its address right?" in result.stderr
    assert len(site.requests) == 1


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b""])
def test_what_is_no_board_is_told(site: Scripted, tmp_path: Path, body: bytes) -> None:
    site.will(200, body)
    result = run(site, "status", "7", home=tmp_path)
    assert result.returncode == 6
    assert "Is this the address of an LMR-Board?" in result.stderr


def test_errors_that_are_no_problems_are_told(site: Scripted, tmp_path: Path) -> None:
    site.will(502, b"<h1>Bad gateway</h1>")
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stderr) == (
        *(6, "lmr_board: the site answers 502 Bad Gateway. Is its address right?\n"),
    )


def test_a_download_that_breaks_off_leaves_nothing(site: Scripted, tmp_path: Path) -> None:
    site.will(200, b"PK", Content_Length="100")
    result = run(site, "kit", "small", home=tmp_path)
    assert result.returncode == 6
    assert list(tmp_path.iterdir()) == []


def test_a_site_cannot_choose_where_its_kit_is_written(site: Scripted, tmp_path: Path) -> None:
    site.will(200, b"PK", Content_Disposition='attachment; filename="../../x.zip"')
    assert run(site, "kit", "small", home=tmp_path).stdout == ".._.._x.zip\n"
    assert [each.name for each in tmp_path.iterdir()] == [".._.._x.zip"]


def test_tables_run_nothing_in_spreadsheets(site: Scripted, tmp_path: Path) -> None:
    row = {"task": "a/1", "trial": 1, "outcome": "raised", "judge_label": "", "final_label": "", "final_source": ""}
    site.will(200, SUBMISSION)
    site.will(200, {"items": [{**row, "seconds": 1.5, "reason": "=1+1"}], "next": None})
    result = run(site, "results", "7", "--csv", home=tmp_path)
    assert result.stdout.splitlines()[1] == "a/1,1,raised,,,,1.5,'=1+1"


def test_a_terminal_gets_a_progress_bar(site: Scripted, tmp_path: Path) -> None:
    under_way = {**SUBMISSION, "state": "running", "open": True, "progress": {"done": 1, "total": 2}, "tests": None}
    site.will(200, under_way)
    site.will(200, SUBMISSION)
    terminal, end = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-I", str(FILE), "--site", site.address, "status", "7", "--watch"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=end,
        text=True,
    ) as process:
        printed, _ = process.communicate(timeout=30)
    os.close(end)
    drawn = os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert (process.returncode, printed) == (0, SHOWN)
    bar = f"submission 7 [{'#' * 15}{'.' * 15}]  50% running, 1 of 2 answers decided"
    assert drawn == f"\r{bar}\r\n"
