"""What both sandboxes put into a box alike: variables, interpreter options, and the rules a box's order must keep."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from evaluator.sandbox.types import BoxResult, BoxSpec, Limits, SandboxError, SandboxUnavailableError

BOX_SETTINGS_VERSION: Final = 2
"""Part of every environment digest: raise it when a change in a sandbox could change what a program computes."""

INTERPRETER_OPTIONS: Final = ("-I", "-B")

UNPRIVILEGED_ID: Final = 65534
"""The user and group that the program sees itself as (``nobody`` on Debian)."""

SHARED_MEMORY_BYTES: Final = 16 * 1024 * 1024

BOX_VARIABLES: Final[dict[str, str]] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108  the box's private tmpfs, the only writable place there
    "TMPDIR": "/tmp",  # noqa: S108
    "LOGNAME": "box",
    "LC_ALL": "C.UTF-8",
    # One thread: sums are then added in one order, and a box has one core anyway.
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
"""The trivial box that a sandbox is checked with."""

_MESSAGE_BYTES: Final = 600
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_ENVIRONMENT = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,31})")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_OUR_VARIABLES = re.compile(r"PATH|LD_.*|PYTHON.*")


def require_ready(result: BoxResult, what: str) -> None:
    """Raise :class:`SandboxUnavailableError` unless ``result`` is the probe's; ``what`` names the box."""
    if result.stdout != b"ready\n":
        raise SandboxUnavailableError(
            f"a trivial {what} ended with {result.ending}, exit code {result.exit_code}: {tail(result.stderr)}"
        )


def tail(data: bytes) -> str:
    """The end of a log as one printable line."""
    text = data[-_MESSAGE_BYTES:].decode(errors="replace").strip()
    return "".join(character if character.isprintable() else " " for character in text)


def check_environment_name(environment: str) -> None:
    """Raise :class:`SandboxError` unless ``environment`` can be part of a file name."""
    if not _ENVIRONMENT.fullmatch(environment):
        raise SandboxError(f"environment {environment!r}: a name has only lower-case letters, digits and hyphens")


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
