"""Chooses the sandbox that this machine can offer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from evaluator.sandbox.bubblewrap import DEFAULT_HOST_ID, BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import IMAGE_PREFIX, SHIPPED, EnvironmentList
from evaluator.sandbox.types import Sandbox, SandboxError, SandboxUnavailableError

Name = Literal["bubblewrap", "docker"]
Kind = Literal["auto", Name]
KINDS: Final[tuple[Name, ...]] = ("bubblewrap", "docker")

DEFAULT_IMAGE: Final = f"{IMAGE_PREFIX}numpy"


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What an operator may set about sandboxes; the defaults suit Debian.

    ``docker_image`` is the image of the environment ``numpy``, unless ``environments`` names another one;
    ``docker_runtime`` what the engine starts boxes with (empty: its default).
    """

    state_dir: Path
    python: Path = Path("/usr/bin/python3")
    host_uid: int = DEFAULT_HOST_ID
    host_gid: int = DEFAULT_HOST_ID
    allow_unconfined_resources: bool = False
    docker_image: str = DEFAULT_IMAGE
    docker_runtime: str = ""
    environments: EnvironmentList = SHIPPED


def make(kind: Name, settings: SandboxSettings) -> Sandbox:
    """The sandbox ``kind``, whether it can run here or not."""
    environments = settings.environments.with_numpy_image(settings.docker_image)
    if kind == "docker":
        return DockerSandbox(settings.state_dir, environments=environments, runtime=settings.docker_runtime)
    return BubblewrapSandbox(
        settings.state_dir,
        environments=environments,
        python=settings.python,
        host_uid=settings.host_uid,
        host_gid=settings.host_gid,
        allow_unconfined_resources=settings.allow_unconfined_resources,
    )


def choose(kind: Kind, settings: SandboxSettings) -> Sandbox:
    """A sandbox that has just passed its check: the one asked for, or with ``auto`` bubblewrap before Docker.

    Who names a runtime wants its walls: bubblewrap, which has none, is then never taken.

    Raises:
        SandboxUnavailableError: there is none; the message has the reason of each that was tried.
    """
    if kind not in {"auto", *KINDS}:
        raise SandboxError(f"sandbox {kind!r} is unknown: choose auto, bubblewrap or docker")
    if settings.docker_runtime and kind == "bubblewrap":
        raise SandboxError("SANDBOX_RUNTIME is for Docker only: leave it empty, or set EVALUATOR_SANDBOX=docker")
    reasons: list[str] = []
    public: list[str] = []
    kinds: tuple[Name, ...] = ("docker",) if settings.docker_runtime else KINDS
    for name in kinds if kind == "auto" else (kind,):
        sandbox = make(name, settings)
        try:
            sandbox.check()
        except SandboxUnavailableError as error:
            reasons.append(f"{name}: {error}")
            public.append(error.public)
        else:
            return sandbox
    raise SandboxUnavailableError(
        "no sandbox can run here, so nothing is evaluated. " + " | ".join(reasons),
        public="; ".join(dict.fromkeys(public)),
    )
