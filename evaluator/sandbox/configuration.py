"""What this instance evaluates with: the configured sandbox, and the pure form of a stored task."""

from __future__ import annotations

import os
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from benchmark_tasks.domain.content import tree_path
from evaluator.sandbox.environment_list import EnvironmentList, read_environment_list
from evaluator.testing.types import Check, Rule, SealedTask

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision
    from evaluator.sandbox.factory import Kind, SandboxSettings
    from evaluator.sandbox.types import Sandbox

EVALUATOR_VERSION = "3"
"""Part of what makes two test runs comparable. Raise it when the driver, the comparison, the verdict or the way
from an epoch to its private seeds changes."""


def sandbox_settings() -> SandboxSettings:
    """The settings in the form that the sandbox package takes."""
    # The boxes are loaded where one is made: pages ask this module for the list of environments only.
    from evaluator.sandbox.factory import SandboxSettings

    environment = settings.ENVIRONMENT
    return SandboxSettings(
        state_dir=Path(settings.DATA_DIR) / "sandbox",
        python=environment.sandbox_python,
        host_uid=environment.sandbox_host_uid,
        host_gid=environment.sandbox_host_uid,
        allow_unconfined_resources=environment.sandbox_allow_no_cgroups,
        docker_image=environment.sandbox_image,
        docker_runtime=environment.sandbox_runtime,
        environments=environment_list(),
    )


def environment_list() -> EnvironmentList:
    """The operator's list of environments as it is now. Raises ``SandboxError`` when it is wrong, with the line."""
    file = settings.ENVIRONMENT.environments_file
    return _read(file, _state(file))


def configured_sandbox() -> Sandbox:
    """The sandbox that the settings ask for, checked once per process.

    Raises ``SandboxUnavailableError`` with what to do when there is none; then the next call looks again.
    """
    return _chosen(settings.ENVIRONMENT.evaluator_sandbox, sandbox_settings())


@cache
def _chosen(kind: Kind, asked: SandboxSettings) -> Sandbox:
    from evaluator.sandbox.factory import choose

    return choose(kind, asked)


def _state(file: Path | None) -> tuple[int, int] | None:
    """What changes when ``file`` does."""
    try:
        status = file.stat() if file is not None else None
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size) if status is not None else None


@lru_cache(maxsize=4)
def _read(file: Path | None, state: tuple[int, int] | None) -> EnvironmentList:  # noqa: ARG001  part of the cache's key
    return read_environment_list(file)


def golden_folder() -> Path:
    """Where the reference box's outputs are cached; no candidate's box ever sees it."""
    return Path(settings.DATA_DIR) / "golden"


def sealed_task(revision: TaskRevision) -> SealedTask:
    """The files and the check of a sealed revision, as the content store holds them."""
    grading = tree_path(revision.grading_hash)
    return SealedTask(
        name=revision.task.slug,
        repository=tree_path(revision.repository_hash),
        reference_repository=grading / "reference",
        cases_file=grading / "cases.py",
        run_file=grading / "run.py",
        check=check_from_settings(revision.check_settings),
        environment=revision.environment,
        grading_hash=revision.grading_hash,
    )


def check_from_settings(stored: dict[str, object]) -> Check:
    """The typed check of what the importer validated and stored (``check`` in info.json)."""
    comparison = stored.get("comparison") or {}
    assert isinstance(comparison, dict)  # noqa: S101 - the importer has validated it
    return Check(
        public_seeds=tuple(stored["public_seeds"]),  # type: ignore[arg-type]
        private_seed_count=int(stored["private_seeds"]),  # type: ignore[call-overload]
        default_rule=Rule(**comparison.get("default", {})),
        output_rules=tuple((name, Rule(**rule)) for name, rule in sorted(comparison.get("outputs", {}).items())),
        wall_seconds=float(stored.get("wall_seconds", 30)),  # type: ignore[arg-type]
        memory_bytes=int(stored.get("memory_mb", 512)) * 1024 * 1024,  # type: ignore[call-overload]
    )


def worker_name() -> str:
    """Who holds a lease: host and process."""
    return f"{os.uname().nodename}:{os.getpid()}"
