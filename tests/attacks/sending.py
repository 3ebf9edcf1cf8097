"""Submit hostile answers as a user would, and find what they leave behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from evaluator.models import TestRun
from evaluator.queue.processes import Owner
from evaluator.sandbox.cgroups import GroupStore
from evaluator.sandbox.configuration import sandbox_state_folder
from evaluator.sandbox.interface import SandboxUnavailableError
from tests.evaluator.commands import submit
from tests.evaluator.processes import children_of
from tests.submissions.factories import MANIFEST, zipped

if TYPE_CHECKING:
    from collections.abc import Mapping


def send(folder: Path, answers: Mapping[str, str], *, username: str = "operator") -> dict[str, TestRun]:
    """Submit ``answers`` (name to source or diff) to ``alpha/1``, one trial each; return their decided runs by name."""
    files = {"submission.json": json.dumps(MANIFEST)}
    for trial, source in enumerate(answers.values(), start=1):
        ending = "diff" if source.startswith("diff --git") else "py"
        files[f"answers/alpha/1/trial-{trial}/answer.{ending}"] = source
    bundle = folder / "hostile.zip"
    bundle.write_bytes(zipped(files))
    _, result = submit(str(bundle), "--wait", "--as", username)
    runs = TestRun.objects.filter(
        implementation__submission=result["submission"], implementation__revision__task__slug="alpha/1"
    ).order_by("implementation__trial")
    return dict(zip(answers, runs, strict=True))


def left_behind() -> list[str]:
    """List what remains of the boxes that this process started: processes, groups, containers, folders."""
    work, staging = Path(settings.DATA_DIR) / "work", sandbox_state_folder().resolve() / "boxes"
    owner = str(Owner.current())
    # Other tests of this process kill workers, whose folders stay until the next sweep.
    found = [str(path) for path in (*work.glob(f"{owner}/*"), *staging.glob(f"*{owner}*"))]
    if shutil.which("docker"):
        listing = ["docker", "ps", "--all", "--format", "{{.Names}} {{.Labels}}"]
        containers = subprocess.run(listing, capture_output=True, text=True, check=False).stdout
        found += [line for line in containers.splitlines() if owner in line]
    with suppress(SandboxUnavailableError):  # in a user session, systemd owns the groups and removes them with the box
        found += [name for name in GroupStore.of_this_machine().names() if owner in name]
    return found + [f"process {pid}" for pid in children_of(os.getpid()) if b"/box/driver.py" in command_line(pid)]


def command_line(pid: int) -> bytes:
    """The command line of a process; empty if it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
