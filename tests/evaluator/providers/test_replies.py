"""Reading a provider's body; nothing in it can break a reader or a database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.providers.bodies import parsed, tool_use
from evaluator.providers.interface import (
    FailureKind,
    Finish,
    Message,
    ModelRequest,
    ProviderError,
    TokenUsage,
    Tool,
    ToolUse,
)
from tests.provider_server import Answer, Call

if TYPE_CHECKING:
    from tests.evaluator.providers.conftest import Connect
    from tests.provider_server import ProviderServer

READ = Tool(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": False},
)
MESSAGE: dict[str, Any] = {"choices": [{"message": {"content": "Hello."}}]}
ITEMS: dict[str, Any] = {"output": []}
BLOCKS: dict[str, Any] = {"content": [{"type": "text", "text": "Hello."}]}
CALLS = (Call("read", '{"path": "a"}'), Call("look", "{}"))


def test_a_conversation_with_tools_goes_back_and_forth(
    api: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    provider_server.script("mine", Answer("I look.", CALLS, thinking="Where is it?"), Answer("Done."))
    client = client_of(api, "mine", effort="low")
    question = Message("user", "Begin.")
    first = client.send(client.body(ModelRequest("Be brief.", (question,), (READ,))))
    assert (first.text, first.finish) == ("I look.", Finish.TOOLS)
    stored = client.read(json.loads(json.dumps(first.raw)))
    assert (stored.text, stored.tool_uses, stored.finish) == (first.text, first.tool_uses, first.finish)
    assert (stored.usage, stored.model, stored.message) == (first.usage, "mine", first.message)
    assert [(use.name, dict(use.arguments), use.wrong) for use in first.tool_uses] == [
        ("read", {"path": "a"}, ""),
        ("look", {}, ""),
    ]
    results = tuple(Message("tool", "found", tool_use_id=use.id) for use in first.tool_uses)
    second = client.send(client.body(ModelRequest("Be brief.", (question, first.message, *results), (READ,))))
    assert (second.text, second.finish, second.tool_uses) == ("Done.", Finish.STOPPED, ())
    sent = json.dumps(provider_server.log[1].body)
    kept = {"chat": "I look.", "responses": "c2VhbGVk", "messages": "c2lnbmVk"}[api]
    assert kept in sent, "the provider's own parts are sent back"


def test_tokens_from_the_cache_are_part_of_those_read(api: str, client_of: Connect) -> None:
    client = client_of(api, "prose")
    body = client.body(ModelRequest("", (Message("user", "x" * 399),)))
    client.send(body)
    assert client.send(body).usage == TokenUsage(100, 21, 50)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', ToolUse("c", "t", {"a": 1}, raw='{"a": 1}')),
        ('{"a": ', ToolUse("c", "t", {}, raw='{"a": ', wrong="The arguments are not JSON.")),
        ('{"a": NaN}', ToolUse("c", "t", {}, raw='{"a": NaN}', wrong="The arguments are not JSON.")),
        (None, ToolUse("c", "t", {}, raw="null", wrong="The arguments are not a JSON object.")),
        ({"a": 1}, ToolUse("c", "t", {"a": 1}, raw='{"a": 1}')),
        ("[" * 100_000, ToolUse("c", "t", {}, raw="[" * 100_000, wrong="The arguments are not JSON.")),
    ],
)
def test_arguments_of_a_tool_call(arguments: Any, expected: ToolUse) -> None:
    assert tool_use(use_id="c", name="t", arguments=arguments) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe{",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a":' * 61 + b"1" + b"}" * 61,
    ],
)
def test_values_that_no_database_stores_are_invalid_json(content: bytes) -> None:
    with pytest.raises(ProviderError) as raised:
        parsed(content)
    assert (raised.value.kind, raised.value.error) == (FailureKind.HOSTILE, "invalid JSON")
    assert raised.value.__context__ is None


def test_characters_that_databases_refuse_are_replaced() -> None:
    assert parsed(rb'{"a\u0000": ["\ud800x", "\ud83d\ude00"]}') == {"a\ufffd": ["?x", "\U0001f600"]}


NONSENSE: list[Any] = [
    {},
    {"choices": [], "output": None, "content": None},
    {"choices": [{"message": "x"}], "output": [{"type": "message", "content": "x"}], "content": "x"},
    {"choices": [{"message": {"tool_calls": [{"function": 1}]}}], "output": {}, "content": {}},
]


@pytest.mark.parametrize("raw", NONSENSE)
def test_bodies_of_another_form_are_hostile(raw: dict[str, Any], api: str, client_of: Connect) -> None:
    with pytest.raises(ProviderError) as raised:
        client_of(api, "m").read(raw)
    assert raised.value.kind == FailureKind.HOSTILE


@pytest.mark.parametrize(
    ("api", "raw"),
    [
        ("chat", {"choices": [{"message": {"content": 5}}], "usage": {"prompt_tokens": -1}, "model": ["m"]}),
        ("responses", {"output": [{"type": "surprise"}], "usage": [], "model": None}),
        ("messages", {"content": [{"type": "new"}], "usage": {"input_tokens": 10**12}, "model": "m" * 1000}),
    ],
)
def test_missing_and_absurd_details_do_no_harm(api: str, raw: dict[str, Any], client_of: Connect) -> None:
    reply = client_of(api, "m").read(raw)
    assert (reply.text, reply.tool_uses, reply.finish, reply.usage) == ("", (), Finish.STOPPED, TokenUsage())
    assert len(reply.model) <= 200


@pytest.mark.parametrize(
    ("api", "raw", "usage"),
    [
        ("chat", MESSAGE, TokenUsage(None, None)),
        ("chat", MESSAGE | {"usage": None}, TokenUsage(None, None)),
        ("chat", MESSAGE | {"usage": {}}, TokenUsage(None, None)),
        ("chat", MESSAGE | {"usage": {"prompt_tokens": "12", "completion_tokens": 3.5}}, TokenUsage(None, None)),
        ("chat", MESSAGE | {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, TokenUsage(None, 0)),
        ("chat", MESSAGE | {"usage": {"completion_tokens": 7}}, TokenUsage(None, 7)),
        ("chat", MESSAGE | {"usage": {"prompt_tokens": 7}}, TokenUsage(7, None)),
        ("responses", ITEMS | {"usage": {"input_tokens": 7, "output_tokens": True}}, TokenUsage(7, None)),
        ("responses", ITEMS, TokenUsage(None, None)),
        ("messages", BLOCKS | {"usage": {"cache_read_input_tokens": 5, "output_tokens": 2}}, TokenUsage(None, 2)),
        ("messages", BLOCKS | {"usage": {"input_tokens": 0, "cache_read_input_tokens": 5}}, TokenUsage(5, None, 5)),
        ("messages", BLOCKS, TokenUsage(None, None)),
    ],
)
def test_missing_counts_of_tokens_are_unknown(
    api: str, raw: dict[str, Any], usage: TokenUsage, client_of: Connect
) -> None:
    assert client_of(api, "m").read(raw).usage == usage
