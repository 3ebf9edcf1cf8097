"""The connection to a Docker engine through its Python SDK, and what its failures mean."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from evaluator.sandbox.host_faults import DISK_IS_FULL, host_fault
from evaluator.sandbox.types import SandboxError, SandboxUnavailableError

Client: TypeAlias = Any  # the SDK has no types

NO_ANSWER: Final = "the sandbox engine does not answer"
ENGINE_FAILED: Final = "the sandbox engine failed"
NO_IMAGE: Final = "the environment's image is missing"

_SECONDS: Final = 30
_HELP: Final = "start it, or set DOCKER_HOST"


class Engine:
    """One engine, with a connection of its own for each process that asks."""

    def __init__(self, base_url: str | None) -> None:
        """Touches nothing yet. ``base_url`` is the engine's socket; by default what ``DOCKER_HOST`` says."""
        self._base_url = base_url
        self._client: Client | None = None
        self._client_of = 0
        self._lock = threading.Lock()

    def client(self) -> Client:
        """The SDK's client. Raises :class:`SandboxUnavailableError` when no engine answers."""
        with self._lock:  # two boxes that talk to each other run in two threads
            if self._client is None or self._client_of != os.getpid():
                # A worker forks for each job. Two processes on one connection would get each other's answers.
                self.close()
                self._client = _connect(self._base_url)
                self._client_of = os.getpid()
            return self._client

    def close(self) -> None:
        """Let go of the connections; the next call makes new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None


def sdk() -> Any:
    """The SDK, loaded late: it is slow to import, and who uses bubblewrap does not need it."""
    return importlib.import_module("docker")


@contextmanager
def engine_faults(what: str) -> Iterator[None]:
    """Turn what the host, the SDK and its HTTP library (whose errors are OSErrors) raise into a fault of ours."""
    try:
        yield
    except sdk().errors.DockerException as error:
        if "no space left on device" in str(error).lower():
            raise SandboxError(
                f"{what}: the disk of the Docker engine is full: make room on it ({error})", public=DISK_IS_FULL
            ) from error
        raise SandboxError(f"{what}: the Docker engine says: {error}", public=ENGINE_FAILED) from error
    except OSError as error:
        if _is_timeout(error):
            # Not "unavailable": a box could bring it about again and again, and such a run must be held at last.
            raise SandboxError(
                f"{what}: the Docker engine took more than {_SECONDS} s to answer: look at its load ({error})",
                public=NO_ANSWER,
            ) from error
        if isinstance(error, ConnectionError | importlib.import_module("requests").RequestException):
            raise SandboxUnavailableError(
                f"{what}: the Docker engine went away ({error}): {_HELP}", public=NO_ANSWER
            ) from error
        raise host_fault(what, error) from error


def _is_timeout(error: OSError) -> bool:
    return isinstance(error, TimeoutError | importlib.import_module("requests").Timeout)


def _connect(base_url: str | None) -> Client:
    options = {"timeout": _SECONDS}
    try:
        found = sdk().utils.kwargs_from_env().get("base_url")
        _require_access(base_url or found or sdk().constants.DEFAULT_UNIX_SOCKET)
        client = sdk().DockerClient(base_url=base_url, **options) if base_url else sdk().from_env(**options)
        client.ping()
    except (sdk().errors.DockerException, OSError) as error:
        raise SandboxUnavailableError(f"no Docker engine answers ({error}): {_HELP}", public=NO_ANSWER) from error
    return client


def _require_access(address: str) -> None:
    """Say before the SDK is asked that a socket is not there or not ours: the SDK leaves its own end open then."""
    socket = Path(address.removeprefix("http+").removeprefix("unix://"))
    if "unix://" in address and not os.access(socket, os.R_OK | os.W_OK):
        found = "may not be opened by this user" if socket.exists() else "does not exist"
        raise SandboxUnavailableError(
            f"no Docker engine answers ({socket} {found}): {_HELP}; its users are in group docker", public=NO_ANSWER
        )
