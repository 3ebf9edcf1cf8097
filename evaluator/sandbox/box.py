"""Common parts of both sandboxes: rules for box specifications, staging of mounts, the check, and clean-up."""

from __future__ import annotations

import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Final

from evaluator.sandbox import seccomp
from evaluator.sandbox.box_names import BoxName
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry, EnvironmentList, check_environment_name
from evaluator.sandbox.host_users import DEFAULT_HOST_ID, take_host_user
from evaluator.sandbox.interface import (
    EVALUATOR_ERROR,
    BoxResult,
    BoxSpec,
    Dialogue,
    Limits,
    SandboxError,
    SandboxUnavailableError,
)
from evaluator.sandbox.trees import readable_mounts

BOX_SETTINGS_VERSION: Final = 4
"""Part of every environment digest: raise it when a change in a sandbox could change a program's results."""

INTERPRETER_OPTIONS: Final = ("-I", "-B")

BOX_VARIABLES: Final[dict[str, str]] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108  the box's private tmpfs, its only writable folder
    "TMPDIR": "/tmp",  # noqa: S108
    "LOGNAME": "box",
    "LC_ALL": "C.UTF-8",
    # One thread: the order of additions is then fixed, and a box has one core anyway.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}

PROBE: Final = BoxSpec(
    label="check",
    argv=("python", "-c", "print('ready')"),
    mounts=(),
    limits=Limits(wall_seconds=30.0, cpu_seconds=10),
)
"""The trivial box that checks a sandbox."""

_MESSAGE_BYTES: Final = 600
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_OUR_VARIABLES = re.compile(r"PATH|LD_.*|PYTHON.*")


class LocalSandbox(ABC):
    """Base of :class:`evaluator.sandbox.interface.Sandbox` on this machine, independent of how boxes are made."""

    name: str

    def __init__(
        self,
        state_dir: Path,
        environments: EnvironmentList = SHIPPED,
        *,
        host_uid: int = DEFAULT_HOST_ID,
    ) -> None:
        """Store the settings; touch nothing yet.

        Args:
            state_dir: where copies of mounts are stored.
            environments: what the environments are made from.
            host_uid: the first of the users and groups that boxes run as; no account may have one of them.
        """
        self._wanted_state_dir = state_dir
        self._environments = environments
        self._host_uid = host_uid
        self._silence = "it wrote nothing"
        self._checked = False

    def check(self) -> None:
        """Run one trivial box. Raises :class:`SandboxUnavailableError` with a remedy when it does not work."""
        if self._checked:
            return
        try:
            result = self.run(PROBE)
        except SandboxUnavailableError:
            raise
        except SandboxError as error:
            reason = f"{self.name} cannot make a box here: {error}"
            if error.public == EVALUATOR_ERROR:
                raise SandboxUnavailableError(reason) from error
            raise SandboxUnavailableError(reason, public=error.public) from error
        if result.stdout != b"ready\n":
            raise SandboxUnavailableError(
                f"a trivial box of {self.name} ended with {result.ending}, exit code {result.exit_code}: "
                f"{tail(result.stderr) or self._silence}"
            )
        self._checked = True

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        """See :meth:`Sandbox.run`."""
        check_spec(spec)
        self.environment_digest(spec.environment)  # makes the environment first, outside the box's time
        with self._host_errors(f"box {spec.label}"):
            # If no server takes it, a dialogue cannot be started a second time in a fresh box.
            forked = self._fork(spec, cancelled) if dialogue is None else None
            if forked is not None:
                return forked
            name = BoxName.fresh(spec)
            with self._staging(name) as folder:
                return self._run(name, readable_mounts(spec, folder), cancelled, dialogue)

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """See :meth:`Sandbox.reap`."""
        staged = {entry.name for entry in self._boxes.iterdir()} if self._boxes.is_dir() else set()
        left_over = 0
        for text in {*self._running(), *staged}:
            name = BoxName.parse(text)
            if name is not None and name.is_left_over(keep=keep):
                self._remove(text)
                shutil.rmtree(self._boxes / text, ignore_errors=True)
                left_over += 1
        return left_over

    def entry(self, environment: str) -> EnvironmentEntry:
        """Return the list's entry for ``environment``. Raises :class:`SandboxError` for an unknown one."""
        return self._environments.entry(environment)

    def call_filter(self, environment: str) -> bytes:
        """Return the program that refuses kernel calls in boxes of ``environment``."""
        return seccomp.deny_filter(loopback=self.entry(environment).loopback)

    def _fork(self, spec: BoxSpec, cancelled: Callable[[], bool]) -> BoxResult | None:  # noqa: ARG002 - for bubblewrap
        """Run ``spec`` forked from a process with its packages imported; ``None`` if its box must be started."""
        return None

    def _take_user(self, folder: Path) -> int:
        """Reserve a user and group of the host for the box or server of ``folder``, unique among existing boxes."""
        return take_host_user(self._host_uid, folder, self._boxes.parent / "host-users")

    @contextmanager
    def _staging(self, name: BoxName) -> Iterator[Path]:
        """Create a folder for copies of mounts, which exists while the box runs."""
        folder = self._boxes / str(name)
        folder.mkdir(parents=True, mode=0o700)
        ended = False
        try:
            yield folder
            ended = True
        finally:
            # A box that could not be removed still has its user: the sweep removes the box, then the folder.
            if ended or self._is_gone(str(name)):
                shutil.rmtree(folder)

    def _is_gone(self, name: str) -> bool:
        with suppress(SandboxError):
            return name not in self._running()
        return False  # the engine does not answer

    @property
    @abstractmethod
    def _boxes(self) -> Path:
        """Folder of mount copies, by the boxes' names."""

    @abstractmethod
    def environment_digest(self, environment: str) -> str:
        """See :meth:`Sandbox.environment_digest`."""

    @abstractmethod
    def _host_errors(self, what: str) -> AbstractContextManager[None]:
        """Turn the host's exceptions into a :class:`SandboxError`."""

    @abstractmethod
    def _run(self, name: BoxName, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult:
        """Run ``spec``, which is checked and whose mounts are readable for every user."""

    @abstractmethod
    def _running(self) -> Iterable[str]:
        """Return the names of running boxes, possibly among other names."""

    @abstractmethod
    def _remove(self, name: str) -> None:
        """Kill the box ``name``, if it exists."""


def tail(data: bytes) -> str:
    """Return the end of a log as one printable line."""
    text = data[-_MESSAGE_BYTES:].decode(errors="replace").strip()
    return "".join(character if character.isprintable() else " " for character in text)


def check_spec(spec: BoxSpec) -> None:
    """Raise :class:`SandboxError` when ``spec`` breaks the contract of :class:`BoxSpec`."""
    if not _LABEL.fullmatch(spec.label):
        raise SandboxError(
            f"box label {spec.label!r}: use at most 63 lower-case letters, digits and hyphens, no hyphen at the ends"
        )
    if not spec.argv or spec.argv[0] != "python":
        raise SandboxError(f"box {spec.label}: argv must begin with 'python', not {spec.argv[:1]!r}")
    if any("\0" in argument for argument in spec.argv):
        raise SandboxError(f"box {spec.label}: an argument holds a NUL byte")
    check_environment_name(spec.environment)
    _check_variables(spec)
    _check_targets(spec)


def _check_variables(spec: BoxSpec) -> None:
    names = [name for name, _ in spec.variables]
    for name, value in spec.variables:
        if not _VARIABLE.fullmatch(name):
            raise SandboxError(
                f"box {spec.label}: variable {name!r}: a name has only capital letters, digits and underscores"
            )
        if _OUR_VARIABLES.fullmatch(name):
            raise SandboxError(f"box {spec.label}: variable {name} is the sandbox's own: it decides what is started")
        if "\0" in value:
            raise SandboxError(f"box {spec.label}: variable {name} holds a NUL byte")
    if len(set(names)) != len(names):
        raise SandboxError(f"box {spec.label}: a variable is set twice among {sorted(names)}")


def _check_targets(spec: BoxSpec) -> None:
    targets = [mount.target for mount in spec.mounts]
    for target in targets:
        path = PurePosixPath(target)
        if str(path) != target or ".." in path.parts or path.parts[:2] != ("/", "box") or len(path.parts) < 3:
            raise SandboxError(f"box {spec.label}: mount target {target!r} is not a plain path below /box/")
    if len(set(targets)) != len(targets):
        raise SandboxError(f"box {spec.label}: two mounts have the same target among {sorted(targets)}")
