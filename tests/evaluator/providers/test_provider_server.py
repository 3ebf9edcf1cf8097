"""The local provider itself: what it refuses as the real ones do, and what its models know."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.providers.types import Message, ModelRequest, Tool
from tests.conftest import PROJECT_ROOT
from tests.provider_server import ProviderServer
from tests.provider_server.behaviours import MODELS
from tests.provider_server.knowledge import LMR_MINI, Knowledge

if TYPE_CHECKING:
    from tests.evaluator.providers.conftest import Connect

KNOWLEDGE = Knowledge.of(LMR_MINI)


def post(server: ProviderServer, path: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a request without any SDK."""
    request = urllib.request.Request(f"{server.url}{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("agent-solves", ["bash"] * 4),
        ("agent-two-at-once", ["bash+bash"] * 2),
        ("agent-talks", ["", *["bash"] * 4]),
        ("agent-bad-calls", ["browse", *["bash"] * 6]),
        ("agent-wanders", ["bash"] * 8),
        ("right", ["bash"] * 4),
    ],
)
def test_agents(model: str, names: list[str], client_of: Connect) -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    client = client_of("messages", model, effort="low")
    turns = [Message("user", "Implement `decode` in `tagger/decoding.py`.")]
    done, commands = [], []
    for _ in names:
        reply = client.send(client.body(ModelRequest("", tuple(turns), (Tool("bash", "x", schema),))))
        done.append("+".join(use.name for use in reply.tool_uses))
        commands += [use.arguments.get("command") for use in reply.tool_uses]
        turns += [reply.message, *(Message("tool", "done", tool_use_id=use.id) for use in reply.tool_uses)]
        turns += [] if reply.tool_uses else [Message("user", "Use the tools.")]
    assert done == names
    assert commands[-1] == ("ls" if model == "agent-wanders" else "submit")


def test_what_a_provider_refuses(provider_server: ProviderServer) -> None:
    user = {"role": "user", "content": "x"}
    chat = {"model": "right", "messages": [user]}
    messages = {"model": "right", "max_tokens": 5, "messages": [user]}
    loose = {"type": "object", "properties": {"a": {"type": "string"}}}
    version = {"anthropic-version": "2023-06-01", "x-api-key": "k"}
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("/chat/completions", {**chat, "best_of": 2}, "Unknown parameter: 'best_of'."),
        ("/chat/completions", {**chat, "stream": True}, "Streaming is not offered here."),
        ("/chat/completions", {**chat, "messages": []}, "Invalid 'messages': empty array."),
        (
            "/chat/completions",
            {**chat, "messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]},
            "preceding",
        ),
        ("/chat/completions", {**chat, "max_tokens": 1, "max_completion_tokens": 1}, "at the same time"),
        ("/responses", {"model": "right", "input": "x", "messages": []}, "Unknown parameter: 'messages'."),
        ("/responses", {"model": "right", "input": [{"type": "function_call_output", "call_id": "c"}]}, "No tool call"),
        ("/responses", {"model": "right", "input": [{"type": "reasoning", "id": "rs_1"}]}, "not persisted"),
        ("/messages", {"model": "right", "messages": [user]}, "max_tokens: Field required"),
        ("/messages", {**messages, "temperature": 0.5}, "temperature: Extra inputs are not permitted"),
        ("/messages", {**messages, "messages": [{"role": "assistant", "content": "x"}]}, "first message"),
        ("/messages", {**messages, "output_config": {"format": {"type": "json_schema", "schema": loose}}}, "required"),
    ]
    for path, body, said in refused:
        status, answer = post(provider_server, path, body, **version)
        assert (status in {400, 404}, said in answer["error"]["message"]) == (True, True), (path, answer)
    assert post(provider_server, "/messages", messages, **{"x-api-key": "k"})[0] == 400, "no version"
    assert post(provider_server, "/messages", messages, **{"anthropic-version": "1"})[0] == 401, "no key"
    assert post(provider_server, "/completions", chat)[0] == 404


def test_the_log_can_be_read_and_emptied_from_outside(provider_server: ProviderServer) -> None:
    post(provider_server, "/chat/completions", {"model": "right", "messages": [{"role": "user", "content": "x"}]})
    root = provider_server.url.removesuffix("/v1")
    with urllib.request.urlopen(f"{root}/_log", timeout=10) as response:
        (shown,) = json.load(response)
    assert (shown["number"], shown["model"], shown["answered"], shown["key"]) == (1, "right", "200", "none")
    assert shown["prompt"] == provider_server.log[0].prompt
    with urllib.request.urlopen(f"{provider_server.url}/models", timeout=10) as response:
        assert [model["id"] for model in json.load(response)["data"]] == sorted(MODELS)
    urllib.request.urlopen(urllib.request.Request(f"{root}/_reset", b""), timeout=10).close()
    assert provider_server.log == []


def test_the_server_starts_from_the_command_line() -> None:
    command = [sys.executable, "-m", "tests.provider_server", "--port", "0"]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert line.startswith("Base address http://127.0.0.1:")
    assert line.endswith("/v1, any key; requests are at /_log. Model ids:\n")
