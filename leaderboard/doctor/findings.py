"""Run checks side by side, each within a time limit, and collect their findings without secrets."""

from __future__ import annotations

import re
import threading
import time
import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import connections
from urllib3.exceptions import DependencyWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SECONDS: Final = 50.0
"""How long all checks together may take."""
_SHOWN_CHARACTERS: Final = 700
_USER_INFO: Final = re.compile(r"(?<=://)[^/\s@]*@")
_SHORTEST_SECRET: Final = 8
"""Shorter values are parts of other words; in addresses they are removed, too."""


class State(StrEnum):
    """How a finding is marked in the output."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "FAILED"


class Finding(NamedTuple):
    """What a check found, and what to do where that is not in order."""

    name: str
    state: State
    found: str
    todo: str = ""


class Check(NamedTuple):
    """A check; ``find`` yields its findings as they are made."""

    name: str
    find: Callable[[], Iterable[Finding]]


def ok(name: str, found: str) -> Finding:
    """Return a finding in order."""
    return Finding(name, State.OK, found)


def warning(name: str, found: str, todo: str) -> Finding:
    """Return a finding that does not stop the instance, but should be changed."""
    return Finding(name, State.WARNING, found, todo)


def failed(name: str, found: str, todo: str) -> Finding:
    """Return a finding that stops a part of the instance."""
    return Finding(name, State.FAILED, found, todo)


class _Running(threading.Thread):
    """A check in a thread of its own, which does not keep the process alive."""

    def __init__(self, check: Check) -> None:
        super().__init__(daemon=True, name=check.name)
        self.found: list[Finding] = []
        self._check = check
        self.start()

    def run(self) -> None:
        """Collect the findings; an exception becomes one."""
        try:
            for finding in self._check.find():
                self.found.append(finding)
        except Exception as error:  # noqa: BLE001 - a broken check must not end the others
            found = f"the check ended with {type(error).__name__}: {error}"
            self.found.append(failed(self._check.name, found, "Correct what the message names, or report it as a bug."))
        finally:
            connections.close_all()


def examine(checks: Sequence[Check], *, seconds: float = SECONDS) -> Iterator[Finding]:
    """Run ``checks`` side by side; yield their findings in order. One that takes too long has failed."""
    # requests, which checks import, silences it for itself. That is lost if another thread, which imports botocore,
    # restores the filters of before.
    warnings.simplefilter("ignore", DependencyWarning)
    deadline = time.monotonic() + seconds
    for running in [_Running(check) for check in checks]:
        running.join(max(0.0, deadline - time.monotonic()))
        late = running.is_alive()
        yield from map(publishable, list(running.found))
        if late:
            found = f"no result within {seconds:g} s"
            yield failed(running.name, found, "Look at the load of this host and of the service; then try again.")


def publishable(finding: Finding) -> Finding:
    """Return ``finding`` without passwords and keys."""
    return finding._replace(found=_without_secrets(finding.found), todo=_without_secrets(finding.todo))


def _without_secrets(text: str) -> str:
    """Return ``text`` on one line, without passwords and keys of the configuration, and not too long."""
    environment = settings.ENVIRONMENT
    urls = (environment.database_url, environment.redis_url, environment.storage_url, environment.email_url)
    passwords = [urlsplit(url).password or "" for url in urls]
    clients = (environment.github_client_secret, environment.orcid_client_secret)
    secrets = [settings.SECRET_KEY, *environment.endpoint_keys, *clients, *passwords, *map(unquote, passwords)]
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[secret]")
    text = _USER_INFO.sub("", " ".join(text.split()))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} …"
