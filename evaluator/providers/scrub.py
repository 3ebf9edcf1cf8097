"""Keeping keys and bodies out of the logs, whatever level they are set to."""

from __future__ import annotations

import logging
from typing import Final

# At DEBUG these write addresses, headers and exceptions, and httpx2 at INFO the server's own reason phrase: words of a
# stranger, who may repeat the key. A filter holds where a level could be lowered again by the site's configuration.
LOGGERS: Final = (
    "anthropic",
    "anthropic._base_client",
    "anthropic._legacy_response",
    "anthropic._response",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.proxy",
    "httpx2",
    "openai",
    "openai._base_client",
    "openai._legacy_response",
    "openai._response",
)


def silence() -> None:
    """Let no record below a warning pass from the libraries that see requests. Calling it again changes nothing."""
    for name in LOGGERS:
        # Adding the same function twice adds it once.
        logging.getLogger(name).addFilter(_is_warning)


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING
