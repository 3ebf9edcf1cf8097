"""Store what agents did: read the trajectories of a bundle, and make the columns of any run."""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db import transaction

from evaluator.enums import TrajectorySource
from evaluator.models import Trajectory
from submissions.models import Implementation
from submissions.trajectories.reading import MAX_BYTES, read_limited

if TYPE_CHECKING:
    from submissions.trajectories.steps import AgentRun

logger = logging.getLogger(__name__)

_LARGEST_DOLLARS = Decimal(999_999)


def read_uploaded(submission_id: int) -> int:
    """Read the uploaded trajectories of a submission; how many were read.

    Those that were read before are left as they are; of a form that is not read, the reason is stored. Tokens and cost
    become the answer's usage where its submitter declared none of the kind; ``usage["read"]`` names those that were
    read.
    """
    waiting = Implementation.objects.filter(submission_id=submission_id, steps__isnull=True).exclude(trajectory="")
    made = 0
    for implementation in waiting.select_related("revision__task__paper"):
        found = _found(implementation)
        if found is not None and _keep(implementation, found):
            made += 1
    return made


def _found(implementation: Implementation) -> AgentRun | None:
    """The run in the answer's file: the only one, or the one with the paper's number; None where there is no file."""
    try:
        with implementation.trajectory.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        return read_limited(data, instance_id=implementation.revision.task.paper.instance_id)
    except OSError:
        logger.warning("The trajectory of implementation %s cannot be read.", implementation.pk, exc_info=True)
        return None


def _keep(implementation: Implementation, found: AgentRun) -> bool:
    """Store it, unless another reader did so meanwhile."""
    with transaction.atomic():
        _, is_new = Trajectory.objects.get_or_create(implementation=implementation, defaults=columns_of(found))
        if is_new:
            _fill_usage(implementation, found)
    return is_new


def columns_of(run: AgentRun) -> dict[str, Any]:
    """The columns of a :class:`Trajectory` that show ``run``, whoever ran it."""
    return {
        "source": TrajectorySource(run.source),
        "steps": run.as_data(),
        "counts": run.counts(),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "dollars": None if run.dollars is None else min(_LARGEST_DOLLARS, round(Decimal(str(run.dollars)), 6)),
        "ending": run.ending,
    }


def _fill_usage(implementation: Implementation, found: AgentRun) -> None:
    measured = {
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "cost_usd": found.dollars,
    }
    usage: dict[str, Any] = Implementation.objects.values_list("usage", flat=True).get(pk=implementation.pk)
    added = {key: float(value) for key, value in measured.items() if value is not None and key not in usage}
    if added:
        Implementation.objects.filter(pk=implementation.pk).update(usage={**usage, **added, "read": sorted(added)})
