"""``gunicorn.conf.py``, in real gunicorn processes: which proxies it trusts, and where it refuses to listen."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.conftest import IN_FULL, PROJECT_ROOT
from tests.evaluator.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., subprocess.Popen[str]]

REFUSAL = (
    "LMR-Board would be reachable from other machines at {} without a proxy in front, where a few slow connections "
    "stop it.\n"
    "Set TRUST_PROXY=true if a proxy is in front, ALLOW_NO_PROXY=true to accept that risk, or BIND=127.0.0.1 to be "
    "reachable from this machine alone (docs/instance.md, “On a server”)."
)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start gunicorn in the project's root, as an operator does; end all processes after the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str, **variables: str) -> subprocess.Popen[str]:
        values = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, "DATA_DIR": str(tmp_path / "var")}
        values |= {"WEB_WORKERS": "1", "SECURITY_CONTACT": "mailto:s@board.example", "ALLOWED_HOSTS": "*"}
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", *arguments, "leaderboard.wsgi"],
            cwd=PROJECT_ROOT,
            env=values | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.terminate()
        process.wait(timeout=30)
        assert process.stderr is not None
        process.stderr.close()


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def free_port(host: str = "127.0.0.1") -> str:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.create_server((host, 0), family=family)) as server:
        return str(server.getsockname()[1])


def connection(where: str) -> http.client.HTTPConnection:
    if where.startswith("unix:"):
        return UnixConnection(where.removeprefix("unix:"))
    host, _, port = where.rpartition(":")
    return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=30)


def address_in_a_page(where: str, headers: dict[str, str]) -> str:
    """Return the site's own address as a page has it."""
    with closing(connection(where)) as client:
        client.request("GET", "/.well-known/security.txt", headers={"Host": "board.example", **headers})
        answer = client.getresponse()
        text = answer.read().decode()
    assert answer.status == 200, text
    found = re.search(r"^Policy: (.*)docs/security/$", text, re.MULTILINE)
    assert found is not None, text
    return found[1]


def wait_for_gunicorn(process: subprocess.Popen[str], where: str) -> None:
    def answers() -> bool:
        assert process.poll() is None, process.stderr and process.stderr.read()
        try:
            with closing(connection(where)) as client:
                client.request("GET", "/healthz")
                return client.getresponse().status == 200
        except OSError:
            return False

    wait_until(answers, "gunicorn", seconds=60)


@pytest.mark.parametrize(
    ("trusted", "believed"), [("false", "http"), ("true", "https")], ids=["no proxy is trusted", "a proxy is trusted"]
)
def test_only_a_trusted_proxy_sets_the_scheme(start: Start, tmp_path: Path, trusted: str, believed: str) -> None:
    places = [f"127.0.0.1:{free_port()}", f"unix:{tmp_path / 'web.sock'}"]
    # FORWARDED_ALLOW_IPS is gunicorn's own variable.
    process = start(*(f"--bind={place}" for place in places), TRUST_PROXY=trusted, FORWARDED_ALLOW_IPS="*")
    sent = {
        "none": ({}, "http"),
        "https": ({"X-Forwarded-Proto": "https"}, believed),
        "http": ({"X-Forwarded-Proto": "http"}, "http"),
        # TRUST_PROXY promises one header: the proxy does not remove what a client sends under other names.
        "ssl": ({"X-Forwarded-Ssl": "on", "X-Forwarded-Protocol": "ssl"}, "http"),
        "both": ({"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "off"}, believed),
        "path": ({"SCRIPT_NAME": "/elsewhere", "PATH_INFO": "/elsewhere"}, "http"),
    }
    for place in places:
        wait_for_gunicorn(process, place)
        found = {name: address_in_a_page(place, headers) for name, (headers, _) in sent.items()}
        assert found == {name: f"{scheme}://board.example/" for name, (_, scheme) in sent.items()}


@pytest.mark.parametrize(
    ("arguments", "variables", "host"),
    [
        ([], {"BIND": "0.0.0.0"}, "0.0.0.0"),
        ([], {"BIND": "::"}, "::"),
        pytest.param(["--bind=0.0.0.0:{port}"], {}, "0.0.0.0", marks=pytest.mark.in_full),
        pytest.param(["--bind=[::]:{port}"], {}, "::", marks=pytest.mark.in_full),
        pytest.param(["--bind=:{port}"], {}, "0.0.0.0", marks=pytest.mark.in_full),
        (["--bind=127.0.0.1:{port}", "--bind=0.0.0.0:{other}"], {}, "0.0.0.0"),
        pytest.param(
            ["--bind=unix:{folder}/web.sock", "--bind=0.0.0.0:{port}"], {}, "0.0.0.0", marks=pytest.mark.in_full
        ),
        pytest.param(["--bind=0.0.0.0:{port}", "--reuse-port"], {}, "0.0.0.0", marks=pytest.mark.in_full),
    ],
    ids=["IPv4", "IPv6", "an option", "an option, IPv6", "a port alone", "one of two", "beside a socket", "reused"],
)
def test_listening_beyond_this_machine_must_be_accepted(
    start: Start, tmp_path: Path, arguments: list[str], variables: dict[str, str], host: str
) -> None:
    port = free_port()
    options = [each.format(port=port, other=free_port(), folder=tmp_path) for each in arguments]
    refused = start(*options, PORT=port, **variables)
    assert refused.stderr is not None
    text = refused.stderr.read()
    assert (refused.wait(timeout=30), "Traceback" in text) == (1, False)
    assert REFUSAL.format(host) in text
    local = f"[::1]:{port}" if host == "::" else f"127.0.0.1:{port}"
    # The same check reads both settings for every source of the address: one source suffices in short runs.
    for accepted in ("TRUST_PROXY", "ALLOW_NO_PROXY") if IN_FULL or variables == {"BIND": "0.0.0.0"} else ():
        process = start(*options, PORT=port, **variables, **{accepted: "true"})
        wait_for_gunicorn(process, local)
        process.terminate()
        process.wait(timeout=30)


def test_keys_must_be_set_where_hosts_share_servers(start: Start) -> None:
    servers = {"DATABASE_URL": "postgres://u:p@127.0.0.1:1/d", "REDIS_URL": "redis://127.0.0.1:1/0"}
    refused = start(PORT=free_port(), **servers)
    assert refused.stderr is not None
    text = refused.stderr.read()
    assert (refused.wait(timeout=30), "Traceback" in text) == (1, False)
    assert "SECRET_KEY and ENDPOINT_KEYS are not set, so that each host would make its own." in text
    port = free_port()
    process = start(PORT=port, **servers, SECRET_KEY="s" * 50, ENDPOINT_KEYS="e" * 50)
    wait_for_gunicorn(process, f"127.0.0.1:{port}")


def test_loopback_addresses_need_no_proxy(start: Start) -> None:
    places = [f"{host}:{free_port()}" for host in ("127.0.0.1", "127.8.9.10", "[::1]", "localhost")]
    process = start(*(f"--bind={place}" for place in places))
    for place in places:
        wait_for_gunicorn(process, place)
