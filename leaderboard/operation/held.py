"""Why runs are held, in full: for maintainers only. Everybody else reads the short reason of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterable


def held_in_full(submissions: Iterable[int]) -> dict[int, str]:
    """By submission the newest fault that its held runs met; missing where none was recorded. One query."""
    return _newest("run__implementation__submission", submissions, run__reevaluation=None)


def reevaluations_held_in_full(reevaluations: Iterable[int]) -> dict[int, str]:
    """The same by re-evaluation. One query."""
    return _newest("run__reevaluation", reevaluations)


def _newest(owner: str, numbers: Iterable[int], **which: None) -> dict[int, str]:
    faults = Attempt.objects.filter(
        state=AttemptState.INFRA, run__state=RunState.HELD, **{f"{owner}__in": list(numbers)}, **which
    )
    # Of several the last, and that is the newest, stays in the dictionary.
    return dict(faults.exclude(reason="").order_by("ended", "pk").values_list(owner, "reason"))
