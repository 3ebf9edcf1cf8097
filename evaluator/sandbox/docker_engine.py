"""Boxes made by a Docker engine on this machine (20.10 or newer), through its Python SDK.

The call filter is stacked upon the engine's own by :mod:`evaluator.sandbox.docker_launcher`, since the allow list of
older engines lets vsock and io_uring through. No log driver: an output flood would otherwise fill the host's disk.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from evaluator.sandbox import docker_launcher, seccomp
from evaluator.sandbox.docker_client import (
    DEADLINE_LABEL,
    ENGINE_FAILED,
    LABEL,
    LAUNCH,
    OWNER_LABEL,
    Attached,
    BoxImage,
    Engine,
    container_settings,
    engine_errors,
    look_up,
    sdk,
)
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentList
from evaluator.sandbox.ownership import BoxName, Owner
from evaluator.sandbox.settings import BOX_SETTINGS_VERSION, PROBE, check_spec, require_ready
from evaluator.sandbox.streams import Capture, Ticker
from evaluator.sandbox.trees import readable_mounts
from evaluator.sandbox.types import (
    BoxResult,
    BoxSpec,
    Dialogue,
    Ending,
    Limits,
    Mount,
    SandboxError,
    SandboxUnavailableError,
)

Container: TypeAlias = Any  # the SDK has no types

KILLED_FROM_OUTSIDE: Final = 128 + signal.SIGKILL
"""How the engine reports a first process that was killed. The launcher ends with no such code: whatever runs in a box
cannot kill its first process, so it was the kernel for want of memory, this process, or somebody else."""

_KILLED: Final = (KILLED_FROM_OUTSIDE, docker_launcher.SIGNAL_BASE + signal.SIGKILL)
_STOP_SECONDS: Final = 10.0
_EVENT_SECONDS: Final = 0.3


class DockerSandbox:
    """The :class:`evaluator.sandbox.types.Sandbox` on a Docker engine; each environment has an image."""

    name = "docker"

    def __init__(
        self,
        state_dir: Path,
        *,
        environments: EnvironmentList = SHIPPED,
        runtime: str = "",
        base_url: str | None = None,
    ) -> None:
        """Touches nothing yet.

        Args:
            state_dir: where the launcher, its filter and copies of mounts are kept; the engine must see the same path.
            environments: which image each environment has; resolved once to an ID that every box starts from.
            runtime: what the engine starts boxes with, such as ``runsc`` (gVisor); empty for its own default.
            base_url: the engine's socket; by default what ``DOCKER_HOST`` says.
        """
        self._state_dir = state_dir.resolve()
        self._environments = environments
        self._runtime = runtime
        self._connection = Engine(base_url)
        self._images: dict[str, BoxImage] = {}
        self._checked = False

    def check(self) -> None:
        """Run one trivial box. Raises :class:`SandboxUnavailableError` with what to do when that does not work."""
        if self._checked:
            return
        try:
            result = self.run(PROBE)
        except SandboxUnavailableError:
            raise
        except SandboxError as error:
            raise SandboxUnavailableError(f"Docker cannot make a box here: {error}") from error
        require_ready(result, f"Docker box of image {self._environments.image(PROBE.environment)}")
        self._checked = True

    def environment_digest(self, environment: str) -> str:
        """See :meth:`Sandbox.environment_digest`: image ID, launcher, filter, settings, a named runtime."""
        parts = [str(BOX_SETTINGS_VERSION), self._image(environment).id, _launch_key()]
        parts += [self._runtime] if self._runtime else []
        return "sha256:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        """See :meth:`Sandbox.run`. ``peak_memory_bytes`` is not known to the engine once a container has ended."""
        check_spec(spec)
        image = self._image(spec.environment)
        name = BoxName.fresh(spec)
        with engine_errors(f"box {spec.label}"), self._staging(name) as folder:
            mounts = (*readable_mounts(spec, folder), Mount(self._launch_folder(), LAUNCH))
            settings = container_settings(name, spec, mounts, image, self._runtime)
            with self._container(image, settings) as container:
                return _watch(container, spec, cancelled, dialogue)

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """See :meth:`Sandbox.reap`."""
        left_over: set[str] = set()
        with engine_errors("looking for boxes left behind"):
            containers = self._connection.client().containers
            for container in containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
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
        self._connection.close()

    @property
    def _boxes(self) -> Path:
        return self._state_dir / "docker-boxes"

    def _image(self, environment: str) -> BoxImage:
        if environment not in self._images:
            reference = self._environments.image(environment)
            self._images[environment] = look_up(self._connection.client(), reference, environment)
        return self._images[environment]

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
    def _container(self, image: BoxImage, settings: dict[str, Any]) -> Iterator[Container]:
        try:
            container = self._connection.client().containers.create(image.id, **settings)
        except sdk().errors.ImageNotFound:
            self._images.clear()  # built again meanwhile: the name may already lead to another one
            raise
        except sdk().errors.APIError as error:
            self._refuse_unknown_runtime(error)
            raise
        try:
            yield container
        finally:
            _remove(container)

    def _refuse_unknown_runtime(self, error: Exception) -> None:
        """Raise :class:`SandboxUnavailableError` when that is what ``error``, the engine's own, is about."""
        if self._runtime and "runtime" in str(error).lower():
            known = ", ".join(sorted(self._connection.client().info().get("Runtimes") or ()))
            raise SandboxUnavailableError(
                f"the Docker engine does not know the runtime {self._runtime!r} that SANDBOX_RUNTIME names; it has "
                f"{known}: install it and name it in the engine's daemon.json (docs/sandboxes.md) ({error})"
            ) from error


def _watch(container: Container, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult:
    capture = Capture(spec.limits, dialogue)
    attached = Attached(container, stdin=spec.stdin, capture=capture, feed=dialogue.feed if dialogue else None)
    try:
        container.start()
        started = time.monotonic()
        ticker = Ticker(probe=lambda: None, cancelled=cancelled, deadline=started + spec.limits.wall_seconds)
        stopped = attached.run(ticker) or _await_end(container, ticker)
        wall_seconds = time.monotonic() - started
    finally:
        # First the connection, then the container: an engine whose output nobody reads answers no request for it.
        attached.close()
    if stopped is None:
        state = _final_state(container)
    else:
        _kill(container)
        container.wait(timeout=_STOP_SECONDS)
        state = _state(container)
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
    state = _state(container)
    # That a container was out of memory is an event of its own, which may come after its end.
    deadline = time.monotonic() + _EVENT_SECONDS
    while state["ExitCode"] in _KILLED and not state["OOMKilled"] and time.monotonic() < deadline:
        time.sleep(0.05)
        state = _state(container)
    return state


def _state(container: Container) -> dict[str, Any]:
    container.reload()
    state: dict[str, Any] = container.attrs["State"]
    return state


def _result(
    capture: Capture, stopped: Ending | None, state: dict[str, Any], limits: Limits, wall_seconds: float
) -> BoxResult:
    code = int(state["ExitCode"])
    if state.get("Error"):
        raise SandboxError(f"the Docker engine could not run the box: {state['Error']}", public=ENGINE_FAILED)
    if stopped is None and code == KILLED_FROM_OUTSIDE and not state["OOMKilled"]:
        raise SandboxError(
            "somebody killed the box from outside: the Docker engine was stopped, or the container was",
            public=ENGINE_FAILED,
        )
    number = int(signal.SIGKILL) if code == KILLED_FROM_OUTSIDE else max(0, code - docker_launcher.SIGNAL_BASE)
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
    except sdk().errors.APIError as error:
        if not error.is_client_error():  # 409: it has just ended by itself
            raise


def _remove(container: Container) -> None:
    """Remove it, in up to three tries: an engine that notes an event of it meanwhile finds its folder not empty."""
    for pause in (0.2, 1.0, 0.0):
        try:
            container.remove(force=True, v=True)
        except sdk().errors.NotFound:
            return
        except sdk().errors.APIError:
            if not pause:
                raise
            time.sleep(pause)
        else:
            return


def _name_of(container: Container) -> BoxName | None:
    labels = container.labels
    nonce = container.name.rpartition("-")[2]
    return BoxName.parse(f"{labels.get(LABEL)}.{labels.get(OWNER_LABEL)}.{labels.get(DEADLINE_LABEL)}.{nonce}")


def _launcher_source() -> bytes:
    return Path(docker_launcher.__file__).read_bytes()


def _launch_key() -> str:
    return hashlib.sha256(_launcher_source() + seccomp.deny_filter()).hexdigest()[:24]
