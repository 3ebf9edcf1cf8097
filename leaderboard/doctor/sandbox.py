"""Check the sandbox: can boxes be made here, by which programs and engine, and do they judge rightly."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import DatabaseError

from evaluator.auditing.self_checks import ENVIRONMENT, describe_failures, run_controls
from evaluator.sandbox.building import wanted
from evaluator.sandbox.configuration import configured_sandbox, make_sandbox
from evaluator.sandbox.docker_client import Engine, engine_errors, sdk
from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError
from leaderboard.doctor import kernel
from leaderboard.doctor.findings import State, failed, ok, warning
from leaderboard.doctor.machine import disk, state_folder
from leaderboard.doctor.services import missing_sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.interface import Sandbox
    from leaderboard.doctor.findings import Finding

OLDEST_BUBBLEWRAP: Final = (0, 8)
OLDEST_ENGINE: Final = (20, 10)
OLD_ENGINE: Final = (24, 0)
OLDEST_GVISOR: Final = 20221219
"""The oldest release of gVisor that was tried: Debian bookworm's."""
_DOCS: Final = "docs/sandboxes.md"
_PROGRAM_SECONDS: Final = 10


def findings() -> Iterator[Finding]:
    """Yield whether boxes can be made, then why or why not, then environments, and at last a box that judges."""
    if not settings.ENVIRONMENT.evaluates:
        yield ok(
            "sandbox", f"not needed with POOLS={','.join(settings.ENVIRONMENT.pools)}, except for agents of models"
        )
        return
    sandbox: Sandbox | None = None
    try:
        sandbox = _working()
        yield ok("sandbox", f"{sandbox.name} (EVALUATOR_SANDBOX={settings.ENVIRONMENT.evaluator_sandbox}) makes boxes")
    except SandboxError as error:
        yield failed("sandbox", str(error), f"The lines below show what it lacks; {_DOCS} has the details.")
    used = sandbox.name if sandbox else ""
    if used == "docker" and _may_be("bubblewrap"):
        yield warning("sandbox", _why_not_bubblewrap(), "Remove the cause, or set EVALUATOR_SANDBOX=docker.")
    if _may_be("bubblewrap"):
        for finding in (bubblewrap(), *kernel.findings()):
            # Where Docker makes the boxes, what bubblewrap lacks stops nothing.
            yield finding._replace(state=State.WARNING) if used == "docker" and finding.todo else finding
    if used == "docker" or (_may_be("docker") and not used and _is_installed()) or not _may_be("bubblewrap"):
        yield from docker()
    else:
        yield ok("Docker", "not used")
    if sandbox is not None:
        yield environments(sandbox)
        yield canary()


def _may_be(name: str) -> bool:
    """Return whether boxes may be of the sandbox ``name`` by the configuration."""
    kind = settings.ENVIRONMENT.evaluator_sandbox
    return kind in {name, "auto"} and not (name == "bubblewrap" and settings.ENVIRONMENT.sandbox_runtime)


def _working() -> Sandbox:
    """Return the sandbox that is configured, without installing anything. Raises ``SandboxError`` with the reason."""
    if not _may_be("bubblewrap") or is_made(ENVIRONMENT):
        return configured_sandbox()
    if _may_be("docker"):
        sandbox = make_sandbox("docker")
        try:
            sandbox.check()
        except SandboxUnavailableError as error:
            raise SandboxUnavailableError(f"{_not_made()} | docker: {error}") from error
        return sandbox
    raise SandboxUnavailableError(_not_made())


def _why_not_bubblewrap() -> str:
    try:
        if is_made(ENVIRONMENT):
            make_sandbox("bubblewrap").check()
    except SandboxError as error:
        return f"bubblewrap: {error}"
    return _not_made()


def _not_made() -> str:
    return (
        f"bubblewrap: the environment {ENVIRONMENT} is not made on this host: run manage.py prepare_evaluator, "
        "which make setup does, too"
    )


def is_made(environment: str) -> bool:
    """Return whether bubblewrap's environment is on this host, perhaps of an older list or interpreter."""
    try:
        return any((state_folder() / "environments" / environment).glob("*/environment.json"))
    except (SandboxError, OSError):
        return False


def bubblewrap() -> Finding:
    """Check that the program is installed, and its version."""
    text = _output("bwrap", "--version")
    version = _version(text)
    if not version:
        return failed("bubblewrap", text or "bwrap is not on PATH", "Install it (Debian: apt-get install bubblewrap).")
    if version < OLDEST_BUBBLEWRAP:
        return warning("bubblewrap", text, "Install version 0.8 or newer: older ones were not tried.")
    return ok("bubblewrap", text)


def _is_installed() -> bool:
    named = sdk().utils.kwargs_from_env().get("base_url")  # DOCKER_HOST
    return bool(shutil.which("docker") or named or Path("/var/run/docker.sock").exists())


def docker() -> Iterator[Finding]:
    """Check the engine: its version, its control groups, its disk, and the runtime of boxes."""
    engine = Engine(None)
    try:
        with engine_errors("asking the Docker engine"):
            facts, built = engine.client().info(), engine.client().version().get("BuildTime", "")
    except SandboxError as error:
        yield failed("Docker", str(error), f"Start the engine, or let this user reach it ({_DOCS}).")
        return
    finally:
        engine.close()
    yield engine_finding(facts, built)
    folder = Path(facts.get("DockerRootDir") or "/")
    if folder.is_dir():  # the engine may be on another machine
        yield disk("Docker", folder)
    if settings.ENVIRONMENT.sandbox_runtime:
        yield runtime(settings.ENVIRONMENT.sandbox_runtime, facts.get("Runtimes") or {})


def engine_finding(facts: dict[str, Any], built: str) -> Finding:
    """Judge what ``docker info`` returned."""
    text = facts.get("ServerVersion", "")
    mapped = any(str(each).startswith("name=userns") for each in facts.get("SecurityOptions") or ())
    found = (
        f"engine {text}, built {built[:10] or 'at an unknown time'}, control groups version "
        f"{facts.get('CgroupVersion', '1')} by {facts.get('CgroupDriver', 'none')}, "
        f"{'with' if mapped else 'without'} user namespaces (userns-remap)"
    )
    todo = f"Install a current engine: 25 or newer ({_DOCS})."
    if _version(text) < OLDEST_ENGINE:
        return failed("Docker", found, todo)
    limited = [name for name in ("MemoryLimit", "PidsLimit", "CpuCfsQuota") if not facts.get(name)]
    if limited:
        return failed("Docker", f"{found}; it lacks {', '.join(limited)}", "Give the engine control groups.")
    return warning("Docker", f"{found}: old", todo) if _version(text) < OLD_ENGINE else ok("Docker", found)


def runtime(name: str, known: dict[str, Any]) -> Finding:
    """Check that the engine knows the runtime ``SANDBOX_RUNTIME``, and the release of gVisor."""
    label = "runtime"
    if name not in known:
        found = f"the engine does not know {name}, which SANDBOX_RUNTIME names; it has {', '.join(sorted(known))}"
        return failed(label, found, f"Install it and name it in the engine's daemon.json ({_DOCS}).")
    text = _output(known[name].get("path") or name, "--version")
    release = re.search(r"runsc version .*?(\d{8})", text)
    if release and int(release[1]) < OLDEST_GVISOR:
        todo = f"Install release {OLDEST_GVISOR}, the oldest that was tried, or a newer one."
        return warning(label, f"{name}: {text}", todo)
    return ok(label, f"{name}: {text or 'its version is unknown'}")


def environments(sandbox: Sandbox) -> Finding:
    """Check which environments the tasks need, and which of them are ready on this host."""
    name = "environments"
    if missing_sqlite_file():
        return ok(name, "unknown without a database")
    try:
        needed, without = wanted()
    except DatabaseError:
        return ok(name, "unknown without a database")
    missing = [each for each in needed if not _is_ready(sandbox, each.name)]
    ready = [each.name for each in needed if each not in missing]
    found = f"{len(ready)} of {len(needed)} ready here: {', '.join(ready) or 'none'}"
    if missing:
        found += f"; not ready: {', '.join(f'{each.name} ({len(each.tasks)} tasks)' for each in missing)}"
    if without:
        found += f"; tasks without an environment: {len(without)}"
    if missing or without:
        return warning(name, found, "manage.py build_images makes them, and shows what tasks lack.")
    return ok(name, found)


def _is_ready(sandbox: Sandbox, environment: str) -> bool:
    if sandbox.name == "bubblewrap":
        return is_made(environment)
    try:
        sandbox.environment_digest(environment)
    except SandboxError:
        return False
    return True


def canary() -> Finding:
    """Grade a right answer and a stub, as a worker does at its start. Nothing is stored."""
    name, begun = "canary box", time.monotonic()
    todo = f"No worker starts like this. Read the message, and {_DOCS}; manage.py attack shows more."
    try:
        wrong = describe_failures(run_controls())
    except (SandboxError, OSError) as error:
        return failed(name, str(error), todo)
    if wrong:
        return failed(name, wrong, todo)
    return ok(name, f"a right answer passed and a stub failed, in {time.monotonic() - begun:.1f} s")


def _output(*command: str) -> str:
    """Return what a program prints first; empty if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.strip().splitlines() or [""])[0]


def _version(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a version; empty if there is none."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else ()
