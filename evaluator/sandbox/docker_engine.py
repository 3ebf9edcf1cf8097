"""Boxes made by a Docker engine on this machine (20.10 or newer), through its Python SDK.

The call filter is added to the engine's own by :mod:`evaluator.sandbox.docker_launcher`, since the allow list of older
engines permits vsock and io_uring. There is no log driver: an output flood would otherwise fill the host's disk.
"""

from __future__ import annotations

import hashlib
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from evaluator.sandbox import docker_launcher
from evaluator.sandbox.box import BOX_SETTINGS_VERSION, LocalSandbox
from evaluator.sandbox.box_names import BoxName
from evaluator.sandbox.docker_client import (
    ENGINE_FAILED,
    LABEL,
    NAME_PREFIX,
    BoxImage,
    Container,
    Engine,
    attached,
    container_settings,
    engine_errors,
    look_up,
    sdk,
)
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentList
from evaluator.sandbox.host_users import DEFAULT_HOST_ID
from evaluator.sandbox.interface import (
    BoxResult,
    BoxSpec,
    Dialogue,
    Ending,
    SandboxError,
    SandboxUnavailableError,
)
from evaluator.sandbox.streams import Capture, Ticker

KILLED_FROM_OUTSIDE: Final = 128 + signal.SIGKILL
"""Exit code that the engine reports for a first process that was killed. The launcher never ends with this code, and a
box's processes cannot kill their first one, so the cause is the kernel for lack of memory, this process, or an
outsider."""

_KILLED: Final = (KILLED_FROM_OUTSIDE, docker_launcher.SIGNAL_BASE + signal.SIGKILL)
_LAUNCH_FOLDER: Final = "launch"
_STOP_SECONDS: Final = 10.0
_EVENT_SECONDS: Final = 0.3


class DockerSandbox(LocalSandbox):
    """Boxes of a Docker engine; each environment has an image.

    ``peak_memory_bytes`` is unknown, since the engine discards it when a container ends.
    """

    name = "docker"

    def __init__(
        self,
        state_dir: Path,
        *,
        environments: EnvironmentList = SHIPPED,
        runtime: str = "",
        base_url: str | None = None,
        host_uid: int = DEFAULT_HOST_ID,
    ) -> None:
        """Store the settings; touch nothing yet.

        Args:
            state_dir: where the launcher, its filter and copies of mounts are stored; the engine must see the same
                path.
            environments: which image each environment has; resolved once to an ID that every box starts from.
            runtime: what the engine starts boxes with, such as ``runsc`` (gVisor); empty for its own default.
            base_url: the engine's socket; the default is ``DOCKER_HOST``'s.
            host_uid: see :class:`LocalSandbox`.
        """
        super().__init__(state_dir.resolve(), environments, host_uid=host_uid)
        self._runtime = runtime
        if runtime:
            self._silence += f"; {runtime}'s own log says more (gVisor: runtimeArgs --debug and --debug-log=FOLDER/)"
        self._connection = Engine(base_url)
        self._images: dict[str, BoxImage] = {}

    def environment_digest(self, environment: str) -> str:
        """See :meth:`Sandbox.environment_digest`: image ID, launcher, filter, settings, a named runtime."""
        parts = [str(BOX_SETTINGS_VERSION), self._image(environment).id, _launch_key(self.call_filter(environment))]
        parts += [self._runtime] if self._runtime else []
        return "sha256:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def close(self) -> None:
        """Close the connections to the engine; the next call opens new ones."""
        self._connection.close()

    def _run(self, name: BoxName, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult:
        image = self._image(spec.environment)
        folder = self._boxes / str(name)
        user = self._take_user(folder)
        launch = folder / _LAUNCH_FOLDER
        _put_launcher(launch, self.call_filter(spec.environment))
        settings = container_settings(name, user, spec, launch, image, self._runtime)
        with self._container(image, settings) as container:
            return _watch(container, spec, cancelled, dialogue)

    def _running(self) -> list[str]:
        with engine_errors("looking for boxes left behind"):
            containers = self._connection.client().containers
            found = containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
            return [container.name.removeprefix(NAME_PREFIX) for container in found]

    def _remove(self, name: str) -> None:
        with engine_errors(f"removing box {name}"), suppress(sdk().errors.NotFound):
            _remove(self._connection.client().containers.get(f"{NAME_PREFIX}{name}"))

    def _host_errors(self, what: str) -> AbstractContextManager[None]:
        return engine_errors(what)

    @property
    def _boxes(self) -> Path:
        return self._wanted_state_dir / "docker-boxes"

    def _image(self, environment: str) -> BoxImage:
        if environment not in self._images:
            reference = self._environments.image(environment)
            self._images[environment] = look_up(self._connection.client(), reference, environment)
        return self._images[environment]

    @contextmanager
    def _container(self, image: BoxImage, settings: dict[str, Any]) -> Iterator[Container]:
        try:
            container = self._connection.client().containers.create(image.id, **settings)
        except sdk().errors.ImageNotFound:
            self._images.clear()  # rebuilt meanwhile: the name may now refer to another image
            raise
        except sdk().errors.APIError as error:
            self._refuse_unknown_runtime(error)
            raise
        try:
            yield container
        finally:
            _remove(container)

    def _refuse_unknown_runtime(self, error: Exception) -> None:
        """Raise :class:`SandboxUnavailableError` if the engine's ``error`` is about the runtime."""
        if self._runtime and "runtime" in str(error).lower():
            known = ", ".join(sorted(self._connection.client().info().get("Runtimes") or ()))
            raise SandboxUnavailableError(
                f"the Docker engine does not know the runtime {self._runtime!r} that SANDBOX_RUNTIME names; it has "
                f"{known}: install it and name it in the engine's daemon.json (docs/sandboxes.md) ({error})"
            ) from error


def _watch(container: Container, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult:
    capture = Capture(spec.limits, dialogue)
    with attached(container, stdin=spec.stdin, capture=capture, feed=dialogue.feed if dialogue else None) as pump:
        container.start()
        started = time.monotonic()
        ticker = Ticker(probe=lambda: None, cancelled=cancelled, deadline=started + spec.limits.wall_seconds)
        stopped = pump.run(ticker) or _await_end(container, ticker)
        wall_seconds = time.monotonic() - started
    if stopped is None:
        state = _final_state(container)
    else:
        _kill(container)
        container.wait(timeout=_STOP_SECONDS)
        state = _state(container)
    code, out_of_memory = int(state["ExitCode"]), bool(state["OOMKilled"])
    if state.get("Error"):
        raise SandboxError(f"the Docker engine could not run the box: {state['Error']}", public=ENGINE_FAILED)
    if stopped is None and code == KILLED_FROM_OUTSIDE and not out_of_memory:
        raise SandboxError(
            "the box was killed from outside: the Docker engine was stopped, or the container was",
            public=ENGINE_FAILED,
        )
    return capture.result(
        stopped=stopped,
        code=code,
        number=int(signal.SIGKILL) if code == KILLED_FROM_OUTSIDE else max(0, code - docker_launcher.SIGNAL_BASE),
        out_of_memory=out_of_memory,
        # The kernel kills a program that ignores SIGXCPU one second later; the engine does not report the cause.
        cpu_seconds=wall_seconds,
        wall_seconds=wall_seconds,
    )


def _await_end(container: Container, ticker: Ticker) -> Ending | None:
    """Wait for a program that has closed its output: the end of the stream does not mean that it has ended."""
    while _state(container)["Running"]:
        met = ticker.limit_met()
        if met is not None:
            return met
        time.sleep(min(0.02, ticker.wait_seconds()))
    return None


def _final_state(container: Container) -> dict[str, Any]:
    container.wait(timeout=_STOP_SECONDS)
    state = _state(container)
    # Running out of memory is a separate event, which may arrive after the container's end.
    deadline = time.monotonic() + _EVENT_SECONDS
    while state["ExitCode"] in _KILLED and not state["OOMKilled"] and time.monotonic() < deadline:
        time.sleep(0.05)
        state = _state(container)
    return state


def _state(container: Container) -> dict[str, Any]:
    container.reload()
    state: dict[str, Any] = container.attrs["State"]
    return state


def _kill(container: Container) -> None:
    try:
        container.kill()
    except sdk().errors.APIError as error:
        if not error.is_client_error():  # 409: it has already ended
            raise


def _remove(container: Container) -> None:
    """Remove a container in up to three tries: an engine that logs an event of it finds its folder not empty."""
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


def _launcher_source() -> bytes:
    return Path(docker_launcher.__file__).read_bytes()


def _put_launcher(folder: Path, call_filter: bytes) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    for name, content in (("launch.py", _launcher_source()), ("filter.bpf", call_filter)):
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o444)


def _launch_key(call_filter: bytes) -> str:
    return hashlib.sha256(_launcher_source() + call_filter).hexdigest()[:24]
