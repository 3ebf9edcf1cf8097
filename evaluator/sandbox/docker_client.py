"""Client of a Docker engine: the connection, the settings of a box's isolation, and a box's streams."""

from __future__ import annotations

import importlib
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from evaluator.sandbox.box import BOX_VARIABLES, INTERPRETER_OPTIONS
from evaluator.sandbox.box_names import BoxName
from evaluator.sandbox.interface import (
    DISK_IS_FULL,
    SHARED_MEMORY_BYTES,
    BoxSpec,
    Feed,
    Mount,
    SandboxError,
    SandboxUnavailableError,
    host_error,
)
from evaluator.sandbox.streams import Capture, Pump

Client: TypeAlias = Any  # the SDK has no types
Container: TypeAlias = Any

LABEL: Final = "lmr-board-box"
NAME_PREFIX: Final = "lmr-board-box."
"""Prefix of a container's name, followed by the box's name."""

LAUNCH: Final = "/launch"
"""Where a box sees the launcher and its filter."""

NO_ANSWER: Final = "the sandbox engine does not answer"
ENGINE_FAILED: Final = "the sandbox engine failed"
NO_IMAGE: Final = "the environment's image is missing"

_LAUNCHER_PROCESSES: Final = 1
_HOST_THREADS: Final = 64
"""Allowance on the host for each process of a box with a kernel of its own. gVisor (release 20240729) had up to 26
threads for each, and it ends the whole box when it cannot make another one."""

_SECONDS: Final = 30
_HELP: Final = "start it, or set DOCKER_HOST"
_HEADER: Final = struct.Struct(">BxxxI")
_STDOUT: Final = 1
_STDERR: Final = 2


class Engine:
    """One engine, with a separate connection for each process."""

    def __init__(self, base_url: str | None) -> None:
        """Connect to nothing yet. ``base_url`` is the engine's socket; the default is ``DOCKER_HOST``'s."""
        self._base_url = base_url
        self._client: Client | None = None
        self._client_of = 0
        self._lock = threading.Lock()

    def client(self) -> Client:
        """Return the SDK's client. Raises :class:`SandboxUnavailableError` when no engine answers."""
        with self._lock:  # an agent's box runs in a separate thread
            if self._client is None or self._client_of != os.getpid():
                # A worker forks for each job. Two processes on one connection would receive each other's answers.
                self.close()
                self._client = _connect(self._base_url)
                self._client_of = os.getpid()
            return self._client

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None


def sdk() -> Any:
    """Import the SDK late: it is slow to import, and bubblewrap does not need it."""
    return importlib.import_module("docker")


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn exceptions of the host, the SDK and its HTTP library (OSErrors) into a SandboxError."""
    try:
        yield
    except sdk().errors.DockerException as error:
        if "no space left on device" in str(error).lower():
            raise SandboxError(
                f"{what}: the disk of the Docker engine is full: make room on it ({error})", public=DISK_IS_FULL
            ) from error
        raise SandboxError(f"{what}: the Docker engine reports: {error}", public=ENGINE_FAILED) from error
    except OSError as error:
        requests = importlib.import_module("requests")  # the SDK's HTTP library
        if isinstance(error, TimeoutError | requests.Timeout):
            # Not "unavailable": a box could cause it repeatedly, and such a run must be held in the end.
            raise SandboxError(
                f"{what}: the Docker engine took more than {_SECONDS} s to answer: look at its load ({error})",
                public=NO_ANSWER,
            ) from error
        if isinstance(error, ConnectionError | requests.RequestException):
            raise SandboxUnavailableError(
                f"{what}: the Docker engine went away ({error}): {_HELP}", public=NO_ANSWER
            ) from error
        raise host_error(what, error) from error


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
    """Check the socket's existence and permissions before the SDK, which leaves its own end open on failure."""
    socket = Path(address.removeprefix("http+").removeprefix("unix://"))
    if "unix://" in address and not os.access(socket, os.R_OK | os.W_OK):
        found = "may not be opened by this user" if socket.exists() else "does not exist"
        raise SandboxUnavailableError(
            f"no Docker engine answers ({socket} {found}): {_HELP}; its users are in group docker", public=NO_ANSWER
        )


@dataclass(frozen=True, slots=True)
class BoxImage:
    """One image of the engine: ID, its own ``PATH``, and the folders that it would write to disk."""

    id: str
    path: str
    volumes: tuple[str, ...]


def look_up(client: Client, reference: str, environment: str) -> BoxImage:
    """Return the image ``reference`` (tag, digest or ID), which ``environment`` needs.

    Raises:
        SandboxUnavailableError: the image or the engine is missing.
        SandboxError: the engine failed.
    """
    with engine_errors(f"looking for the box image {reference}"):
        try:
            image = client.images.get(reference)
        except sdk().errors.ImageNotFound as error:
            raise SandboxUnavailableError(
                f"the box image {reference} of the environment {environment!r} is missing: make it with "
                "manage.py build_images (docs/operating.md)",
                public=NO_IMAGE,
            ) from error
        config: dict[str, Any] = image.attrs["Config"] or {}
    variables = dict(variable.partition("=")[::2] for variable in config.get("Env") or ())
    return BoxImage(str(image.id), variables.get("PATH", ""), tuple(sorted(config.get("Volumes") or ())))


def container_settings(
    name: BoxName, user: int, spec: BoxSpec, launcher: Path, image: BoxImage, runtime: str
) -> dict[str, Any]:
    """Return the arguments of the SDK's ``containers.create`` besides the image; docs/sandboxes.md explains each."""
    types = sdk().types
    limits = spec.limits
    # Images of papers may have Python anywhere (/opt/conda/bin): their PATH comes first.
    path = ":".join(filter(None, (image.path, BOX_VARIABLES["PATH"])))
    tmpfs = f"rw,noexec,nosuid,nodev,mode=1777,size={limits.tmpfs_bytes},nr_inodes={limits.tmpfs_files}"
    mounts = (*spec.mounts, Mount(launcher, LAUNCH))
    processes = limits.processes + _LAUNCHER_PROCESSES
    settings: dict[str, Any] = {
        "labels": {LABEL: name.label},
        "name": f"{NAME_PREFIX}{name}",
        "entrypoint": ["python3", "-I", "-S", f"{LAUNCH}/launch.py", f"{LAUNCH}/filter.bpf"],
        "command": [*INTERPRETER_OPTIONS, *spec.argv[1:]],
        "stdin_open": True,
        "environment": {**BOX_VARIABLES, "PATH": path, **dict(spec.variables)},
        "hostname": "box",
        "working_dir": "/tmp",  # noqa: S108
        "user": f"{user}:{user}",
        "healthcheck": {"test": ["NONE"]},
        "network_mode": "none",
        "ipc_mode": "private",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "tmpfs": {**dict.fromkeys(image.volumes, "ro,size=4k"), "/tmp": tmpfs},  # noqa: S108
        "shm_size": SHARED_MEMORY_BYTES,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "pids_limit": processes,
        "nano_cpus": 1_000_000_000,
        "oom_score_adj": 500,
        "ulimits": [
            types.Ulimit(name="core", soft=0, hard=0),
            types.Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
            types.Ulimit(name="fsize", soft=limits.file_bytes, hard=limits.file_bytes),
            types.Ulimit(name="cpu", soft=limits.cpu_seconds, hard=limits.cpu_seconds + 1),
        ],
        "log_config": types.LogConfig(type="none"),
        "mounts": [types.Mount(mount.target, str(mount.source), type="bind", read_only=True) for mount in mounts],
    }
    if runtime:
        # The host's control group counts the runtime's threads. Its kernel counts the box's processes, by their user.
        settings["ulimits"].append(types.Ulimit(name="nproc", soft=processes, hard=processes))
        settings |= {"runtime": runtime, "pids_limit": processes * _HOST_THREADS}
    return settings


@contextmanager
def attached(container: Any, *, stdin: bytes, capture: Capture, feed: Feed | None) -> Iterator[Pump]:
    """Return a pump for a container's streams, made before it starts so that nothing is missed.

    Closed before the container is killed: an engine whose output is not read does not answer requests for it.
    """
    with ExitStack() as stack:
        wrapper = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        stack.callback(wrapper.close)
        connection: socket.socket = stack.enter_context(getattr(wrapper, "_sock", wrapper))
        connection.setblocking(False)
        reader, writer = connection.fileno(), os.dup(connection.fileno())
        stack.callback(os.close, writer)
        pump = Pump(
            readers={reader: Demultiplexer(capture).feed},
            writer=writer,
            close_writer=partial(connection.shutdown, socket.SHUT_WR),
            ended=reader,
            stdin=stdin,
            capture=capture,
            feed=feed,
        )
        stack.callback(pump.close)
        yield pump


class Demultiplexer:
    """Splits the bytes of an attached connection into a :class:`Capture`, regardless of how they are cut.

    Wire format (Docker Engine API, "Attach to a container", stream format): frames with a header of eight bytes -
    stream number, three zeros, payload size as a big-endian 32-bit number - and the payload.
    """

    def __init__(self, capture: Capture) -> None:
        """Pass every payload byte to ``capture`` as soon as it arrives."""
        self._add = {_STDOUT: capture.add_stdout, _STDERR: capture.add_stderr}
        self._header = b""
        self._stream = 0
        self._missing = 0

    def feed(self, data: bytes) -> None:
        """Process the next bytes. Raises :class:`SandboxError` when they do not have the format."""
        while data:
            if self._missing:
                payload, data = data[: self._missing], data[self._missing :]
                self._missing -= len(payload)
                self._add[self._stream](payload)
                continue
            room = _HEADER.size - len(self._header)
            self._header, data = self._header + data[:room], data[room:]
            if len(self._header) == _HEADER.size:
                self._stream, self._missing = _HEADER.unpack(self._header)
                self._header = b""
                if self._stream not in self._add:
                    raise SandboxError(f"the Docker engine sent a frame of unknown stream {self._stream}")
