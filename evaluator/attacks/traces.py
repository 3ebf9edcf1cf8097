"""What boxes left behind on the machine, seen from outside."""

from __future__ import annotations

from contextlib import closing

from evaluator.sandbox.cgroups import GroupStore
from evaluator.sandbox.docker_client import LABEL, Engine, engine_errors
from evaluator.sandbox.types import SandboxError


def left_behind(label: str, *, containers: bool) -> list[str]:
    """Control groups, and where asked for containers, of boxes whose label begins with ``label``.

    Raises :class:`SandboxError` when the engine cannot be asked.
    """
    try:
        groups = GroupStore.of_this_machine().names()
    except SandboxError:
        groups = set()  # a worker without groups of its own: systemd's, which end with the box
    found = [f"control group {name} is left" for name in sorted(groups) if name.startswith(label)]
    return found + (_containers(label) if containers else [])


def _containers(label: str) -> list[str]:
    with engine_errors("looking for what was left"), closing(Engine(None)) as engine:
        listed = engine.client().containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
        return [f"container {box.name} is left" for box in listed if box.labels[LABEL].startswith(label)]
