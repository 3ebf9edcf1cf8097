"""List the tasks that no percentage counts, and word it for pages and commands. The rule: TaskRevision.why_left_out."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from benchmark_tasks.domain.problems import general_reason
from benchmark_tasks.enums import AuditState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmark_tasks.models import TaskRevision


# Before Python 3.12, pydantic does not accept typing's own TypedDict.
class LeftOut(TypedDict):
    """A task (its slug) that no percentage counts, and why."""

    task: str
    why: str


def tasks_left_out(revisions: Iterable[TaskRevision]) -> list[LeftOut]:
    """List the ``revisions`` that no percentage counts, in their order."""
    return [{"task": each.task.slug, "why": each.why_left_out} for each in revisions if each.why_left_out]


def audited_later(revisions: Iterable[TaskRevision]) -> int:
    """Count the ``revisions`` that are runnable and wait for their audit; they count once they have passed it."""
    return sum(each.runnable and each.audit_state == AuditState.UNAUDITED for each in revisions)


def audited_so_far_text(passed: int, answers: int, counted: int) -> str:
    """Describe a result while tasks are being audited: ``counted`` tasks have passed their audit."""
    tasks = "1 task is audited so far and counts" if counted == 1 else f"{counted} tasks are audited so far and count"
    shown = tasks if counted else "no task is audited yet, so none counts"
    return f"{passed} of {answers} answer{'' if answers == 1 else 's'} passed; {shown}"


def left_out_text(left_out: Sequence[LeftOut]) -> str:
    """Summarise, as in ``3 tasks left out: 2 not runnable, 1 weak test``; empty for none."""
    if not left_out:
        return ""
    kinds = ", ".join(
        f"{sum(map(len, reasons.values()))} {kind}" for kind, reasons in left_out_groups(left_out).items()
    )
    return f"{len(left_out)} task{'' if len(left_out) == 1 else 's'} left out: {kinds}"


def left_out_groups(left_out: Iterable[LeftOut]) -> dict[str, dict[str, list[str]]]:
    """Group the tasks left out: kind of reason -> reason (empty if the kind is all there is) -> task slugs."""
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in left_out:
        kind, _, reason = each["why"].partition(": ")
        groups[kind][general_reason(reason)].append(each["task"])
    return {kind: dict(reasons) for kind, reasons in groups.items()}
