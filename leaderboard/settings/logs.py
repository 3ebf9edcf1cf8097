"""Configure structured logs: one line per event, for reading (``console``) or for machines (``json``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from submissions.highlighting import with_visible_marks

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

_SECRETS: Final = re.compile(
    r"(?:(?<=reviews/join/)|(?<=team-invitations/)|(?<=password/reset/key/)|(?<=confirm-email/)|(?<=notices/off/))"
    r"[\w.:%-]+|(?:(?<=reviews%2Fjoin%2F)|(?<=team-invitations%2F))[\w.:-]+",
    re.IGNORECASE,
)
"""Tokens in addresses: of invitations, new passwords, e-mail addresses, and links that turn notices off.

Their holder can use them.
"""

REQUEST_ID: Final = "REQUEST_ID"
"""The key of a request's id in ``HttpRequest.META``; names of headers begin with ``HTTP_`` there."""

_LINES: Final = frozenset({"exception", "stack"})
"""The fields that may contain several lines: tracebacks."""


def logging_settings(
    *, level: str, form: str, host: str = "", process: str = "", report: Processor | None = None
) -> dict[str, Any]:
    """Configure structlog and return the ``LOGGING`` dictionary that it writes through.

    ``form`` is ``console`` or ``json``. Logs go to standard error, which the supervisor writes to files. Every line
    names ``host`` and ``process``, unless the code that writes it has bound a more exact name. ``report`` gets each
    line with its error, before the error becomes text.
    """
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        _with({"host": host, "process": process}),
        _with_request_id,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.PositionalArgumentsFormatter(),
        _without_secrets,
    ]
    structlog.configure(
        processors=[
            *shared,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer: Any = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *([report] if report else []),
                    structlog.processors.format_exc_info,
                    _with_visible_characters,
                    renderer,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own settings give it a level and handlers. Its debug lines, each query and absent variable of a
            # template, are for Django's developers.
            "django": {"level": "INFO" if level == "DEBUG" else level},
            "django.server": {"handlers": ["stderr"], "level": level, "propagate": False},
            "rq": {"level": "WARNING"},
        },
    }


def process_name(arguments: list[str]) -> str:
    """Return a name for the process with this command line: the command of ``manage.py``, or the web server."""
    path = Path(arguments[0] if arguments else "")
    if path.name == "manage.py" and arguments[1:]:
        return arguments[1]
    return "web" if "gunicorn" in path.parts else path.name


def _with(facts: Mapping[str, str]) -> Processor:
    known = {name: value for name, value in facts.items() if value}

    def add(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:  # noqa: ARG001 - structlog's
        return {**known, **event}

    return add


def _with_request_id(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:  # noqa: ARG001 - structlog's
    """Add the id of the request that Django reports on, after its own context has ended (``Not Found``)."""
    # The development server's records have its socket under this name.
    found = getattr(getattr(event.get("_record"), "request", None), "META", {})
    if "request_id" not in event and REQUEST_ID in found:
        event["request_id"] = found[REQUEST_ID]
    return event


def _without_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:  # noqa: ARG001 - structlog's
    return {name: _SECRETS.sub("[secret]", value) if isinstance(value, str) else value for name, value in event.items()}


def _with_visible_characters(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:  # noqa: ARG001 - structlog's
    """Make control characters visible: addresses, names and exception messages are untrusted text, which must neither
    hide characters nor forge lines.
    """
    return {name: _visible(value, one_line=name not in _LINES) for name, value in event.items()}


def _visible(value: Any, *, one_line: bool) -> Any:
    if isinstance(value, str):
        text = with_visible_marks(value).replace("\r", "\\r")
        return text.replace("\n", "\\n") if one_line else text
    if isinstance(value, Mapping):
        return {key: _visible(item, one_line=one_line) for key, item in value.items()}
    return [_visible(item, one_line=one_line) for item in value] if isinstance(value, list | tuple) else value
