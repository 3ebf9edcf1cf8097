"""Errors of requests to models: their kind, a message for the submitter, and a class for operators.

A hostile server may repeat the key in its errors. The provider's words are therefore quoted only if they share nothing
with the key; they are shortened and stripped of control characters. The same holds for its error code, for operators.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from evaluator.providers import error_bodies
from evaluator.providers.interface import BUSY_STATUSES, FailureKind, ProviderError

LONGEST_WAIT: Final = 24 * 3600.0
"""The longest ``Retry-After`` in seconds that is respected; daily quotas are renewed within it."""
LONGEST_SHARED: Final = 5
LONGEST_QUOTE: Final = 300
_ACCOUNT: Final = re.compile(r"\b(org|proj|user|acct)[-_][A-Za-z0-9]{6,}")
_CODE: Final = re.compile(r"(?=.{1,60}$)[a-z]+(_[a-z]+){0,6}")
_TOO_LONG: Final = re.compile(
    r"context_length_exceeded|maximum context length|context (length|window|size)|(prompt|input) is too long"
    r"|too many (input )?tokens|exceeds? the (model's )?(maximum|context)",
    re.IGNORECASE,
)
_ADVICE: Final = {
    "": "Check model id and sampling parameters.",
    error_bodies.OUTPUT_LIMIT: "Choose the endpoint’s other “Name of the output limit”.",  # noqa: RUF001
    error_bodies.OMIT_STRICT: "Tick the endpoint’s “Leave out strict”.",  # noqa: RUF001
}
_OUT_OF_CREDIT: Final = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


def unreachable(message: str, *, error: str = "") -> ProviderError:
    """Make the error of a request that did not reach the provider."""
    return ProviderError(FailureKind.UNSENT, message, error=error or "unreachable")


def forbidden(message: str) -> ProviderError:
    """Make the error of an address that this site may not call."""
    return ProviderError(FailureKind.FORBIDDEN, message, error="forbidden address")


def hostile(what: str, *, error: str = "", status: int | None = None) -> ProviderError:
    """Make the error of a server that answered ``what`` (a noun phrase), which no provider does."""
    message = f"The server answered {what}, which no model provider does. Check the endpoint's address."
    return ProviderError(FailureKind.HOSTILE, message, error=error or what, status=status)


def late(seconds: float, *, error: str = "") -> ProviderError:
    """Make the error of a request whose deadline passed."""
    message = f"No complete answer came within {seconds:g} seconds. Allow more time, or ask for shorter answers."
    return ProviderError(FailureKind.LOST, message, error=error or "deadline")


def broken(*, error: str = "") -> ProviderError:
    """Make the error of a connection that ended before the answer did."""
    message = "The connection broke before the answer was complete; the model may have answered."
    return ProviderError(FailureKind.LOST, message, error=error or "connection broken")


def wrapped_error(error: BaseException) -> ProviderError:
    """Return the :class:`ProviderError` that an SDK's exception wraps, else one of an unknown cause: in doubt."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ProviderError):
            return link
        link = link.__cause__ or link.__context__
    return ProviderError(
        FailureKind.LOST,
        "The request failed in a way that is not known here; the model may have answered.",
        error=type(error).__name__,
    )


def of_error(
    status: int, error: Mapping[str, Any], *, headers: Mapping[str, str], key: str, succeeded: bool = False
) -> ProviderError:
    """Classify an error reply.

    Args:
        status: the HTTP status.
        error: the error in the body: ``code``, ``type``, ``message``, or empty.
        headers: the reply's headers.
        key: the endpoint's key; nothing that is returned shares a piece with it.
        succeeded: whether the status reports success, so that only the body reports the error.
    """
    code, shown = _code(error, key), f"HTTP {status}"
    if succeeded:
        reported = error_bodies.status_of(error)
        shown = f"error {reported} in a reply with HTTP {status}" if reported else f"in a reply with HTTP {status}"
        status = reported or 500
    detail = error_bodies.message_of(error)
    too_long = status == 413 or (status in {400, 422} and bool(_TOO_LONG.search(f"{code} {detail}")))
    wait = retry_after(headers)
    setting = error_bodies.refused_setting(error) if status in {400, 422} and not too_long else ""
    kind, lasting = _meaning(status, code, shown, too_long=too_long, wait=wait, setting=setting)
    message = f"{lasting}{_when(wait)}" if kind is FailureKind.BUSY else lasting
    words = "" if kind is FailureKind.BUSY or status == 401 else quotable(detail, key)
    return ProviderError(
        kind,
        f"{message} The provider’s words: “{words}”." if words else message,  # noqa: RUF001 - as pages write it
        lasting=lasting if kind is FailureKind.BUSY else "",
        error=f"{shown} {code}".strip(),
        status=status,
        retry_after=min(wait, LONGEST_WAIT) if wait is not None and kind is FailureKind.BUSY else None,
        request_id=request_id(headers, key=key),
        too_long=too_long,
        setting=setting,
        names_tools="tool" in detail.lower(),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait that the provider asks for, in seconds from 0; ``None`` if it asks for none."""
    text, exact = ((headers.get(name) or "").strip()[:60] for name in ("retry-after", "retry-after-ms"))
    if re.fullmatch(r"\d{1,15}", exact, re.ASCII):
        # Azure sends both and rounds the other one.
        return int(exact) / 1000
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def in_words(seconds: float) -> str:
    """Return a duration in words, rounded up: "1 second", "5 minutes", "2 hours 30 minutes"."""
    whole = math.ceil(seconds)
    if whole < 120:
        return _counted(whole, "second")
    minutes = math.ceil(whole / 60)
    if minutes < 120:
        return _counted(minutes, "minute")
    hours, rest = divmod(minutes, 60)
    return f"{_counted(hours, 'hour')} {_counted(rest, 'minute')}" if rest else _counted(hours, "hour")


def quotable(text: str, key: str) -> str:
    """Return untrusted text as one displayable line of at most 300 characters.

    It is empty if the text shares a piece with the key. Control and invisible characters become spaces, and account ids
    of the provider are removed, since messages of published runs are public.
    """
    seen = "".join(character if character.isprintable() else " " for character in text)
    line = _ACCOUNT.sub("(account)", " ".join(seen.split()))
    if quotes(text, key) or quotes(line, key):
        return ""
    return (line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 1]}…").rstrip(". ")


def request_id(headers: Mapping[str, str], *, key: str) -> str:
    """Return the provider's id of a request, for its support; empty if it has none or one that quotes the key."""
    found = headers.get("x-request-id") or headers.get("request-id") or ""
    return found if re.fullmatch(r"[\w.:-]{1,100}", found, re.ASCII) and not quotes(found, key) else ""


def quotes(text: str, key: str) -> bool:
    """Return whether text holds the key, or a piece of it longer than chance would explain."""
    size = LONGEST_SHARED + 1
    return bool(key) and any(key[at : at + size] in text for at in range(max(1, len(key) - size + 1)))


def _meaning(
    status: int, code: str, shown: str, *, too_long: bool, wait: float | None, setting: str
) -> tuple[FailureKind, str]:
    if status == 402 or code in _OUT_OF_CREDIT:
        return FailureKind.REJECTED, "The account behind the key has no credit left. Top it up, or use another key."
    if too_long:
        return (
            FailureKind.REJECTED,
            "The prompt does not fit the model. Lower the endpoint's context size to the model's own.",
        )
    if status in {401, 403}:
        return FailureKind.REJECTED, f"The provider refused the key ({shown}). Enter it again, or use another one."
    if status == 404:
        return (
            FailureKind.REJECTED,
            f"The provider knows no such model or address ({shown}). Check model id and address.",
        )
    if status == 429 or (status in BUSY_STATUSES and wait is not None):
        return FailureKind.BUSY, f"The provider asks to wait ({shown})."
    if status == 408 or status >= 500:
        return FailureKind.SERVER, f"The provider reports an error of its own ({shown})."
    if 400 <= status < 500:
        return (
            FailureKind.REJECTED,
            f"The provider refused the request ({f'{shown} {code}'.strip()}). {_ADVICE[setting]}",
        )
    return FailureKind.HOSTILE, f"The server answered with status {status}, which no model provider uses here."


def _code(error: Mapping[str, Any], key: str) -> str:
    for name in ("code", "type"):
        value = error.get(name)
        if isinstance(value, str) and _CODE.fullmatch(value) and not quotes(value, key):
            return value
    return ""


def _when(wait: float | None) -> str:
    if wait is None:
        return ""
    if wait <= LONGEST_WAIT:
        return f" It accepts requests again in {in_words(wait)}."
    limit = in_words(LONGEST_WAIT)
    return f" It asks to wait longer than {limit}; this site tries again after {limit}."


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
