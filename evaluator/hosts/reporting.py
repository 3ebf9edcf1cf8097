"""Report what this host offers, and make the environments that it lacks."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog
from django.conf import settings

from benchmark_tasks.domain import garbage
from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.clock import database_now, seconds_ahead
from evaluator.enums import BuildState
from evaluator.hosts.rows import FORGOTTEN_AFTER, own
from evaluator.models import Host
from evaluator.sandbox.building import Wanted, build, sandbox_in_use, wanted
from evaluator.sandbox.configuration import configured_sandbox, make_sandbox
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import newest_build, wanted_environments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.configuration import Kind

log = structlog.get_logger(__name__)

_MB: Final = 1024 * 1024
LEAST_DISK_MB: Final = 64
"""With less, a host leaves runs to others: each run has a copy of its repository and the outputs of its boxes."""


def report() -> None:
    """Store this host's facts and its sign of life; forget hosts that have been silent for a day."""
    facts = {**_facts(), "seen": database_now()}
    Host.objects.update_or_create(name=settings.ENVIRONMENT.host_name, defaults=facts)
    Host.objects.filter(seen__lt=database_now() - FORGOTTEN_AFTER).delete()


def _facts() -> dict[str, Any]:
    environment = settings.ENVIRONMENT
    sandbox, problem = "", ""
    disk_mb = shutil.disk_usage(settings.DATA_DIR).free // _MB
    if environment.evaluates:
        try:
            sandbox = configured_sandbox().name
        except SandboxError as error:
            problem = str(error)
        if disk_mb < LEAST_DISK_MB:
            problem = f"The disk of DATA_DIR has only {disk_mb} MB free: make room on it."
        # A storage that does not answer is no problem of this host: its runs wait.
        with suppress(StorageUnavailableError):
            problem = problem or garbage.why_not_the_sites()
    return {
        "version": settings.VERSION,
        "pools": environment.pools,
        "sandbox": f"{sandbox} ({environment.sandbox_runtime})" if environment.sandbox_runtime else sandbox,
        "problem": problem,
        "processors": len(os.sched_getaffinity(0)),
        "memory_mb": memory()[0] // _MB,
        "disk_mb": disk_mb,
        "clock_off": round(seconds_ahead(), 3),
    }


def memory(root: Path = Path("/")) -> tuple[int, int]:
    """Return the bytes that Linux could give to new programs, and those of all memory."""
    text = (root / "proc/meminfo").read_text(encoding="ascii")
    sizes = {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}
    return sizes["MemAvailable"], sizes["MemTotal"]


def prepare() -> Iterator[tuple[str, str, str]]:
    """Make the environments that tasks need and this host lacks; yield name, digest, and why there is none.

    Each is stored at once, so that the host takes its runs while the next one is made. Raises SandboxError if no box
    can be started here at all.
    """
    kind, names = sandbox_in_use(), wanted_environments()
    host = own()
    ready, unready = (dict(host.environments), dict(host.unready)) if host else ({}, {})
    for name in names:
        try:
            ready[name], why = _made(name, kind), ""
            unready.pop(name, None)
        except SandboxError as error:
            unready[name] = why = str(error)
            ready.pop(name, None)
            log.warning("environment_unusable", environment=name, sandbox=kind, error=why)
        _store(ready, unready)
        yield name, ready.get(name, ""), why
    _store(*({name: what for name, what in each.items() if name in names} for each in (ready, unready)))


def _store(ready: dict[str, str], unready: dict[str, str]) -> None:
    Host.objects.filter(name=settings.ENVIRONMENT.host_name).update(environments=ready, unready=unready)


def _made(name: str, kind: Kind) -> str:
    """Return the digest of an environment; an image that another host has built is built here, too.

    Raises SandboxError.
    """
    sandbox = make_sandbox(kind)
    try:
        return sandbox.environment_digest(name)
    except SandboxError:
        newest = newest_build(name, sandbox=kind)
        built_elsewhere = kind == "docker" and newest is not None and newest.state == BuildState.BUILT
        if not built_elsewhere or "builds" not in settings.ENVIRONMENT.pools:
            raise
    needed = next((one for one in wanted()[0] if one.name == name), Wanted(name, (), None))
    built = build(needed, kind=kind, keep_failure=False)
    if built.what == "failed":
        raise SandboxError(built.why)
    return built.digest


def lacks_environment() -> bool:
    """Return whether tasks need an environment that this host has neither made nor failed to make."""
    host = own()
    return host is not None and bool(set(wanted_environments()) - {*host.environments, *host.unready})
