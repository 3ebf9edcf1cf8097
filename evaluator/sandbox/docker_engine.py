"""Boxes made by a Docker engine on this machine (20.10 or newer), through its Python SDK.

The call filter is stacked upon the engine's own by :mod:`evaluator.sandbox.docker_launcher`, since the allow list of
older engines lets vsock and io_uring through. No log driver: an output flood would otherwise fill the host's disk.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from evaluator.sandbox import docker_launcher, seccomp
from evaluator.sandbox.attached import Attached
from evaluator.sandbox.capture import Capture
from evaluator.sandbox.ownership import BoxName, Owner
from evaluator.sandbox.settings import (
    BOX_SETTINGS_VERSION,
    BOX_VARIABLES,
    INTERPRETER_OPTIONS,
    SHARED_MEMORY_BYTES,
    TMPFS_INODES,
    UNPRIVILEGED_ID,
    check_spec,
)
from evaluator.sandbox.staging import stage_mounts
from evaluator.sandbox.supervise import Ticker
from evaluator.sandbox.types import BoxResult, BoxSpec, Ending, Limits, Mount, SandboxError, SandboxUnavailableError

Client: TypeAlias = Any  # the SDK has no types
Container: TypeAlias = Any

LABEL: Final = "lmr-board-box"
OWNER_LABEL: Final = "lmr-board-owner"
DEADLINE_LABEL: Final = "lmr-board-deadline"

_LAUNCH: Final = "/launch"
_ENGINE_SECONDS: Final = 30
_STOP_SECONDS: Final = 10.0
_SIGNAL_BASE: Final = 128
_LAUNCHER_PROCESSES: Final = 1
_PROBE_LIMITS: Final = Limits(wall_seconds=30.0, cpu_seconds=10)


class DockerSandbox:
    """The :class:`evaluator.sandbox.types.Sandbox` on a Docker engine; one image serves one environment."""

    name = "docker"

    def __init__(self, image: str, state_dir: Path, *, environment: str = "numpy", base_url: str | None = None) -> None:
        """Touches nothing yet.

        Args:
            image: tag, digest or ID; it is resolved once to an ID, and every box starts from that.
            state_dir: where the launcher, its filter and copies of mounts are kept; the engine must see the same path.
            environment: the name under which tasks ask for this image.
            base_url: the engine's socket; by default what ``DOCKER_HOST`` says.
        """
        self._image = image
        self._state_dir = state_dir.resolve()
        self._environment = environment
        self._base_url = base_url
        self._client: Client | None = None
        self._client_of = 0
        self._image_id = ""
        self._checked = False

    def check(self) -> None:
        """Run one trivial box. Raises :class:`SandboxUnavailableError` with what to do when that does not work."""
        if self._checked:
            return
        probe = BoxSpec(
            label="check",
            argv=("python", "-c", "print('ready')"),
            mounts=(),
            limits=_PROBE_LIMITS,
            environment=self._environment,
        )
        try:
            result = self.run(probe)
        except SandboxUnavailableError:
            raise
        except SandboxError as error:
            raise SandboxUnavailableError(f"Docker cannot make a box here: {error}") from error
        if result.stdout != b"ready\n":
            raise SandboxUnavailableError(
                f"a trivial Docker box of image {self._image} ended with {result.ending}, "
                f"exit code {result.exit_code}: {result.stderr[-600:].decode(errors='replace').strip()}"
            )
        self._checked = True

    def environment_digest(self, environment: str) -> str:
        """See :meth:`Sandbox.environment_digest`: image ID, launcher, filter and settings."""
        self._require(environment)
        parts = [str(BOX_SETTINGS_VERSION), self._resolve_image(), _launch_key()]
        return "sha256:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def run(self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False) -> BoxResult:
        """See :meth:`Sandbox.run`. ``peak_memory_bytes`` is not known to the engine once a container has ended."""
        check_spec(spec)
        self._require(spec.environment)
        image = self._resolve_image()
        name = BoxName.fresh(spec)
        with _engine_faults(f"box {spec.label}"), self._staging(name) as folder:
            mounts = (*stage_mounts(spec, folder), Mount(self._launch_folder(), _LAUNCH))
            with self._container(image, name, spec, mounts) as container:
                return _watch(container, spec, cancelled)

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """See :meth:`Sandbox.reap`."""
        left_over: set[str] = set()
        with _engine_faults("looking for boxes left behind"):
            for container in self._engine().containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
                name = _name_of(container)
                if name is not None and name.is_left_over(keep=keep):
                    _remove(container)
                    left_over.add(str(name))
        for folder in self._boxes.iterdir() if self._boxes.is_dir() else ():
            name = BoxName.parse(folder.name)
            if name is not None and name.is_left_over(keep=keep):
                shutil.rmtree(folder, ignore_errors=True)
                left_over.add(folder.name)
        return len(left_over)

    def close(self) -> None:
        """Let go of the connections to the engine; the next call makes new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @property
    def _boxes(self) -> Path:
        return self._state_dir / "docker-boxes"

    def _require(self, environment: str) -> None:
        if environment != self._environment:
            raise SandboxError(
                f"environment {environment!r}: the Docker image {self._image} is for {self._environment!r}"
            )

    def _engine(self) -> Client:
        if self._client is None or self._client_of != os.getpid():
            # A worker forks for each job. Two processes on one connection would get each other's answers.
            self.close()
            self._client = _connect(self._base_url)
            self._client_of = os.getpid()
        return self._client

    def _resolve_image(self) -> str:
        if not self._image_id:
            with _engine_faults(f"looking for the box image {self._image}"):
                self._image_id = str(self._engine().images.get(self._image).id)
        return self._image_id

    def _launch_folder(self) -> Path:
        """A folder with the launcher and the filter, made once for each version of them."""
        folder = self._state_dir / "docker-launch" / _launch_key()
        if not folder.is_dir():
            fresh = folder.with_name(f".{folder.name}.{Owner.current()}")
            fresh.mkdir(parents=True, exist_ok=True)
            (fresh / "launch.py").write_bytes(_launcher_source())
            (fresh / "filter.bpf").write_bytes(seccomp.deny_filter())
            for path in (fresh / "launch.py", fresh / "filter.bpf"):
                path.chmod(0o444)
            fresh.chmod(0o755)
            with suppress(OSError):  # another worker was faster; its folder has the same content
                fresh.rename(folder)
            shutil.rmtree(fresh, ignore_errors=True)
        return folder

    @contextmanager
    def _staging(self, name: BoxName) -> Iterator[Path]:
        folder = self._boxes / str(name)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    @contextmanager
    def _container(self, image: str, name: BoxName, spec: BoxSpec, mounts: tuple[Mount, ...]) -> Iterator[Container]:
        container = self._engine().containers.create(image, **_settings(name, spec, mounts))
        try:
            yield container
        finally:
            _remove(container)


def _settings(name: BoxName, spec: BoxSpec, mounts: tuple[Mount, ...]) -> dict[str, Any]:
    """The container's settings; each is explained in docs/sandboxes.md."""
    types = _sdk().types
    limits = spec.limits
    identity = f"{UNPRIVILEGED_ID}:{UNPRIVILEGED_ID}"
    tmpfs = f"rw,noexec,nosuid,nodev,mode=1777,size={limits.tmpfs_bytes},nr_inodes={TMPFS_INODES}"
    return {
        "entrypoint": ["python3", "-I", "-S", f"{_LAUNCH}/launch.py", f"{_LAUNCH}/filter.bpf"],
        "command": [*INTERPRETER_OPTIONS, *spec.argv[1:]],
        "environment": BOX_VARIABLES,
        "hostname": "box",
        "working_dir": "/tmp",  # noqa: S108
        "user": identity,
        "stdin_open": True,
        "network_mode": "none",
        "ipc_mode": "private",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "tmpfs": {"/tmp": tmpfs},  # noqa: S108
        "shm_size": SHARED_MEMORY_BYTES,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "pids_limit": limits.processes + _LAUNCHER_PROCESSES,
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
        "labels": {LABEL: name.label, OWNER_LABEL: str(name.owner), DEADLINE_LABEL: str(name.deadline)},
        "name": f"lmr-board-{name.label}-{name.nonce}",
    }


def _watch(container: Container, spec: BoxSpec, cancelled: Callable[[], bool]) -> BoxResult:
    capture = Capture(spec.limits)
    attached = Attached(container, stdin=spec.stdin, capture=capture)
    try:
        container.start()
        started = time.monotonic()
        ticker = Ticker(probe=lambda: None, cancelled=cancelled, deadline=started + spec.limits.wall_seconds)
        stopped = attached.run(ticker) or _await_end(container, ticker)
        wall_seconds = time.monotonic() - started
    finally:
        # First the connection, then the container: an engine whose output nobody reads answers no request for it.
        attached.close()
    if stopped is not None:
        _kill(container)
    state = _final_state(container)
    return _result(capture, stopped, state, spec.limits, wall_seconds)


def _await_end(container: Container, ticker: Ticker) -> Ending | None:
    """Wait for a program that has closed its output; the end of the stream alone proves nothing."""
    while _state(container)["Running"]:
        met = ticker.limit_met()
        if met is not None:
            return met
        time.sleep(min(0.02, ticker.wait_seconds()))
    return None


def _final_state(container: Container) -> dict[str, Any]:
    container.wait(timeout=_STOP_SECONDS)
    return _state(container)


def _state(container: Container) -> dict[str, Any]:
    container.reload()
    state: dict[str, Any] = container.attrs["State"]
    return state


def _result(
    capture: Capture, stopped: Ending | None, state: dict[str, Any], limits: Limits, wall_seconds: float
) -> BoxResult:
    code = int(state["ExitCode"])
    if state.get("Error"):
        raise SandboxError(f"the Docker engine could not run the box: {state['Error']}")
    number = max(0, code - _SIGNAL_BASE)
    ending = stopped or _natural_ending(state, number, limits, wall_seconds)
    signalled = stopped is not None or number > 0
    return BoxResult(
        ending=ending,
        exit_code=None if signalled else code,
        signal=(number or int(signal.SIGKILL)) if signalled else None,
        stdout=bytes(capture.stdout),
        stderr=bytes(capture.stderr),
        stderr_truncated=capture.stderr_truncated,
        wall_seconds=wall_seconds,
        peak_memory_bytes=None,
    )


def _natural_ending(state: dict[str, Any], number: int, limits: Limits, wall_seconds: float) -> Ending:
    if state["OOMKilled"]:
        return Ending.OUT_OF_MEMORY
    # A program that ignores SIGXCPU is killed by the kernel one second later; the engine does not say by whom.
    if number == signal.SIGXCPU or (number == signal.SIGKILL and wall_seconds >= limits.cpu_seconds):
        return Ending.CPU_TIMEOUT
    return Ending.SIGNALLED if number else Ending.EXITED


def _kill(container: Container) -> None:
    try:
        container.kill()
    except _sdk().errors.APIError as error:
        if not error.is_client_error():  # 409: it has just ended by itself
            raise


def _remove(container: Container) -> None:
    with suppress(_sdk().errors.NotFound):
        container.remove(force=True, v=True)


def _name_of(container: Container) -> BoxName | None:
    labels = container.labels
    nonce = container.name.rpartition("-")[2]
    return BoxName.parse(f"{labels.get(LABEL)}.{labels.get(OWNER_LABEL)}.{labels.get(DEADLINE_LABEL)}.{nonce}")


def _connect(base_url: str | None) -> Client:
    sdk = _sdk()
    options = {"timeout": _ENGINE_SECONDS}
    try:
        _require_access(base_url or sdk.utils.kwargs_from_env().get("base_url") or sdk.constants.DEFAULT_UNIX_SOCKET)
        client = sdk.DockerClient(base_url=base_url, **options) if base_url else sdk.from_env(**options)
        client.ping()
    except (sdk.errors.DockerException, OSError) as error:
        raise SandboxUnavailableError(f"no Docker engine answers ({error}): start it, or set DOCKER_HOST") from error
    return client


def _require_access(address: str) -> None:
    """Say before the SDK is asked that a socket is not there or not ours: the SDK leaves its own end open then."""
    socket = Path(address.removeprefix("http+").removeprefix("unix://"))
    if "unix://" in address and not os.access(socket, os.R_OK | os.W_OK):
        found = "may not be opened by this user" if socket.exists() else "does not exist"
        raise SandboxUnavailableError(
            f"no Docker engine answers ({socket} {found}): start it, or set DOCKER_HOST; its users are in group docker"
        )


@contextmanager
def _engine_faults(what: str) -> Iterator[None]:
    """Turn what the host, the SDK and its HTTP library (whose errors are OSErrors) raise into a fault of ours."""
    errors = _sdk().errors
    try:
        yield
    except errors.ImageNotFound as error:
        raise SandboxUnavailableError(
            f"{what}: the image is missing ({error}): make it with python -m evaluator.sandbox.build_image"
        ) from error
    except errors.DockerException as error:
        raise SandboxError(f"{what}: the Docker engine says: {error}") from error
    except OSError as error:
        raise SandboxError(f"{what}: the host or the connection to the Docker engine failed: {error}") from error


def _sdk() -> Any:
    """The SDK, loaded late: it is slow to import, and who uses bubblewrap does not need it."""
    return importlib.import_module("docker")


def _launcher_source() -> bytes:
    return Path(docker_launcher.__file__).read_bytes()


def _launch_key() -> str:
    return hashlib.sha256(_launcher_source() + seccomp.deny_filter()).hexdigest()[:24]
