"""Void what raters said of answers of which they were shown only a part.

Until :mod:`submissions.answers.changes` compared exactly, code directly before or after the goal was kept from judges
and annotators. A migration marks every answer of that time (``shown_in_part``); the sweep looks at each once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from django.db import transaction

from benchmark_tasks.domain.queries import UNREADABLE, masked_definition
from benchmark_tasks.models import TaskRevision
from evaluator.enums import WorkState
from evaluator.models import Judgement, JudgeVote
from evaluator.queue.queueing import push_models
from evaluator.signals import implementation_shown_in_part
from submissions.answers.changes import other_files
from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.models import Implementation

if TYPE_CHECKING:
    from benchmark_tasks.domain.goals import FoundGoal

AT_ONCE: Final = 200
"""Answers that one sweep looks at."""

WHY: Final = "Raters were shown the goal only, and this answer changes code directly before or after it."


def recheck_shown() -> int:
    """Look at marked answers; say at how many. Those whose task's files are missing stay marked."""
    marked = Implementation.objects.filter(shown_in_part=True)
    done = 0
    for revision in TaskRevision.objects.filter(pk__in=marked.values("revision")).select_related("task"):
        try:
            masked = masked_definition(revision)
        except UNREADABLE:
            continue
        answers = marked.filter(revision=revision).order_by("pk")[: AT_ONCE - done]
        for answer in answers.select_related("submission", "revision__task"):
            _recheck(answer, masked)
            done += 1
    return done


def _recheck(answer: Implementation, masked: FoundGoal) -> None:
    path, files = answer.revision.goal_file, answer.files or {}
    others = other_files(masked, path=path, files=files, goal_source=answer.goal_source)
    was_flagged = answer.identical_to_reference
    with transaction.atomic():
        looked_at = Implementation.objects.filter(pk=answer.pk, shown_in_part=True).update(
            shown_in_part=False, identical_to_reference=was_flagged and not others and not answer.deleted
        )
        if looked_at and path in others and _was_taken_for_the_goal_alone(files[path], masked):
            labels = _void_judgements(answer)
            record(
                verb=Verb.VOIDED,
                subject=answer,
                actor=None,
                reason=WHY,
                data={"judges": labels, "identical_to_reference": was_flagged},
            )
            send = partial(implementation_shown_in_part.send, sender=Implementation, implementation=answer)
            transaction.on_commit(send)


def _was_taken_for_the_goal_alone(text: str, masked: FoundGoal) -> bool:
    """The rule of that time: the file begins and ends like the masked one."""
    lines = masked.source.lines
    return text.startswith("".join(lines[: masked.first_line - 1])) and text.endswith(
        "".join(lines[masked.last_line :])
    )


def _void_judgements(answer: Implementation) -> dict[str, str]:
    """Supersede the votes and have active judges asked again; each judge's slug -> the label that it had given."""
    done = Judgement.objects.filter(implementation=answer, state=WorkState.DONE).select_related("config")
    labels = {row.config.slug: row.label for row in done}
    for row in done:
        JudgeVote.objects.filter(judgement=row, superseded="").update(superseded=WHY)
        # A judge that is not asked any more is asked again once it is active, and says nothing until then.
        Judgement.objects.filter(pk=row.pk, state=WorkState.DONE).update(
            state=WorkState.QUEUED if row.config.active else WorkState.CANCELLED,
            label="",
            abstained=False,
            split=False,
            surface_sensitive=False,
            injection_suspected=False,
            dollars=None,
            finished=None,
            reason=WHY,
        )
    transaction.on_commit(partial(push_models, len(labels)))
    return labels
