"""Flag tasks whose test or golden function a decision found bad, which marks every score on them until lifted."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.utils import timezone

from reviews.enums import ReasonCode
from reviews.exceptions import ReviewError
from reviews.models import TaskFlag
from reviews.signals import task_flagged
from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError, WrongStateError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from benchmark_tasks.models import TaskRevision
    from reviews.models import Decision
    from submissions.models import User

SHORTEST_REASON: Final = 10


def flag_task(decision: Decision) -> list[TaskFlag]:
    """Flag the task revision for each of ``decision``'s reasons that finds it bad. Idempotent; audited."""
    flags = []
    revision = decision.case.implementation.revision
    for reason in map(ReasonCode, decision.reasons):
        if not reason.flags_task:
            continue
        with transaction.atomic():
            flag, is_new = TaskFlag.objects.get_or_create(
                decision=decision, reason=reason, defaults={"revision": revision}
            )
            if is_new:
                record(
                    verb=Verb.TASK_FLAGGED,
                    subject=revision.task,
                    actor=decision.adjudicator.user,
                    reason=reason.label,
                    data={"case": decision.case_id, "revision": revision.number},
                )
                transaction.on_commit(partial(_announce, revision))
        flags.append(flag)
    return flags


def lift(*, actor: User, flag: TaskFlag, reason: str) -> None:
    """Lift the flag of a task that proved correct or was corrected.

    Raises :class:`NotAllowedError` for non-maintainers, :class:`ReviewError` without a reason of
    :data:`SHORTEST_REASON` characters, :class:`WrongStateError` if it is already lifted.
    """
    if not actor.is_staff:
        msg = "Only maintainers may lift a task's flag."
        raise NotAllowedError(msg)
    words = reason.strip()
    if len(words) < SHORTEST_REASON:
        msg = f"Give a reason of at least {SHORTEST_REASON} characters: it is kept with the flag."
        raise ReviewError(msg)
    with transaction.atomic():
        lifted = TaskFlag.objects.filter(pk=flag.pk, lifted__isnull=True).update(
            lifted=timezone.now(), lifted_by=actor, lifted_because=words
        )
        if not lifted:
            msg = "This flag is already lifted. Reload the page."
            raise WrongStateError(msg)
        flag.refresh_from_db()
        record(
            verb=Verb.FLAG_LIFTED,
            subject=flag.revision.task,
            actor=actor,
            reason=words,
            data={"case": flag.decision.case_id, "revision": flag.revision.number},
        )
        transaction.on_commit(partial(_announce, flag.revision))


def raised_flags() -> QuerySet[TaskFlag]:
    """Return the flags that are not lifted."""
    return TaskFlag.objects.filter(lifted__isnull=True)


def flags_of(revision_ids: Iterable[int]) -> dict[int, list[TaskFlag]]:
    """Map task revision ids to raised flags, oldest first, each with its decision and case. One query."""
    found: dict[int, list[TaskFlag]] = defaultdict(list)
    flags = raised_flags().filter(revision__in=list(revision_ids)).select_related("decision__case").order_by("pk")
    for flag in flags:
        found[flag.revision_id].append(flag)
    return dict(found)


def _announce(revision: TaskRevision) -> None:
    task_flagged.send(sender=TaskFlag, revision=revision)
