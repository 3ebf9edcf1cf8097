"""Errors in a body of any form and status: they never become the model's answer, and are quoted without the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.providers import error_bodies, faults
from evaluator.providers.clients import CLIENTS
from evaluator.providers.interface import EndpointSettings, FailureKind, Finish, ProviderError, TokenUsage
from tests.evaluator.providers.conftest import KEY, LOOPBACK, QUESTION
from tests.provider_server.chat import HALF_USED
from tests.provider_server.types import Failure

if TYPE_CHECKING:
    from tests.evaluator.providers.conftest import Connect
    from tests.provider_server import ProviderServer

HALF = {"role": "assistant", "content": "```python\ndef half("}
DOWN, BUSY, NO = FailureKind.SERVER, FailureKind.BUSY, FailureKind.REJECTED


@pytest.mark.parametrize(
    ("api", "raw", "kind", "error"),
    [
        ("chat", {"error": {"code": 502, "message": "upstream"}}, DOWN, "error 502 in a reply with HTTP 200"),
        ("chat", {"error": {"code": "429"}}, BUSY, "error 429 in a reply with HTTP 200"),
        ("chat", {"error": "overloaded"}, DOWN, "in a reply with HTTP 200"),
        ("chat", {"choices": [{"message": HALF, "finish_reason": "error"}]}, DOWN, "in a reply with HTTP 200"),
        (
            "chat",
            {"choices": [{"message": HALF, "finish_reason": "error", "error": {"code": 429, "message": "slow down"}}]},
            BUSY,
            "error 429 in a reply with HTTP 200",
        ),
        (
            "chat",
            {"choices": [{"message": HALF}, {"message": HALF, "error": {"code": 400, "message": "no"}}]},
            NO,
            "error 400 in a reply with HTTP 200",
        ),
        ("chat", {"object": "error", "message": "x", "code": 503}, DOWN, "error 503 in a reply with HTTP 200"),
        (
            "responses",
            {"error": {"code": "rate_limit_exceeded"}, "output": [], "status": "failed"},
            BUSY,
            "error 429 in a reply with HTTP 200 rate_limit_exceeded",
        ),
        ("responses", {"error": None, "output": [], "status": "failed"}, DOWN, "in a reply with HTTP 200"),
        ("responses", {"output": [], "status": "cancelled"}, DOWN, "in a reply with HTTP 200"),
        (
            "responses",
            {"error": {"code": "server_error"}, "output": [], "status": "failed"},
            DOWN,
            "in a reply with HTTP 200 server_error",
        ),
        (
            "messages",
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            DOWN,
            "error 529 in a reply with HTTP 200 overloaded_error",
        ),
        (
            "messages",
            {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}},
            BUSY,
            "error 429 in a reply with HTTP 200 rate_limit_error",
        ),
        (
            "messages",
            {"type": "error", "error": {"type": "authentication_error", "message": "x"}},
            NO,
            "error 401 in a reply with HTTP 200 authentication_error",
        ),
        ("messages", {"content": [{"text": "ha"}], "stop_reason": "error"}, DOWN, "in a reply with HTTP 200"),
    ],
)  # fmt: skip
def test_an_error_with_status_200_is_a_provider_error(
    api: str, raw: dict[str, Any], kind: FailureKind, error: str, client_of: Connect
) -> None:
    with pytest.raises(ProviderError) as raised:
        client_of(api, "right").read(raw)
    assert (raised.value.kind, raised.value.error, raised.value.__context__) == (kind, error, None)


def test_half_an_answer_is_a_failure_of_the_provider(
    api: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    client = client_of(api, "half-1")
    with pytest.raises(ProviderError) as raised:
        client.send(client.body(QUESTION))
    assert raised.value.kind == FailureKind.SERVER
    assert "“Upstream went away”." in raised.value.message
    # Anthropic's error does not contain what the model wrote before it.
    assert raised.value.usage == (None if api == "messages" else TokenUsage(*HALF_USED))
    assert ("def half_of_an_answer(" in str(raised.value.raw)) == (api != "messages")
    assert client.send(client.body(QUESTION)).finish == Finish.STOPPED
    assert len(provider_server.requests) == 2


@pytest.mark.parametrize(
    ("model", "usage"),
    [
        ("uncounted-half-1", TokenUsage()),
        ("down-1", None),
        ("wrong-key", None),
        ("too-long", None),
    ],
)
def test_only_half_an_answer_has_a_usage(client_of: Connect, model: str, usage: TokenUsage | None) -> None:
    client = client_of("chat", model)
    with pytest.raises(ProviderError) as raised:
        client.send(client.body(QUESTION))
    assert raised.value.usage == usage


def test_a_kept_body_does_not_hold_the_key(client_of: Connect, provider_server: ProviderServer) -> None:
    provider_server.script("mine", Failure("half", "Upstream went away.", written=f"key = '{KEY}'"))
    client = client_of("chat", "mine")
    with pytest.raises(ProviderError) as raised:
        client.send(client.body(QUESTION))
    assert (raised.value.usage, raised.value.raw) == (TokenUsage(*HALF_USED), {})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"message": "No."}, "No."),
        ({"message": "Provider returned error", "metadata": {"raw": "it broke"}}, "Provider returned error it broke"),
        ({"message": {"detail": [{"loc": ["body", "n"], "msg": "Extra"}]}}, "body.n: Extra"),
        ({"detail": [{"loc": ["body", 0], "msg": "a"}, {"msg": "b"}]}, "body.0: a; b"),
        ({"detail": "x", "message": 7}, "x"),
        ({"message": [["deep"]]}, "deep"),
        ({}, ""),
    ],
)
def test_the_message_is_read_from_every_form(error: dict[str, Any], words: str) -> None:
    assert error_bodies.message_of(error) == words


@pytest.mark.parametrize(
    ("error", "setting"),
    [
        ({"code": "unsupported_parameter", "param": "max_tokens"}, "output_limit"),
        ({"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"],
                                  "msg": "Extra inputs are not permitted"}]}}, "output_limit"),
        ({"message": "tools.0.custom.strict: Extra inputs are not permitted"}, "omit_strict"),
        ({"message": "Unknown parameter: 'tools[0].function.strict'."}, "omit_strict"),
        ({"message": "max_tokens is too large: 99999. This model supports at most 4096 completion tokens."}, ""),
        ({"message": "Restricted content is not allowed."}, ""),
        ({"message": "Unsupported value: 'temperature' does not support 0.2 with this model."}, ""),
    ],
)  # fmt: skip
def test_which_setting_a_refusal_names(error: dict[str, Any], setting: str) -> None:
    failure = faults.of_error(400, error, headers={}, key=KEY)
    assert (failure.setting, failure.kind) == (setting, FailureKind.REJECTED)
    advice = {"output_limit": "“Name of the output limit”.", "omit_strict": "“Leave out strict”."}
    assert advice.get(setting, "Check model id and sampling parameters.") in failure.message
    assert "--" not in failure.message, "pages show it: they have fields, no options"


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (
            {"code": "tool_use_failed", "message": "Failed.", "failed_generation": "<ls>"},
            error_bodies.ModelError("Failed.", "<ls>", Finish.BAD_CALL),
        ),
        (
            {"message": "error parsing tool call: raw='a 'b'\nc', err=invalid character"},
            error_bodies.ModelError(
                "error parsing tool call: raw='a 'b'\nc', err=invalid character", "a 'b'\nc", Finish.BAD_CALL
            ),
        ),
        ({"code": "malformed_function_call"}, error_bodies.ModelError("", "", Finish.BAD_CALL)),
        (
            {"message": "Provider returned error", "metadata": {"raw": '{"code":"tool_use_failed"}'}},
            error_bodies.ModelError('Provider returned error {"code":"tool_use_failed"}', "", Finish.BAD_CALL),
        ),
        (
            {"code": "json_validate_failed", "message": "Failed.", "failed_generation": "LI"},
            error_bodies.ModelError("Failed.", "LI", Finish.STOPPED),
        ),
        (
            {"code": "content_filter", "message": "Filtered.", "failed_generation": "kept by nobody"},
            error_bodies.ModelError("Filtered.", "", Finish.REFUSED),
        ),
        (
            {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"},
            error_bodies.ModelError("Output blocked by content filtering policy", "", Finish.REFUSED),
        ),
        (
            {"code": 403, "message": "Flagged.", "metadata": {"flagged_input": "kill", "reasons": ["violence"]}},
            error_bodies.ModelError("Flagged.", "", Finish.REFUSED),
        ),
        ({"code": 403, "message": "Key limit exceeded.", "metadata": {"reasons": []}}, None),
        ({"message": "Invalid 'tools[0].function.name'"}, None),
        ({"message": "Failed to parse tool call arguments as JSON"}, None),
        ({}, None),
    ],
)
def test_errors_of_the_model_are_recognised(error: dict[str, Any], found: error_bodies.ModelError | None) -> None:
    assert error_bodies.model_error(error) == found


def test_geminis_malformed_call_is_a_model_error(client_of: Connect) -> None:
    for choice in (
        {"finish_reason": "error", "native_finish_reason": "MALFORMED_FUNCTION_CALL", "message": {"content": ""}},
        {"finish_reason": "function_call_filter: MALFORMED_FUNCTION_CALL"},
    ):
        assert client_of("chat", "m").read({"choices": [choice]}).finish == Finish.BAD_CALL


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  One.\r\n\tTwo...  ", "One. Two"),
        ("a\x1b[31mb\u202ec\u200bd\0", "a [31mb c d"),
        (f"the key {KEY} is wrong", ""),
        (f"the key ends in {KEY[-6:]}", ""),
        (f"ends in {KEY[-5:]}", f"ends in {KEY[-5:]}"),
        ("in organization org-AbCdEf123 on requests", "in organization (account) on requests"),
        ("x" * 301, "x" * 299 + "…"),
    ],
)
def test_quoted_text_is_one_short_line_without_the_key(text: str, line: str) -> None:
    assert faults.quotable(text, KEY) == line


def test_a_key_split_by_invisible_characters_is_not_restored() -> None:
    hidden = "\u200b".join(KEY)
    assert KEY not in faults.quotable(hidden, KEY)
    assert KEY[:8] not in faults.quotable(hidden, KEY).replace("\u200b", "")


NAMES = (
    "error message code type choices finish_reason metadata raw detail loc status object output content text refusal "
    "failed_generation param tool_calls function arguments thinking stop_reason"
)
WORDS = st.sampled_from(["error", "failed", "text", "message", "tool_use_failed", f"raw='{KEY}', err=", KEY])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=4),
    max_leaves=15,
)


def read_with(api: str, raw: dict[str, Any]) -> str:
    """The text that users would see for ``raw``."""
    settings = EndpointSettings("openai", api, "http://127.0.0.1:1/v1", "m")
    try:
        return CLIENTS[api](settings, key=KEY, policy=LOOPBACK).read(raw).problem
    except ProviderError as failure:
        return f"{failure.message} {failure.error}"


@pytest.mark.parametrize("api", CLIENTS)
@given(raw=st.dictionaries(st.sampled_from(["error", "type", "choices", "status", "content", "output"]), JSON))
def test_no_message_contains_the_key_whatever_the_body(api: str, raw: dict[str, Any]) -> None:
    words = read_with(api, raw)
    assert not faults.quotes(words, KEY)
    assert "\n" not in words
