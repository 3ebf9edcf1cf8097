"""What the Docker engine is told about a box's walls. Each setting is explained in docs/sandboxes.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from evaluator.sandbox.docker_client import NO_IMAGE, Client, engine_faults, sdk
from evaluator.sandbox.ownership import BoxName
from evaluator.sandbox.settings import BOX_VARIABLES, INTERPRETER_OPTIONS, SHARED_MEMORY_BYTES, UNPRIVILEGED_ID
from evaluator.sandbox.types import BoxSpec, Mount, SandboxUnavailableError

LABEL: Final = "lmr-board-box"
OWNER_LABEL: Final = "lmr-board-owner"
DEADLINE_LABEL: Final = "lmr-board-deadline"

LAUNCH: Final = "/launch"
"""Where a box sees the launcher and its filter."""

_LAUNCHER_PROCESSES: Final = 1


@dataclass(frozen=True, slots=True)
class BoxImage:
    """One image as the engine holds it: ID, its own ``PATH``, and the folders that it would have written to disk."""

    id: str
    path: str
    volumes: tuple[str, ...]


def look_up(client: Client, reference: str, environment: str) -> BoxImage:
    """The image ``reference`` (tag, digest or ID), which ``environment`` needs.

    Raises:
        SandboxUnavailableError: it is not there, or the engine is not.
        SandboxError: the engine failed.
    """
    with engine_faults(f"looking for the box image {reference}"):
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
    name: BoxName, spec: BoxSpec, mounts: tuple[Mount, ...], image: BoxImage, runtime: str
) -> dict[str, Any]:
    """The arguments of the SDK's ``containers.create`` besides the image."""
    types = sdk().types
    limits = spec.limits
    # Images of papers keep Python where they like (/opt/conda/bin): theirs is looked up first.
    path = ":".join(filter(None, (image.path, BOX_VARIABLES["PATH"])))
    tmpfs = f"rw,noexec,nosuid,nodev,mode=1777,size={limits.tmpfs_bytes},nr_inodes={limits.tmpfs_files}"
    settings = {
        "entrypoint": ["python3", "-I", "-S", f"{LAUNCH}/launch.py", f"{LAUNCH}/filter.bpf"],
        "command": [*INTERPRETER_OPTIONS, *spec.argv[1:]],
        "environment": {**BOX_VARIABLES, "PATH": path, **dict(spec.variables)},
        "hostname": "box",
        "working_dir": "/tmp",  # noqa: S108
        "user": f"{UNPRIVILEGED_ID}:{UNPRIVILEGED_ID}",
        "stdin_open": True,
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
    return settings | ({"runtime": runtime} if runtime else {})
