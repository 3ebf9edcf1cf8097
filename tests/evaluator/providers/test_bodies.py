"""The exact body of a request in each interface, and that the real SDK sends just that."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.providers.interface import Message, ModelRequest, Tool, ToolUse

if TYPE_CHECKING:
    from tests.evaluator.providers.conftest import Connect
    from tests.provider_server import ProviderServer

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reasons": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 4}},
    "required": ["reasons"],
    "additionalProperties": False,
}
TOOLS = (Tool("read", "Read a file.", PARAMETERS),)
TURNS = (
    Message("user", "Go on."),
    Message("assistant", "I read.", (ToolUse("c1", "read", {"path": "a"}, raw='{"path":"a"}'), ToolUse("c2", "look"))),
    Message("tool", "one", tool_use_id="c1"),
    Message("tool", "two", tool_use_id="c2"),
    Message("user", "And now?"),
)
FULL = ModelRequest("Be brief.", TURNS, TOOLS)
STRICT = ModelRequest("", (Message("user", "Judge."),), schema_name="verdict", schema=SCHEMA)


def test_chat_completions(client_of: Connect) -> None:
    client = client_of("chat", "m", temperature=0.0, top_p=0.9, effort="low", max_output_tokens=500)
    assert client.body(FULL) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Go on."},
            {
                "role": "assistant",
                "content": "I read.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "user", "content": "And now?"},
        ],
        "max_tokens": 500,
        "temperature": 0.0,
        "top_p": 0.9,
        "reasoning_effort": "low",
        "tools": [
            {
                "type": "function",
                "function": {"name": "read", "description": "Read a file.", "parameters": PARAMETERS, "strict": True},
            }
        ],
    }
    assert client_of("chat", "m").body(STRICT) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Judge."}],
        "max_tokens": 8192,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
        },
    }


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://API.openai.com/v1", "max_completion_tokens"),
        ("https://api.openai.com.evil.example/v1", "max_tokens"),
        ("https://evil.example/api.openai.com", "max_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://mine.cognitiveservices.azure.com/openai/v1", "max_completion_tokens"),
        ("https://mine.services.ai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com.evil.example/v1", "max_tokens"),
        ("https://api.mistral.ai/v1", "max_tokens"),
    ],
)
def test_the_address_decides_the_limits_name_unless_the_endpoint_does(
    base_url: str, name: str, client_of: Connect
) -> None:
    for chosen in ("", "max_tokens", "max_completion_tokens"):
        body = client_of("chat", "m", base_url=base_url, output_limit=chosen).body(STRICT)
        assert [limit for limit in body if limit.startswith("max_")] == [chosen or name]


def test_strict_is_left_out_where_the_endpoint_omits_it(api: str, client_of: Connect) -> None:
    for request in (FULL, STRICT):
        strict, plain = (client_of(api, "m", omit_strict=omit).body(request) for omit in (False, True))
        assert json.loads(json.dumps(strict).replace('"strict": true, ', "").replace(', "strict": true', "")) == plain
        assert "strict" not in json.dumps(plain)


def test_responses(client_of: Connect) -> None:
    client = client_of("responses", "m", temperature=1.0, top_p=0.5, effort="high", max_output_tokens=500)
    assert client.body(FULL) == {
        "model": "m",
        "input": [
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": "I read."},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'},
            {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": "two"},
            {"role": "user", "content": "And now?"},
        ],
        "max_output_tokens": 500,
        "store": False,
        "temperature": 1.0,
        "top_p": 0.5,
        "instructions": "Be brief.",
        "reasoning": {"effort": "high"},
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Read a file.",
                "parameters": PARAMETERS,
                "strict": True,
            }
        ],
    }
    assert client_of("responses", "m").body(STRICT) == {
        "model": "m",
        "input": [{"role": "user", "content": "Judge."}],
        "max_output_tokens": 8192,
        "store": False,
        "text": {"format": {"type": "json_schema", "name": "verdict", "strict": True, "schema": SCHEMA}},
    }


def test_responses_get_their_own_items_back_but_no_reference_to_unstored_ones(client_of: Connect) -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    gone = {"type": "reasoning", "id": "rs_2", "summary": []}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}"}
    turn = Message("assistant", "said", (ToolUse("c1", "read"),), opaque=(sealed, gone, call))
    assert client_of("responses", "m").body(ModelRequest("", (turn,)))["input"] == [sealed, call]


def test_messages(client_of: Connect) -> None:
    client = client_of("messages", "m", temperature=1.0, top_p=0.5, effort="high", max_output_tokens=500)
    assert client.body(FULL) == {
        "model": "m",
        "max_tokens": 500,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I read."},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                    {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
                    {"type": "text", "text": "And now?"},
                ],
            },
        ],
        "output_config": {"effort": "high"},
        "tools": [{"name": "read", "description": "Read a file.", "input_schema": PARAMETERS, "strict": True}],
    }
    reasons = {"type": "array", "items": {"type": "string"}, "description": "(minItems: 2, maxItems: 4)"}
    assert client_of("messages", "m").body(STRICT) == {
        "model": "m",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Judge."}]}],
        "output_config": {"format": {"type": "json_schema", "schema": {**SCHEMA, "properties": {"reasons": reasons}}}},
    }


def test_messages_get_their_own_blocks_back_but_no_empty_text(client_of: Connect) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turns = (
        Message("user", ""),
        Message("assistant", "", opaque=(thought, {"type": "text", "text": ""})),
        Message("user", "x"),
        Message("assistant", "", opaque=()),
    )
    assert client_of("messages", "m").body(ModelRequest("", turns))["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "(nothing)"}]},
        {"role": "assistant", "content": [thought]},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "(nothing)"}]},
    ]


@pytest.mark.parametrize("request_", [STRICT, ModelRequest("Be brief.", (Message("user", "Hello"),), TOOLS)])
def test_the_real_sdk_sends_the_body_as_it_is(
    request_: ModelRequest, api: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    client = client_of(api, "agent-solves" if request_.tools else "judge-honest", effort="low")
    body = client.body(request_)
    client.send(body)
    assert provider_server.log[0].body == body


def test_bodies_are_made_without_the_sdks() -> None:
    """Web processes estimate costs from them, and cannot afford the imports."""
    code = (
        "import sys\n"
        "from evaluator.providers.clients import connect\n"
        "from evaluator.providers.guard import Policy\n"
        "from evaluator.providers.interface import *\n"
        "for api in ('chat', 'responses', 'messages'):\n"
        "    client = connect(EndpointSettings('x', api, 'https://models.example', 'm'), key='k', policy=Policy())\n"
        "    client.body(ModelRequest('', (Message('user', 'x'),)))\n"
        "    client.close()\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'anthropic', 'openai', 'httpx2', 'httpcore2'}))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("[]\n", "")
