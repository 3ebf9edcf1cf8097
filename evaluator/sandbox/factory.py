"""Chooses the sandbox that this machine can offer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from evaluator.sandbox.bubblewrap import DEFAULT_HOST_ID, BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import Sandbox, SandboxError, SandboxUnavailableError

Kind = Literal["auto", "bubblewrap", "docker"]

DEFAULT_IMAGE: Final = "lmr-board-box-numpy"


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What an operator may set about sandboxes; the defaults suit Debian."""

    state_dir: Path
    python: Path = Path("/usr/bin/python3")
    host_uid: int = DEFAULT_HOST_ID
    host_gid: int = DEFAULT_HOST_ID
    allow_unconfined_resources: bool = False
    docker_image: str = DEFAULT_IMAGE


def choose(kind: Kind, settings: SandboxSettings) -> Sandbox:
    """A sandbox that has just passed its check: the one asked for, or with ``auto`` bubblewrap before Docker.

    Raises:
        SandboxUnavailableError: there is none; the message has the reason of each that was tried.
    """
    candidates: dict[str, Sandbox] = {
        "bubblewrap": BubblewrapSandbox(
            settings.state_dir,
            python=settings.python,
            host_uid=settings.host_uid,
            host_gid=settings.host_gid,
            allow_unconfined_resources=settings.allow_unconfined_resources,
        ),
        "docker": DockerSandbox(settings.docker_image, settings.state_dir),
    }
    if kind != "auto" and kind not in candidates:
        raise SandboxError(f"sandbox {kind!r} is unknown: choose auto, bubblewrap or docker")
    reasons: list[str] = []
    for name, sandbox in candidates.items():
        if kind not in {"auto", name}:
            continue
        try:
            sandbox.check()
        except SandboxUnavailableError as error:
            reasons.append(f"{name}: {error}")
        else:
            return sandbox
    raise SandboxUnavailableError("no sandbox can run here, so nothing is evaluated. " + " | ".join(reasons))
