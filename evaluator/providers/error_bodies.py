"""Parse the errors that providers report in a body, in any of their forms. Standard library only.

Everything here is untrusted text: ``evaluator.providers.faults`` limits what users see and keeps the key out of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from evaluator.providers.interface import Finish

OUTPUT_LIMIT, OMIT_STRICT = "output_limit", "omit_strict"
_MOST_DETAILS: Final = 5
_LONGEST: Final = 4000
# The first word contained in an error's code or type decides: providers use several names for the same error.
_STATUSES: Final = {
    "rate_limit": 429,
    "overloaded": 529,
    "timeout": 504,
    "invalid_api_key": 401,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "context_length": 400,
    "invalid": 400,
}
_MALFORMED: Final = "malformed_function_call"
_BAD_CALL: Final = re.compile(
    rf"tool_use_failed|{_MALFORMED}|error parsing tool call|failed to parse tool call(?! arguments)", re.IGNORECASE
)
# A provider's filter stopped the prompt or the answer: Azure, OpenRouter's moderation, Anthropic.
_FILTERED: Final = re.compile(r"content_filter|content_policy_violation", re.IGNORECASE)
_FILTER_WORDS: Final = re.compile(r"content (filtering|management) polic", re.IGNORECASE)
_WRONG_FORM: Final = "json_validate_failed"
_QUOTED_CALL: Final = re.compile(r"raw='(.*)', err=", re.DOTALL)
_REFUSED_NAME: Final = re.compile(
    r"unsupported|not supported|does not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed"
    r"|extra_forbidden|additional propert",
    re.IGNORECASE,
)
_SETTINGS: Final = {
    OUTPUT_LIMIT: re.compile(r"\bmax_(completion_)?tokens\b"),
    OMIT_STRICT: re.compile(r"\bstrict\b", re.IGNORECASE),
}


class ModelError(NamedTuple):
    """An error that ends the model's turn: the provider's message, and the model's text where the error repeats it.

    ``finish`` classifies it: a tool call that the provider could not read, an answer without the requested form
    (``STOPPED``), or a filter that stopped the prompt or the answer (``REFUSED``).
    """

    message: str
    written: str
    finish: Finish


def error_of(raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the error that a body reports, with any of ``code``, ``type`` and ``message``; else None.

    OpenAI's form is ``{"error": {…}}``, Anthropic's adds ``"type": "error"``, Ollama's own is ``{"error": "…"}``. The
    form of Mistral and older vLLM is flat: ``{"object": "error", …}``.
    """
    found = raw.get("error")
    if isinstance(found, Mapping) and found:
        return found
    if isinstance(found, str) and found:
        return {"message": found}
    return raw if raw.get("type") == "error" or str(raw.get("object")).lower() == "error" else None


def error_of_choices(choices: Any) -> Mapping[str, Any] | None:
    """Return the error that ended a choice of a chat completion, ``{}`` for an unnamed one; None if there is none."""
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, Mapping):
            continue
        if _MALFORMED in f"{choice.get('finish_reason')} {choice.get('native_finish_reason')}".lower():
            return {"code": _MALFORMED, "message": "The model's tool call was malformed."}
        found = error_of(choice)
        if found is not None or choice.get("finish_reason") == "error":
            return found or {}
    return None


def status_of(error: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that an error amounts to, by its number, else by its name; None if it has neither."""
    for name in ("code", "status", "status_code"):
        value = error.get(name)
        if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value, re.ASCII):
            return int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    names = f"{error.get('code')} {error.get('type')}"
    return next((status for word, status in _STATUSES.items() if word in names), None)


def message_of(error: Mapping[str, Any]) -> str:
    """Return the provider's own words about an error, empty if it has none."""
    metadata = error.get("metadata")
    # OpenRouter writes "Provider returned error" and puts the provider's words beside it.
    upstream = metadata.get("raw") if isinstance(metadata, Mapping) else None
    parts = (_words(error.get("message")), _words(error.get("detail")), upstream if isinstance(upstream, str) else "")
    return " ".join(part[:_LONGEST] for part in parts if part)


def model_error(error: Mapping[str, Any]) -> ModelError | None:
    """Return the error if it is the model's or a surrounding filter's; None for any other error."""
    words, names, metadata = message_of(error), f"{error.get('code')} {error.get('type')}", error.get("metadata")
    flagged = isinstance(metadata, Mapping) and "flagged_input" in metadata
    if flagged or _FILTERED.search(names) or _FILTER_WORDS.search(words):
        return ModelError(words, "", Finish.REFUSED)
    is_call = _BAD_CALL.search(f"{names} {words}")
    if not is_call and _WRONG_FORM not in names:
        return None
    written = error.get("failed_generation")
    if not isinstance(written, str):
        quoted = _QUOTED_CALL.search(_words(error.get("message")))
        written = quoted[1] if quoted else ""
    return ModelError(words, written, Finish.BAD_CALL if is_call else Finish.STOPPED)


def refused_setting(error: Mapping[str, Any]) -> str:
    """Return the endpoint setting whose parameter the provider rejects as unknown; empty for none."""
    words = f"{error.get('code')} {error.get('param')} {message_of(error)}"
    if not _REFUSED_NAME.search(words):
        return ""
    return next((setting for setting, pattern in _SETTINGS.items() if pattern.search(words)), "")


def _words(value: Any) -> str:
    """Return the text of a message, or of the list of invalid fields that some validators send instead."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_words, value[:_MOST_DETAILS])))
    if not isinstance(value, Mapping):
        return ""
    words = next(filter(None, (_words(value.get(name)) for name in ("msg", "message", "detail"))), "")
    place = value.get("loc")
    return f"{'.'.join(map(str, place))}: {words}" if isinstance(place, list) else words
