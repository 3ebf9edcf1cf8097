"""Each failure of a provider, through each interface and its real SDK, has one kind and never contains the key."""

from __future__ import annotations

import logging
import time
import traceback
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest

from evaluator.providers import faults, sdk_client
from evaluator.providers.interface import FailureKind, Finish, ProviderError, TokenUsage
from tests.evaluator.providers.conftest import KEY, QUESTION

if TYPE_CHECKING:
    from tests.evaluator.providers.conftest import Connect
    from tests.provider_server import ProviderServer

NOT_KNOWN = "The provider knows no such model or address (HTTP 404). Check model id and address."
NO_CREDIT = "The account behind the key has no credit left. Top it up, or use another key."
TOO_LONG = "The prompt does not fit the model. Lower the endpoint's context size to the model's own."
WRONG_KEY = "The provider refused the key (HTTP 401). Enter it again, or use another one."
REFUSED = "The provider refused the request (HTTP 400 invalid_request_error). Check model id and sampling parameters."
WAIT = "The provider asks to wait (HTTP 429). It accepts requests again in 1 second."
BROKE = "The connection broke before the answer was complete; the model may have answered."
WEIRD = "The server answered {}, which no model provider does. Check the endpoint's address."
DOWN = "The provider reports an error of its own (HTTP {})."

WORDS = {
    "quota": "You exceeded your current quota",
    "down-1": "The server had an error",
    "unknown-model": "The model 'unknown-model' does not exist or you do not have access to it",
    "rejects": "Invalid request",
}
TOO_LONG_WORDS = {
    "chat": "This model's maximum context length is 128000 tokens",
    "messages": "prompt is too long: 300000 tokens > 200000 maximum",
}

# model, kind, our message, error in OpenAI's form, error in Anthropic's
FAILURES = [
    ("busy-1", FailureKind.BUSY, WAIT, "HTTP 429 rate_limit_exceeded", "HTTP 429 rate_limit_error"),
    ("quota", FailureKind.REJECTED, NO_CREDIT, "HTTP 429 insufficient_quota", "HTTP 402 billing_error"),
    ("down-1", FailureKind.SERVER, DOWN.format(500), "HTTP 500 server_error", "HTTP 500 api_error"),
    ("wrong-key", FailureKind.REJECTED, WRONG_KEY, "HTTP 401 invalid_api_key", "HTTP 401 authentication_error"),
    ("unknown-model", FailureKind.REJECTED, NOT_KNOWN, "HTTP 404 model_not_found", "HTTP 404 not_found_error"),
    ("too-long", FailureKind.REJECTED, TOO_LONG, "HTTP 400 context_length_exceeded", "HTTP 400 invalid_request_error"),
    ("rejects", FailureKind.REJECTED, REFUSED, "HTTP 400 invalid_request_error", "HTTP 400 invalid_request_error"),
    ("malformed", FailureKind.HOSTILE, WEIRD.format("invalid JSON"), "invalid JSON", "invalid JSON"),
    ("nested", FailureKind.HOSTILE, WEIRD.format("invalid JSON"), "invalid JSON", "invalid JSON"),
    ("array", FailureKind.HOSTILE, WEIRD.format("JSON that is not an object"), *["JSON that is not an object"] * 2),
    ("breaks", FailureKind.LOST, BROKE, "RemoteProtocolError", "RemoteProtocolError"),
]


def failure_of(client_of: Connect, api: str, model: str) -> ProviderError:
    client = client_of(api, model)
    with pytest.raises(ProviderError) as raised:
        client.send(client.body(QUESTION))
    return raised.value


@pytest.mark.parametrize("api", ["chat", "messages"])
@pytest.mark.parametrize(("model", "kind", "message", "openai", "anthropic"), FAILURES)
def test_failures_of_providers_are_classified(
    model: str,
    kind: FailureKind,
    message: str,
    openai: str,
    anthropic: str,
    api: str,
    client_of: Connect,
    provider_server: ProviderServer,
) -> None:
    failure = failure_of(client_of, api, model)
    words = TOO_LONG_WORDS[api] if model == "too-long" else WORDS.get(model)
    message = f"{message} The provider’s words: “{words}”." if words else message
    assert (failure.kind, failure.message, str(failure)) == (kind, message, message)
    assert failure.error == (anthropic if api == "messages" else openai)
    assert failure.too_long is (model == "too-long")
    assert failure.retry_after == (1.0 if kind == FailureKind.BUSY else None)
    assert failure.request_id.startswith("req_") is (failure.status is not None)
    assert len(provider_server.requests) == 1, "sent exactly once"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("1.5", 1.5),
        ("-4", 0.0),
        ("3600", 3600.0),
        ("1e300", 1e300),
        ("nan", None),
        ("soon", None),
        (formatdate(0, usegmt=True), 0.0),
        ("Fri, 99 Foo 2026 10:00:00 GMT", None),
    ],
)
def test_retry_after_is_read(text: str, seconds: float | None) -> None:
    assert faults.retry_after({"retry-after": text}) == seconds


def test_a_date_to_wait_for_is_read() -> None:
    wait = faults.retry_after({"retry-after": formatdate(time.time() + 7200, usegmt=True)})
    assert wait is not None
    assert 7190 < wait <= 7200


@pytest.mark.parametrize(("exact", "seconds"), [("1500", 1.5), ("0", 0.0), ("-5", 7.0), ("soon", 7.0), ("", 7.0)])
def test_milliseconds_count_where_they_are_a_number(exact: str, seconds: float) -> None:
    assert faults.retry_after({"retry-after": "7", "retry-after-ms": exact}) == seconds


LIMIT = "It asks to wait longer than 24 hours; this site tries again after 24 hours."


@pytest.mark.parametrize(
    ("requested", "waited", "words"),
    [
        ("0.4", 0.4, "It accepts requests again in 1 second."),
        ("119", 119.0, "It accepts requests again in 119 seconds."),
        ("3600", 3600.0, "It accepts requests again in 60 minutes."),
        ("7201", 7201.0, "It accepts requests again in 2 hours 1 minute."),
        ("86400", 86400.0, "It accepts requests again in 24 hours."),
        ("86401", 86400.0, LIMIT),
        ("1e300", 86400.0, LIMIT),
    ],
)
def test_the_requested_wait_is_kept_up_to_a_day(requested: str, waited: float, words: str) -> None:
    failure = faults.of_error(429, {}, headers={"retry-after": requested}, key="k")
    assert (failure.retry_after, failure.message) == (waited, f"The provider asks to wait (HTTP 429). {words}")
    assert failure.lasting == "The provider asks to wait (HTTP 429)."


@pytest.mark.parametrize(
    ("status", "headers", "kind", "waited"),
    [
        (503, {"retry-after": "90"}, FailureKind.BUSY, 90.0),
        (529, {"retry-after": "90"}, FailureKind.BUSY, 90.0),
        (503, {}, FailureKind.SERVER, None),
        (500, {"retry-after": "90"}, FailureKind.SERVER, None),
    ],
)
def test_busy_servers_that_name_a_wait_are_waited_for(
    status: int, headers: dict[str, str], kind: FailureKind, waited: float | None
) -> None:
    failure = faults.of_error(status, {}, headers=headers, key="k")
    assert (failure.kind, failure.retry_after) == (kind, waited)


@pytest.mark.parametrize(
    ("status", "body", "kind", "too_long"),
    [
        (400, {"message": "This endpoint's maximum context length is 8192 tokens."}, FailureKind.REJECTED, True),
        (400, {"message": "Input is too long for requested model."}, FailureKind.REJECTED, True),
        (413, {}, FailureKind.REJECTED, True),
        (403, {}, FailureKind.REJECTED, False),
        (408, {}, FailureKind.SERVER, False),
        (500, {"message": "maximum context length"}, FailureKind.SERVER, False),
        (304, {}, FailureKind.HOSTILE, False),
    ],
)
def test_statuses_are_classified(status: int, body: dict[str, str], kind: FailureKind, *, too_long: bool) -> None:
    failure = faults.of_error(status, body, headers={}, key="sk-test")
    assert (failure.kind, failure.too_long, failure.status) == (kind, too_long, status)


@pytest.mark.parametrize("code", ["sk-abcdefghij", "Rate limit", "x" * 61, "sk_secret_key", 7, None, ["a"]])
def test_only_words_that_look_like_codes_are_kept(code: object) -> None:
    assert faults.of_error(400, {"code": code}, headers={}, key="my_secret_key").error == "HTTP 400"


@pytest.mark.parametrize(
    ("model", "finish", "text"),
    [
        ("refuses", Finish.REFUSED, "I cannot help with that."),
        ("filtered", Finish.REFUSED, ""),
        ("truncates", Finish.TRUNCATED, "```python\ndef half_of_an_answer("),
    ],
)
def test_refused_and_truncated_answers_are_no_failures(
    model: str, finish: Finish, text: str, api: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    client = client_of(api, model)
    reply = client.send(client.body(QUESTION))
    assert (reply.finish, reply.text, reply.tool_uses, reply.model) == (finish, text, (), model)
    assert reply.usage == TokenUsage(13, max(1, len(text) // 4), 0)
    assert client.read(reply.raw).message == reply.message
    assert len(provider_server.requests) == 1


@pytest.mark.parametrize("model", ["right", "wrong-key", "rejects", "breaks", "malformed", "redirect"])
def test_the_key_is_in_no_log_error_or_representation(
    model: str,
    api: str,
    client_of: Connect,
    provider_server: ProviderServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in (None, *sdk_client.LOGGERS):
        caplog.set_level(logging.DEBUG, logger=name)
    client = client_of(api, model)
    body = client.body(QUESTION)
    texts = [repr(client), repr(body)]
    if model == "right":
        texts.append(repr(client.send(body)))
    else:
        with pytest.raises(ProviderError) as raised:
            client.send(body)
        failure = raised.value
        assert (failure.__cause__, failure.__context__) == (None, None)
        texts += [repr(failure), str(vars(failure)), "".join(traceback.format_exception(failure))]
    shown = "\n".join([*texts, caplog.text, *capfd.readouterr()])
    assert not faults.quotes(shown.replace("sk-test", ""), KEY)
    assert "tagger" not in caplog.text, "no body in the logs"
    assert not [record for record in caplog.records if record.name.startswith(("openai", "anthropic", "http"))]
    assert provider_server.log[0].key == KEY


def test_the_sdks_never_see_the_key(api: str, client_of: Connect) -> None:
    client = client_of(api, "right")
    client.send(client.body(QUESTION))
    sdk = client._sdk  # type: ignore[attr-defined]
    assert sdk.api_key == "put-on-later"
    assert KEY not in str({**sdk.auth_headers, **sdk.default_headers})


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "sk-\u00e4"])
def test_a_key_that_is_no_header_is_refused_before_anything_is_sent(
    key: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    client = client_of("chat", "right", key=key)
    with pytest.raises(ProviderError) as raised:
        client.send(client.body(QUESTION))
    assert raised.value.message == "The key holds characters that no key has, such as spaces. Enter it again."
    assert provider_server.log == []


def test_request_ids_that_quote_the_key_are_dropped() -> None:
    assert faults.request_id({"x-request-id": "req_1"}, key=KEY) == "req_1"
    assert faults.request_id({"request-id": "req_2"}, key=KEY) == "req_2"
    assert faults.request_id({"x-request-id": f"req_{KEY[3:12]}"}, key=KEY) == ""
    assert faults.request_id({"x-request-id": "a b"}, key=KEY) == ""
    assert faults.request_id({}, key="") == ""
