"""This instance's evaluation set-up: the configured sandbox, the list of environments, folders for boxes' files."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from django.conf import settings

from evaluator.queue.processes import Owner
from evaluator.sandbox.environment_list import EnvironmentList, read_environment_list
from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError

if TYPE_CHECKING:
    from evaluator.sandbox.interface import Sandbox

EVALUATOR_VERSION = "6"
"""Part of what makes two test runs comparable. Raise it when the driver, the comparison, the verdict or the derivation
of private seeds from an epoch changes. Version 5 tests every answer to an upstream task in-process. Version 6 gives
answers that used what a test's stand-in lacks an outcome of their own; they do not pass in any version."""

_SAME: Final = frozenset({"5", EVALUATOR_VERSION})
"""Versions that give the same verdicts."""
_SAME_WHERE_SEALED: Final = _SAME | {"4"}
"""Versions that give the same verdicts on sealed tasks."""

_ABANDONED_SECONDS: Final = 24 * 3600.0
"""No run takes so long."""

Kind = Literal["bubblewrap", "docker"]
KINDS: Final[tuple[Kind, ...]] = ("bubblewrap", "docker")

_SETTINGS: Final = (
    *("evaluator_sandbox", "sandbox_python", "sandbox_host_uid", "sandbox_allow_no_cgroups", "sandbox_image"),
    *("sandbox_runtime", "sandbox_idle_minutes"),
)


def is_comparable(version: str, *, sealed: bool) -> bool:
    """Return whether evaluator ``version`` gives this one's verdicts on answers to ``sealed`` or upstream tasks."""
    return version in (_SAME_WHERE_SEALED if sealed else _SAME)


def sandbox_state_folder() -> Path:
    """Return the folder where sandboxes store environments and copies of mounts."""
    return Path(settings.DATA_DIR) / "sandbox"


def environment_list() -> EnvironmentList:
    """Return the operator's current list of environments. Raises ``SandboxError`` that locates a mistake in it."""
    file = settings.ENVIRONMENT.environments_file
    try:
        status = file.stat() if file is not None else None
    except OSError:
        status = None
    found = _read(file, (status.st_mtime_ns, status.st_size) if status is not None else None)
    return found.with_numpy_image(settings.ENVIRONMENT.sandbox_image)


@lru_cache(maxsize=4)
def _read(file: Path | None, state: tuple[int, int] | None) -> EnvironmentList:  # noqa: ARG001  part of the cache's key
    return read_environment_list(file)


def make_sandbox(kind: Kind) -> Sandbox:
    """Return the sandbox ``kind`` as configured, whether it can run here or not."""
    # Imported below: pages use this module only for the list of environments.
    from evaluator.sandbox.measuring import Measured

    environment = settings.ENVIRONMENT
    if kind == "docker":
        from evaluator.sandbox.docker_engine import DockerSandbox

        class MeasuredDocker(Measured, DockerSandbox):
            pass

        return MeasuredDocker(
            sandbox_state_folder(),
            environments=environment_list(),
            runtime=environment.sandbox_runtime,
            host_uid=environment.sandbox_host_uid,
        )
    from evaluator.sandbox.bubblewrap import BubblewrapSandbox

    class MeasuredBubblewrap(Measured, BubblewrapSandbox):
        pass

    return MeasuredBubblewrap(
        sandbox_state_folder(),
        environments=environment_list(),
        python=environment.sandbox_python,
        host_uid=environment.sandbox_host_uid,
        allow_unconfined_resources=environment.sandbox_allow_no_cgroups,
        fork_idle_seconds=60.0 * environment.sandbox_idle_minutes,
    )


def configured_sandbox() -> Sandbox:
    """Return the configured sandbox, checked once per process; ``auto`` prefers bubblewrap to Docker.

    Raises ``SandboxUnavailableError`` with the reason of each that was tried; the next call tries again.
    """
    values = [getattr(settings.ENVIRONMENT, name) for name in _SETTINGS]
    return _checked((str(settings.DATA_DIR), environment_list(), *values))


@cache
def _checked(values: tuple[Any, ...]) -> Sandbox:  # noqa: ARG001  part of the cache's key
    kind, runtime = settings.ENVIRONMENT.evaluator_sandbox, settings.ENVIRONMENT.sandbox_runtime
    if runtime and kind == "bubblewrap":
        raise SandboxError("SANDBOX_RUNTIME is for Docker only: leave it empty, or set EVALUATOR_SANDBOX=docker")
    kinds: tuple[Kind, ...] = KINDS if kind == "auto" else (kind,)
    if runtime:  # naming a runtime means wanting its isolation
        kinds = ("docker",)
    reasons: dict[str, SandboxUnavailableError] = {}
    for name in kinds:
        sandbox = make_sandbox(name)
        try:
            sandbox.check()
        except SandboxUnavailableError as error:
            reasons[name] = error
        else:
            return sandbox
    raise SandboxUnavailableError(
        "no sandbox can run here, so nothing is evaluated. "
        + " | ".join(f"{name}: {error}" for name, error in reasons.items()),
        public="; ".join(dict.fromkeys(error.public for error in reasons.values())),
    )


def golden_folder() -> Path:
    """Return the folder where the reference box's outputs are cached; no candidate's box ever sees it."""
    return Path(settings.DATA_DIR) / "golden"


def scratch_folder() -> Path:
    """Return this process's folder for trees of boxes. The process removes its content; the folder stays."""
    folder = Path(settings.DATA_DIR) / "work" / str(Owner.current())
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sweep_scratch() -> int:
    """Remove the folders of dead processes with their content, and return how many there were.

    Processes of another container are invisible here: their folders are removed once they are a day old.
    """
    swept = 0
    place = Path(settings.DATA_DIR) / "work"
    for folder in place.iterdir() if place.is_dir() else ():
        try:
            owner = Owner.parse(folder.name)
        except ValueError:
            continue
        with suppress(FileNotFoundError):  # another container's sweep was faster
            if owner.is_dead() or time.time() - folder.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
                swept += 1
    return swept
