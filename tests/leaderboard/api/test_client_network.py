"""The client when the network or the site fails; the site is a server with scripted responses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.sharing.client import lmr_board
from leaderboard.web.views.client import FILE

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
    """A server's responses in order (status, headers, body), and the requests that it received."""

    address: str
    responses: list[tuple[int, dict[str, str], bytes]]
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def respond(self, status: int, body: Any = b"", **headers: str) -> None:
        """Queue a response."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.responses.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, data))


@pytest.fixture
def site() -> Iterator[Scripted]:
    """A listening server without queued responses."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            scripted.requests.append((self.command, self.path, dict(self.headers)))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = scripted.responses.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = do_CONNECT = answer  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scripted = Scripted(f"http://127.0.0.1:{server.server_address[1]}", [])
    # Otherwise each test ends with a wait of half a second.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield scripted
    server.shutdown()
    thread.join()
    server.server_close()


def run(site: Scripted, *arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command against the site; fail if it prints a traceback."""
    result = subprocess.run(
        [sys.executable, "-I", str(FILE), "--site", site.address, *arguments],
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "LMR_BOARD_TOKEN": "lmr_secret", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in result.stderr, result.stderr
    return result


@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_the_site_requests(site: Scripted, tmp_path: Path, status: int) -> None:
    site.respond(status, Retry_After="1")
    site.respond(200, SUBMISSION)
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stdout) == (0, SHOWN)
    assert result.stderr == "the site requests a wait of 1 s\n"
    method, path, headers = site.requests[1]
    assert (method, path, headers["Authorization"]) == ("GET", "/api/v1/submissions/7", "Bearer lmr_secret")


@pytest.mark.parametrize(("headers", "code"), [({}, 5), ({"Retry_After": "7200"}, 5)])
def test_it_does_not_wait_for_hours(site: Scripted, tmp_path: Path, headers: dict[str, str], code: int) -> None:
    problem = {"type": "/docs/api/#quota", "title": "Quota used", "status": 429, "detail": "Wait.", "errors": []}
    site.respond(429, problem, **headers)
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stderr) == (code, "lmr_board: Quota used: Wait.\n")


def test_reads_are_retried_when_a_connection_breaks_but_actions_are_not(site: Scripted, tmp_path: Path) -> None:
    site.respond(200, b"", Content_Length="x")
    site.respond(200, SUBMISSION)
    result = run(site, "status", "7", home=tmp_path)
    assert result.returncode in {0, 6}
    site.requests.clear()
    site.responses.clear()
    checked = {"id": 1, "checked": True, "acceptable": True, "answers": [], "problems": []}
    for answer in ({}, checked, checked):
        site.respond(200, answer)
    file = tmp_path / "a.zip"
    file.write_bytes(b"PK")
    # No response is left for the submission: the server closes the connection.
    result = run(site, "submit", "a.zip", home=tmp_path)
    assert (result.returncode, [each[:2] for each in site.requests][-1]) == (6, ("POST", "/api/v1/uploads/1/submit"))
    assert [each[0] for each in site.requests] == ["GET", "POST", "GET", "POST"]


def test_an_unreachable_site_is_tried_five_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setenv("LMR_BOARD_TOKEN", "lmr_secret")
    assert lmr_board.main(["--site", "http://127.0.0.1:1", "submit", __file__]) == 6
    assert capsys.readouterr().err == (
        "lmr_board: http://127.0.0.1:1 cannot be reached: [Errno 111] Connection refused\n"
    )
    assert pauses == [1, 2, 4, 8]


def test_its_token_follows_no_redirect(site: Scripted, tmp_path: Path) -> None:
    site.respond(301, Location="http://elsewhere.example/api/v1/submissions/7")
    result = run(site, "status", "7", home=tmp_path)
    assert result.returncode == 6
    assert "it has moved to http://elsewhere.example/api/v1/submissions/7. Is its address right?" in result.stderr
    assert len(site.requests) == 1


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b""])
def test_a_response_of_another_site_is_reported(site: Scripted, tmp_path: Path, body: bytes) -> None:
    site.respond(200, body)
    result = run(site, "status", "7", home=tmp_path)
    assert result.returncode == 6
    assert "Is this the address of an LMR-Board?" in result.stderr


def test_error_responses_without_a_problem_are_reported(site: Scripted, tmp_path: Path) -> None:
    site.respond(502, b"<h1>Bad gateway</h1>")
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stderr) == (
        *(6, "lmr_board: the site responds 502 Bad Gateway. Is its address right?\n"),
    )


def test_an_interrupted_download_leaves_no_file(site: Scripted, tmp_path: Path) -> None:
    site.respond(200, b"PK", Content_Length="100")
    result = run(site, "kit", "small", home=tmp_path)
    assert result.returncode == 6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suggested", "written"),
    [
        ("../../x.zip", "x.zip"),
        (".bashrc", "bashrc"),
        ("..\\\\.ssh\\\\-config", "config"),
        ("a b\u00e9.zip", "a_b_.zip"),
        ("..", "small-kit.zip"),
        ("", "small-kit.zip"),
    ],
)
def test_a_site_cannot_choose_where_its_kit_is_written(
    site: Scripted, tmp_path: Path, suggested: str, written: str
) -> None:
    site.respond(200, b"PK", Content_Disposition=f'attachment; filename="{suggested}"')
    assert run(site, "kit", "small", home=tmp_path).stdout == f"{written}\n"
    assert [each.name for each in tmp_path.iterdir()] == [written]


@pytest.mark.parametrize("options", [(), ("--output", "mine.zip")])
def test_a_kit_overwrites_nothing(site: Scripted, tmp_path: Path, options: tuple[str, ...]) -> None:
    name = options[-1] if options else "small-v1-kit.zip"
    file = tmp_path / name
    file.write_bytes(b"mine")
    site.respond(200, b"PK", Content_Disposition='attachment; filename="small-v1-kit.zip"')
    result = run(site, "kit", "small", *options, home=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (
        2,
        "",
        f"lmr_board: {name} exists already and is not overwritten; move it, or name another file with --output\n",
    )
    assert (file.read_bytes(), [each.name for each in tmp_path.iterdir()]) == (b"mine", [name])


@pytest.mark.parametrize("proxied", ["http://127.0.0.1:9", "dead.example:3128"])
def test_plain_http_goes_through_no_proxy(site: Scripted, tmp_path: Path, proxied: str) -> None:
    site.respond(200, SUBMISSION)
    result = run(site, "status", "7", home=tmp_path, http_proxy=proxied, all_proxy=proxied)
    assert (result.returncode, result.stdout) == (0, SHOWN)


def test_https_goes_through_the_proxy_of_the_environment(site: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", site.address)
    site.respond(403)
    with pytest.raises(lmr_board.Failure, match="cannot be reached: Tunnel connection failed: 403"):
        lmr_board.Site("https://board.example", "lmr_secret").post("/uploads/1/submit", {})
    ((method, path, headers),) = site.requests
    assert (method, path, "Authorization" in headers) == ("CONNECT", "board.example:443", False)


def test_control_characters_of_a_site_are_escaped(site: Scripted, tmp_path: Path) -> None:
    red = "\x1b[31mred\x07\u202egnol\x9b2J\ud800 caf\u00e9"
    shown = "\\x1b[31mred\\x07\\u202egnol\\x9b2J\\ud800 caf\u00e9"
    problem = {"type": "/docs/api/#gone", "title": red, "status": 404, "detail": red}
    errors = [{"field": red, "message": red}, {"field": "", "message": red}]
    site.respond(404, {**problem, "errors": errors})
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stderr) == (
        4,
        f"lmr_board: {shown}: {shown}\n  {shown}: {shown}\n  all: {shown}\n",
    )
    row = dict.fromkeys(("trial", "outcome", "judge_label", "final_label", "final_source", "seconds", "reason"), red)
    for option in ((), ("--csv",)):
        site.respond(200, {**SUBMISSION, "system": {"name": red}, "trials": 2})
        site.respond(200, {"items": [{**row, "task": red, "state": red}], "next": None})
        printed = run(site, "results", "7", *option, home=tmp_path).stdout
        assert shown in printed
        assert [c for c in printed if not (c.isprintable() or c == "\n")] == []


def test_a_list_that_does_not_end_is_an_error(site: Scripted, tmp_path: Path) -> None:
    row = {"task": "a/1", "trial": 1, "outcome": "raised", "judge_label": "", "final_label": "", "state": "raised"}
    for endless, last_page in ([[row]] * 200, 200), ([[row], []], 2):
        site.respond(200, SUBMISSION)
        for items in endless:
            site.respond(200, {"items": items, "next": f"{site.address}/api/v1/submissions/7/answers?page=1"})
        result = run(site, "results", "7", home=tmp_path)
        assert (result.returncode, result.stdout, result.stderr) == (
            6,
            "",
            f"lmr_board: the list /submissions/7/answers does not end: page {last_page} names a next one\n",
        )
        assert site.responses == []


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000 + b"]" * 200_000, b"[]", b"7", b"null", b'{"state": 1}', b'{"title": {}}', b'{"errors": 1}'],
    ids=["deep", "list", "number", "null", "short", "no detail", "errors"],
)
def test_malformed_responses_are_errors(site: Scripted, tmp_path: Path, status: int, body: bytes) -> None:
    site.respond(status, body)
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stdout) == (6 if status == 200 else 1, "")
    message = "Is this the address of an LMR-Board?" if status == 200 else "the site responds 400 Bad Request."
    assert message in result.stderr


def test_an_oversized_response_is_an_error(site: Scripted, tmp_path: Path) -> None:
    site.respond(200, b" " * (64 * 1024 * 1024 + 1))
    result = run(site, "status", "7", home=tmp_path)
    assert (result.returncode, result.stderr) == (6, "lmr_board: the site's response is larger than 64 MB\n")


def test_formulas_in_tables_are_escaped(site: Scripted, tmp_path: Path) -> None:
    row = {"task": "a/1", "trial": 1, "outcome": "raised", "judge_label": "", "final_label": "", "final_source": ""}
    site.respond(200, SUBMISSION)
    site.respond(200, {"items": [{**row, "seconds": 1.5, "reason": "=1+1"}], "next": None})
    result = run(site, "results", "7", "--csv", home=tmp_path)
    assert result.stdout.splitlines()[1] == "a/1,1,raised,,,,1.5,'=1+1"


def test_a_terminal_gets_a_progress_bar(site: Scripted, tmp_path: Path) -> None:
    under_way = {**SUBMISSION, "state": "running", "open": True, "progress": {"done": 1, "total": 2}, "tests": None}
    site.respond(200, under_way)
    site.respond(200, SUBMISSION)
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
