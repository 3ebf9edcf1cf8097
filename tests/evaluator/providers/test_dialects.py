"""Each provider's dialect through the real SDKs: a plain answer, a step of an agent, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evaluator.providers.interface import FailureKind, Finish, Message, ModelRequest, ProviderError, TokenUsage, Tool
from tests.evaluator.providers.conftest import KEY, QUESTION
from tests.provider_server import Answer, Call, Failure
from tests.provider_server.dialects import DIALECTS, EXTRA, THOUGHT

if TYPE_CHECKING:
    from evaluator.providers.interface import ModelClient
    from tests.evaluator.providers.conftest import Connect
    from tests.provider_server import ProviderServer

NEWER: dict[str, Any] = {"output_limit": "max_completion_tokens"}
# Settings with which the provider accepts requests. Hosts are the loopback's here.
SETTINGS: dict[str, dict[str, Any]] = {"openai": NEWER, "azure": NEWER, "anthropic-proxy": {"omit_strict": True}}
BASH = Tool("bash", "Run.", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]})
WITH_TOOL = ModelRequest("Work.", (Message("user", "Begin."),), (BASH,))
PROSE = "First one would compare the pairs, then take the logarithm. The paper has the details."


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    """Each of the known providers."""
    return str(request.param)


def client(client_of: Connect, server: ProviderServer, dialect: str, model: str, **settings: Any) -> ModelClient:
    """A client for ``dialect`` with the settings that its endpoint needs."""
    api = "messages" if dialect.startswith("anthropic") else "chat"
    return client_of(api, model, base_url=server.url_of(dialect), **{**SETTINGS.get(dialect, {}), **settings})


def test_a_plain_answer(dialect: str, client_of: Connect, provider_server: ProviderServer) -> None:
    endpoint = client(client_of, provider_server, dialect, "prose", max_output_tokens=99)
    reply = endpoint.send(endpoint.body(QUESTION))
    assert (reply.text, reply.tool_uses, reply.finish, reply.status) == (PROSE, (), Finish.STOPPED, 200)
    assert reply.message == Message("assistant", PROSE, opaque=reply.message.opaque)
    sent = {name: value for name, value in provider_server.requests[0].body.items() if name.startswith("max_")}
    assert sent == {NEWER["output_limit"] if dialect in {"openai", "azure"} else "max_tokens": 99}
    if dialect == "anthropic-proxy":
        assert "usage" not in reply.raw
    else:
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (13, len(PROSE) // 4)


def test_a_step_of_an_agent_and_the_next(dialect: str, client_of: Connect, provider_server: ProviderServer) -> None:
    """The model's own turn is sent back in a form that its provider accepts."""
    provider_server.script("mine", Answer("I look.", (Call("bash", '{"command": "ls"}'),)), Answer(""), Answer("Done."))
    endpoint = client(client_of, provider_server, dialect, "mine")
    first = endpoint.send(endpoint.body(WITH_TOOL))
    assert (first.text, first.finish) == ("I look.", Finish.TOOLS)
    assert [(use.name, dict(use.arguments), use.wrong) for use in first.tool_uses] == [("bash", {"command": "ls"}, "")]
    result = Message("tool", "a.py", tool_use_id=first.tool_uses[0].id)
    turns = (*WITH_TOOL.messages, first.message, result)
    second = endpoint.send(endpoint.body(ModelRequest("Work.", turns, (BASH,))))
    assert (second.text, second.finish) == ("", Finish.STOPPED)
    turns = (*turns, second.message, Message("user", "Go on."))
    third = endpoint.send(endpoint.body(ModelRequest("Work.", turns, (BASH,))))
    assert (third.text, third.finish) == ("Done.", Finish.STOPPED)
    assert [received.answered for received in provider_server.requests] == ["200"] * 3


def test_half_an_answer_is_a_provider_error(dialect: str, client_of: Connect, provider_server: ProviderServer) -> None:
    endpoint = client(client_of, provider_server, dialect, "half-1")
    with pytest.raises(ProviderError) as raised:
        endpoint.send(endpoint.body(QUESTION))
    assert raised.value.kind == FailureKind.SERVER
    assert provider_server.requests[0].answered == "200"


CALL_FAILED = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details"
BAD_CALLS = {
    "groq": (400, '{"command": "ls', CALL_FAILED),
    "openrouter": (200, "", f"Provider returned error tool_use_failed: {CALL_FAILED}"),
    "ollama": (
        500,
        '{"command": "ls',
        """error parsing tool call: raw='{"command": "ls', err=unexpected end of JSON input""",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_tool_call_that_the_provider_cannot_read_is_a_model_error(
    name: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    status, written, words = BAD_CALLS[name]
    endpoint = client(client_of, provider_server, name, "bad-call-2")
    reply = endpoint.send(endpoint.body(WITH_TOOL))
    assert (reply.finish, reply.status, reply.text, reply.tool_uses) == (Finish.BAD_CALL, status, written, ())
    assert reply.problem == f"The provider could not read the tool call: “{words}”."
    assert reply.request_id.startswith("req_")
    stored = endpoint.read(reply.raw)
    assert (stored.finish, stored.text, stored.problem) == (reply.finish, reply.text, reply.problem)


@pytest.mark.parametrize("name", BAD_CALLS)
def test_without_tools_the_same_error_is_a_provider_error(
    name: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    provider_server.script("mine", Failure("bad_call", CALL_FAILED, written="x"))
    endpoint = client(client_of, provider_server, name, "mine")
    with pytest.raises(ProviderError) as raised:
        endpoint.send(endpoint.body(QUESTION))
    assert raised.value.kind == (FailureKind.SERVER if name == "ollama" else FailureKind.REJECTED)


@pytest.mark.parametrize(("name", "status"), [("azure", 400), ("openrouter", 403), ("anthropic", 400)])
def test_an_answer_stopped_by_a_content_filter_counts_as_refused(
    name: str, status: int, client_of: Connect, provider_server: ProviderServer
) -> None:
    endpoint = client(client_of, provider_server, name, "moderated")
    reply = endpoint.send(endpoint.body(QUESTION))
    assert (reply.finish, reply.status, reply.text, reply.usage) == (Finish.REFUSED, status, "", TokenUsage())
    assert reply.problem == (
        "A content filter of the provider stopped the prompt or the answer: "
        "“The output was blocked by the content filtering policy”."
    )
    assert endpoint.read(reply.raw).finish == Finish.REFUSED


def test_an_answer_of_the_wrong_form_is_returned(client_of: Connect, provider_server: ProviderServer) -> None:
    provider_server.script("mine", Failure("form", "Failed to generate JSON.", written="It is right."))
    endpoint = client(client_of, provider_server, "groq", "mine")
    reply = endpoint.send(endpoint.body(QUESTION))
    assert (reply.finish, reply.text) == (Finish.STOPPED, "It is right.")
    assert reply.problem == "The answer does not have the requested form: “Failed to generate JSON”."


def test_an_unreadable_call_that_holds_the_key_is_not_kept(client_of: Connect, provider_server: ProviderServer) -> None:
    provider_server.script("mine", Failure("bad_call", CALL_FAILED, written=f"echo {KEY}"))
    endpoint = client(client_of, provider_server, "groq", "mine")
    with pytest.raises(ProviderError) as raised:
        endpoint.send(endpoint.body(WITH_TOOL))
    assert raised.value.kind == FailureKind.REJECTED
    assert KEY not in str(vars(raised.value))


@pytest.mark.parametrize(
    ("name", "setting", "words"),
    [
        ("openai", {"output_limit": ""}, "Use 'max_completion_tokens' instead"),
        ("azure", {"output_limit": "max_tokens"}, "Use 'max_completion_tokens' instead"),
        ("mistral", NEWER, f"body.max_completion_tokens: {EXTRA}"),
        ("anthropic-proxy", {"omit_strict": False}, f"tools.0.custom.strict: {EXTRA}"),
    ],
)
def test_a_refused_parameter_names_its_setting(
    name: str, setting: dict[str, Any], words: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    endpoint = client(client_of, provider_server, name, "prose", **setting)
    with pytest.raises(ProviderError) as raised:
        endpoint.send(endpoint.body(WITH_TOOL))
    assert (raised.value.kind, raised.value.setting) == (FailureKind.REJECTED, next(iter(setting)))
    assert f"{words}”." in raised.value.message


@pytest.mark.parametrize(
    ("name", "kind", "error"),
    [
        ("openai", FailureKind.REJECTED, "HTTP 404 model_not_found"),
        ("openrouter", FailureKind.REJECTED, "HTTP 404"),
        ("mistral", FailureKind.REJECTED, "HTTP 404 model_not_found"),
        ("ollama", FailureKind.REJECTED, "HTTP 404 not_found_error"),
        ("vllm", FailureKind.REJECTED, "HTTP 404"),
        ("anthropic", FailureKind.REJECTED, "HTTP 404 not_found_error"),
        ("anthropic-proxy", FailureKind.REJECTED, "error 404 in a reply with HTTP 200 not_found_error"),
    ],
)
def test_an_unknown_model(
    name: str, kind: FailureKind, error: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    endpoint = client(client_of, provider_server, name, "unknown-model")
    with pytest.raises(ProviderError) as raised:
        endpoint.send(endpoint.body(QUESTION))
    assert (raised.value.kind, raised.value.error) == (kind, error)
    assert raised.value.message.startswith("The provider knows no such model or address (")
    assert raised.value.message.endswith("does not exist or you do not have access to it”.")


def test_the_wait_of_a_busy_provider_is_read(dialect: str, client_of: Connect, provider_server: ProviderServer) -> None:
    endpoint = client(client_of, provider_server, dialect, "busy-1")
    with pytest.raises(ProviderError) as raised:
        endpoint.send(endpoint.body(QUESTION))
    assert (raised.value.kind, raised.value.retry_after) == (FailureKind.BUSY, 1.0)


def test_an_upstream_error_behind_openrouter_is_retried(client_of: Connect, provider_server: ProviderServer) -> None:
    endpoint = client(client_of, provider_server, "openrouter", "down-1")
    with pytest.raises(ProviderError) as raised:
        endpoint.send(endpoint.body(QUESTION))
    assert (raised.value.kind, raised.value.error) == (FailureKind.SERVER, "error 500 in a reply with HTTP 200")


def test_reasoning_is_kept_in_the_raw_reply_alone(client_of: Connect, provider_server: ProviderServer) -> None:
    for name in ("mistral", "vllm"):
        endpoint = client(client_of, provider_server, name, "prose")
        reply = endpoint.send(endpoint.body(QUESTION))
        assert THOUGHT in str(reply.raw)
        assert THOUGHT not in f"{reply.text}{reply.message}"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": "a"}], "a"),
        (["a", {"type": "text", "text": "b"}, {"type": ["odd"]}, {"type": "image_url"}, None, 7], "ab"),
        ([{"type": "thinking", "thinking": []}], ""),
        ([], ""),
        ({"type": "text", "text": "a"}, ""),
    ],
)
def test_content_in_parts(content: Any, text: str, client_of: Connect) -> None:
    reply = client_of("chat", "m").read({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
    assert (reply.text, reply.message.text, reply.finish) == (text, text, Finish.STOPPED)


def test_tool_calls_in_other_choices_are_the_same_turn(client_of: Connect, provider_server: ProviderServer) -> None:
    calls = (Call("bash", '{"command": "ls"}'), Call("bash", '{"command": "pwd"}'))
    provider_server.script("mine", Answer("Now I look.", calls, spread=True))
    endpoint = client_of("chat", "mine")
    reply = endpoint.send(endpoint.body(WITH_TOOL))
    assert (reply.text, reply.finish) == ("Now I look.", Finish.TOOLS)
    assert [dict(use.arguments)["command"] for use in reply.tool_uses] == ["ls", "pwd"]
    assert reply.message.tool_uses == reply.tool_uses


def test_calls_of_other_choices_are_ignored_if_the_first_has_calls(client_of: Connect) -> None:
    def choice(name: str) -> dict[str, Any]:
        function = {"name": name, "arguments": "{}"}
        return {"message": {"content": None, "tool_calls": [{"id": name, "type": "function", "function": function}]}}

    reply = client_of("chat", "m").read({"choices": [choice("one"), choice("two")]})
    assert [use.name for use in reply.tool_uses] == ["one"]


@pytest.mark.parametrize("usage", [True, False])
def test_a_server_without_a_count_of_tokens(
    api: str, usage: bool, client_of: Connect, provider_server: ProviderServer
) -> None:
    provider_server.script("mine", Answer("x", usage=usage))
    endpoint = client_of(api, "mine")
    assert ("usage" in endpoint.send(endpoint.body(QUESTION)).raw) is usage
