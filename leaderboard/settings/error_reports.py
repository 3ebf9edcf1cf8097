"""Send unexpected errors to Sentry: what is logged with a traceback. Imported only where ``SENTRY_DSN`` is set.

An event has an error's class, the lines of code that it came through, and the ids of its log line. Its message is left
out, since it may quote anything: it is in the log, where the ids find it. Requests are not read at all.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import sentry_sdk
from sentry_sdk.integrations.atexit import AtexitIntegration
from sentry_sdk.integrations.dedupe import DedupeIntegration
from sentry_sdk.integrations.excepthook import ExcepthookIntegration
from sentry_sdk.integrations.rq import RqIntegration

from leaderboard.settings.releases import version

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint
    from structlog.typing import EventDict, WrappedLogger

_SENT: Final = ("event_id", "timestamp", "platform", "level", "release", "server_name", "environment", "sdk", "tags")
_IDS: Final = (
    *("host", "process", "request_id", "queue", "submission", "run", "attempt", "answer_request", "judgement"),
    *("upload", "revision", "logger"),
)


def start(*, dsn: str, host: str) -> None:
    """Prepare sending from this process and its forks."""
    sentry_sdk.init(
        dsn=dsn,
        release=f"lmr-board@{version()}",
        server_name=host,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        before_send=_reduced,
        auto_session_tracking=False,
        # Others would add requests, prompts, queries and command lines, or import large libraries.
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[
            DedupeIntegration(),
            ExcepthookIntegration(),
            RqIntegration(),  # sends what is left before a job's process ends
            AtexitIntegration(callback=lambda *_: None),
        ],
    )


def report(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:  # noqa: ARG001 - structlog's
    """Send the error of a log line, if it has one, with the line's ids (a processor of structlog)."""
    error = event.get("exc_info")
    if error:
        with sentry_sdk.new_scope() as scope:
            scope.set_tags({name: str(event[name]) for name in _IDS if event.get(name) is not None})
            scope.capture_exception(sys.exc_info() if error is True else error)
    return event


def _reduced(event: Event, _hint: Hint) -> Event:
    """Keep what is known to be harmless."""
    found: dict[str, Any] = {name: value for name, value in event.items() if name in _SENT}
    for each in event.get("exception", {}).get("values", ()):
        kept = {name: each[name] for name in ("type", "module", "mechanism", "stacktrace") if each.get(name)}
        found.setdefault("exception", {"values": []})["values"].append(kept)
    return found  # type: ignore[return-value]
