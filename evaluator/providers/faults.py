"""What went wrong on the way to a model, in our own words: kind, message for the submitter, class for operators.

Nothing that the other side wrote reaches a message: a hostile server repeats the key in its errors. Only the provider's
error code is kept for operators, if it looks like one and shares nothing with the key.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from evaluator.providers.types import FaultKind, ProviderFault

LONGEST_WAIT: Final = 300.0
LONGEST_SHARED: Final = 5
_CODE: Final = re.compile(r"(?=.{1,60}$)[a-z]+(_[a-z]+){0,6}")
_TOO_LONG: Final = re.compile(
    r"context_length_exceeded|maximum context length|context (length|window|size)|(prompt|input) is too long"
    r"|too many (input )?tokens|exceeds? the (model's )?(maximum|context)",
    re.IGNORECASE,
)
_OUT_OF_CREDIT: Final = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


def unreachable(message: str, *, error: str = "") -> ProviderFault:
    """Nothing reached the provider."""
    return ProviderFault(FaultKind.UNSENT, message, error=error or "unreachable")


def forbidden(message: str) -> ProviderFault:
    """The address may not be called from here."""
    return ProviderFault(FaultKind.FORBIDDEN, message, error="forbidden address")


def hostile(what: str, *, error: str = "", status: int | None = None) -> ProviderFault:
    """The server answered ``what`` (a noun phrase), which no provider does."""
    message = f"The server answered {what}, which no model provider does. Check the endpoint's address."
    return ProviderFault(FaultKind.HOSTILE, message, error=error or what, status=status)


def late(seconds: float, *, error: str = "") -> ProviderFault:
    """The request's deadline passed."""
    message = f"No complete answer came within {seconds:g} seconds. Allow more time, or ask for shorter answers."
    return ProviderFault(FaultKind.LOST, message, error=error or "deadline")


def broken(*, error: str = "") -> ProviderFault:
    """The connection ended before the answer did."""
    message = "The connection broke before the answer was complete; the model may have answered."
    return ProviderFault(FaultKind.LOST, message, error=error or "connection broken")


def behind(error: BaseException) -> ProviderFault:
    """The fault that an SDK's exception wraps, else one that says that nothing is known: the request is in doubt."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ProviderFault):
            return link
        link = link.__cause__ or link.__context__
    return ProviderFault(
        FaultKind.LOST,
        "The request failed in a way that is not known here; the model may have answered.",
        error=type(error).__name__,
    )


def of_told(status: int, told: Mapping[str, Any], *, headers: Mapping[str, str], key: str) -> ProviderFault:
    """What an error status means. ``told`` is the body's error object: ``code``, ``type``, ``message``, or empty."""
    code = _code(told, key)
    too_long = status in {400, 413, 422} and (status == 413 or bool(_TOO_LONG.search(_words(told))))
    wait = retry_after(headers)
    kind, message = _meaning(status, code, too_long=too_long, wait=wait)
    return ProviderFault(
        kind,
        message,
        error=f"HTTP {status} {code}".strip(),
        status=status,
        retry_after=wait if kind in {FaultKind.BUSY, FaultKind.SERVER} else None,
        request_id=request_id(headers, key=key),
        too_long=too_long,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How long the provider wants to be left alone, in seconds from 0 to 300; ``None`` where it does not say."""
    text = (headers.get("retry-after") or "").strip()[:60]
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else None


def request_id(headers: Mapping[str, str], *, key: str) -> str:
    """The provider's name for a request, for its support; empty where it gives none or one that quotes the key."""
    found = headers.get("x-request-id") or headers.get("request-id") or ""
    return found if re.fullmatch(r"[\w.:-]{1,100}", found, re.ASCII) and not quotes(found, key) else ""


def quotes(text: str, key: str) -> bool:
    """Whether text holds the key, or a piece of it that is longer than chance would explain."""
    size = LONGEST_SHARED + 1
    return bool(key) and any(key[at : at + size] in text for at in range(max(1, len(key) - size + 1)))


def _meaning(status: int, code: str, *, too_long: bool, wait: float | None) -> tuple[FaultKind, str]:
    if status == 402 or code in _OUT_OF_CREDIT:
        return FaultKind.REJECTED, "The account behind the key has no credit left. Top it up, or use another key."
    if too_long:
        return (
            FaultKind.REJECTED,
            "The prompt does not fit the model. Lower the endpoint's context size to the model's own.",
        )
    if status in {401, 403}:
        return FaultKind.REJECTED, f"The provider refused the key (HTTP {status}). Enter it again, or use another one."
    if status == 404:
        return FaultKind.REJECTED, "The provider knows no such model or address (HTTP 404). Check model id and address."
    if status == 429:
        when = f" It wants to be asked again in {wait:.0f} seconds." if wait is not None else ""
        return FaultKind.BUSY, f"The provider asks to wait (HTTP 429).{when}"
    if status == 408 or status >= 500:
        return FaultKind.SERVER, f"The provider reports an error of its own (HTTP {status})."
    if 400 <= status < 500:
        shown = f"HTTP {status} {code}".strip()
        return (
            FaultKind.REJECTED,
            f"The provider refused the request ({shown}). Check model id and sampling parameters.",
        )
    return FaultKind.HOSTILE, f"The server answered with status {status}, which no model provider uses here."


def _code(told: Mapping[str, Any], key: str) -> str:
    for name in ("code", "type"):
        value = told.get(name)
        if isinstance(value, str) and _CODE.fullmatch(value) and not quotes(value, key):
            return value
    return ""


def _words(told: Mapping[str, Any]) -> str:
    return " ".join(str(told.get(name) or "")[:2000] for name in ("code", "message"))
