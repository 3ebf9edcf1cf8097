"""The local provider: it starts from the command line, refuses unknown requests, and lists those that it received."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.conftest import PROJECT_ROOT
from tests.provider_server import ProviderServer


def post(server: ProviderServer, path: str, body: Any) -> tuple[int, Any]:
    """Status and body of a request without any SDK."""
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(f"{server.url}{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/chat/completions", {"messages": [], "best_of": 2}, 400, "Unknown parameter: 'best_of'."),
        ("/responses", {"messages": []}, 400, "Unknown parameter: 'messages'."),
        ("/messages", {"temperature": 0.5}, 400, "temperature: Extra inputs are not permitted"),
        ("/messages", {"messages": []}, 400, "max_tokens: Field required"),
        ("/completions", {}, 404, "Invalid URL (POST /v1/completions)"),
    ],
)
def test_requests_that_no_provider_accepts_are_refused(
    provider_server: ProviderServer, path: str, body: dict[str, Any], status: int, message: str
) -> None:
    found, answer = post(provider_server, path, {"model": "right", **body})
    assert (found, answer["error"]["message"]) == (status, message)


def test_the_log_can_be_read_and_emptied_from_outside(provider_server: ProviderServer) -> None:
    post(provider_server, "/chat/completions", {"model": "right", "messages": [{"role": "user", "content": "x"}]})
    root = provider_server.url.removesuffix("/v1")
    with urllib.request.urlopen(f"{root}/_log", timeout=10) as response:
        (shown,) = json.load(response)
    assert (shown["number"], shown["model"], shown["answered"]) == (1, "right", "200")
    urllib.request.urlopen(urllib.request.Request(f"{root}/_reset", b""), timeout=10).close()
    assert provider_server.log == []


def test_the_server_starts_from_the_command_line() -> None:
    command = [sys.executable, "-m", "tests.provider_server", "--port", "0"]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert line.startswith("Base address http://127.0.0.1:")
