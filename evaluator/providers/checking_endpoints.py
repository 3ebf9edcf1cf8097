"""Test an endpoint with tiny requests, on a worker: web processes never load the providers' SDKs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction
from django.utils import timezone

from evaluator.providers.error_bodies import OMIT_STRICT, OUTPUT_LIMIT
from evaluator.providers.guard import ForbiddenAddressError
from evaluator.providers.interface import FailureKind, Finish, Message, ModelRequest, ProviderError, Tool
from evaluator.queue.pushing import push_check
from submissions.domain import rate_limits
from submissions.domain.endpoints import correct_settings
from submissions.enums import EndpointCheck
from submissions.exceptions import QuotaExceededError
from submissions.models import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluator.providers.interface import ModelReply
    from submissions.models import User

CHECKS_AN_HOUR: Final = 20
_SHOWN_CHARACTERS: Final = 80
_QUOTED: Final = " The provider’s words:"  # noqa: RUF001 - as errors write it
LONGEST_SECONDS: Final = 30.0
"""A test blocks a worker that others wait for; a model that takes longer for one word may still be usable."""
_PARAMETERS: Final = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
_TINY: Final = ModelRequest(
    system="Answer with one word.",
    messages=(Message("user", "Say: ready"),),
    tools=(Tool("say", "Say one word.", _PARAMETERS),),
)
"""Offers a tool, as agents do, so that a server that refuses tools or their parameters fails here."""


def request_check(*, endpoint: Endpoint, actor: User) -> None:
    """Have a worker test ``endpoint``. Raises ``QuotaExceededError``: a test sends a request to someone's server."""
    name = f"endpoint-checks:{actor.pk}"
    if rate_limits.count(name, limit=CHECKS_AN_HOUR, period=rate_limits.HOUR).times > CHECKS_AN_HOUR:
        msg = f"You have tested endpoints {CHECKS_AN_HOUR} times within this hour, the most that one account may."
        raise QuotaExceededError(msg)
    with transaction.atomic():
        Endpoint.objects.filter(pk=endpoint.pk).update(check_state=EndpointCheck.WAITING, check_message="")
        transaction.on_commit(partial(_push, endpoint.pk))
    endpoint.refresh_from_db()


def check(endpoint_id: int) -> None:
    """Make the call and store the result. The endpoint never stays ``waiting``."""
    endpoint = Endpoint.objects.filter(pk=endpoint_id).first()
    if endpoint is None:
        return
    found = _Found(EndpointCheck.FAILED, "An infrastructure error of this site stopped the test; try it again.")
    try:
        found = _try(endpoint)
    finally:
        # An endpoint that was changed meanwhile is a different one, which was not tested.
        with transaction.atomic():
            waiting = Endpoint.objects.filter(pk=endpoint_id, check_state=EndpointCheck.WAITING)
            # A provider that answers no longer asks to wait: its account may have been topped up.
            answers: dict[str, Any] = {"not_before": None} if found.state == EndpointCheck.OK else {}
            stored = waiting.update(
                check_state=found.state, check_message=found.message, checked=timezone.now(), **answers
            )
            if stored and found.corrected:
                correct_settings(endpoint=endpoint, corrected=found.corrected)
            if stored and found.reply:
                # Imported here: pages import this module and need no client.
                from evaluator.providers.calling import note_usage

                note_usage(endpoint_id, found.reply)


@dataclass(frozen=True, slots=True)
class _Found:
    """Result of a test. ``corrected`` are settings without which the provider refuses every request."""

    state: EndpointCheck
    message: str
    corrected: dict[str, Any] = field(default_factory=dict)
    reply: ModelReply | None = None


def _try(endpoint: Endpoint) -> _Found:
    """Send the request; if the provider names a parameter that it refuses, send it again without that parameter.

    Each setting is changed at most once and tools are dropped at most once, so there are at most four requests.
    """
    corrected: dict[str, Any] = {}
    request, notes = _TINY, ""
    started = time.monotonic()
    while True:
        try:
            reply = _answer(endpoint, request)
        except (ProviderError, ForbiddenAddressError) as error:
            setting = error.setting if isinstance(error, ProviderError) else ""
            if setting and setting not in corrected:
                corrected[setting] = _other(endpoint, setting)
                setattr(endpoint, setting, corrected[setting])
            elif request.tools and _refuses_tools(error):
                request = replace(_TINY, tools=())
                # The error's advice applies to requests without tools.
                _, quoted, words = str(error).partition(_QUOTED)
                notes = f" With a tool it does not answer, so agents cannot use it.{quoted}{words}"
            else:
                return _Found(EndpointCheck.FAILED, str(error))
        else:
            message = f"{_summary(reply, time.monotonic() - started)}{_changed(corrected)}{notes}"
            return _Found(EndpointCheck.OK, message, corrected, reply)


def _answer(endpoint: Endpoint, request: ModelRequest) -> ModelReply:
    """Send one request. Raises :class:`ProviderError` and ``ForbiddenAddressError``."""
    # Imported here: pages import this module and need no client.
    from evaluator.providers.stored_clients import endpoint_client

    client = endpoint_client(endpoint, most_seconds=LONGEST_SECONDS)
    try:
        return client.send(client.body(request))
    finally:
        client.close()


def _other(endpoint: Endpoint, setting: str) -> str | bool:
    """Return the other value of a setting whose parameter was refused."""
    from evaluator.providers.openai_client import NEWER_LIMIT, OLDER_LIMIT, usual_limit

    if setting == OMIT_STRICT:
        return not endpoint.omit_strict
    now = endpoint.output_limit or usual_limit(endpoint.base_url)
    return OLDER_LIMIT if now == NEWER_LIMIT else NEWER_LIMIT


def _refuses_tools(error: Exception) -> bool:
    return isinstance(error, ProviderError) and error.kind is FailureKind.REJECTED and error.names_tools


def _changed(corrected: Mapping[str, Any]) -> str:
    """Describe the settings that a test has changed."""
    words = {OUTPUT_LIMIT: "the name of the output limit is now {}", OMIT_STRICT: "strict is now left out"}
    done = " and ".join(words[name].format(value) for name, value in corrected.items())
    return f" The provider refused a parameter, so {done}; that is saved." if done else ""


def _summary(reply: ModelReply, seconds: float) -> str:
    if reply.finish is Finish.BAD_CALL:
        return f"The endpoint answers, but its tool call failed after {seconds:.1f} s. {reply.problem}"
    if reply.problem:
        return f"The endpoint answers after {seconds:.1f} s, but not to the test. {reply.problem}"
    quoted = " ".join(reply.text.split())[:_SHOWN_CHARACTERS]
    words = f"It answered “{quoted}”" if quoted else "It answered without text"
    if reply.tool_uses:
        words = f"{words if quoted else 'It answered'} with a tool call"
    usage = reply.usage
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    if usage.input_tokens is None or usage.output_tokens is None:
        tokens = "the provider reports no token usage"
    named = f"The reply names the model {reply.model}." if reply.model else "The reply names no model."
    return f"{words} after {seconds:.1f} s ({tokens}). {named}"


def _push(endpoint_id: int) -> None:
    if not push_check(endpoint_id):
        Endpoint.objects.filter(pk=endpoint_id, check_state=EndpointCheck.WAITING).update(
            check_state=EndpointCheck.FAILED,
            check_message="The queue does not answer, so the test could not start. Try again in a moment.",
        )
