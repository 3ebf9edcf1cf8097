"""The part of a submission's page about the run that answers it, for every view that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evaluator.enums import GenerationState
from leaderboard.generation_forms import LimitsForm
from leaderboard.runs import generation_pages
from leaderboard.runs.submission_pages import may_see_code
from submissions.domain.access import may_manage
from submissions.enums import Source

if TYPE_CHECKING:
    from django.http import HttpRequest

    from submissions.models import Submission

_STOPPED: Final = (GenerationState.PAUSED, GenerationState.HELD)


def generation_context(request: HttpRequest, shown: Submission) -> dict[str, Any]:
    """What ``leaderboard/generation_live.html`` needs; empty for a submission that was uploaded.

    ``resume`` is the form of the limits, for a run that stands still.
    """
    generation = generation_pages.generation_of(shown) if shown.source == Source.ENDPOINT else None
    if generation is None:
        return {}
    manages = may_manage(request.user, shown)
    stopped = manages and generation.state in _STOPPED
    return {
        "submission": shown,
        "generation": generation,
        "live": generation_pages.live(generation),
        "manages": manages,
        "owns_endpoint": generation.endpoint is not None and generation.endpoint.owner_id == request.user.pk,
        "sees_calls": may_see_code(request.user, shown),
        "resume": LimitsForm(initial=LimitsForm.limits_of(generation)) if stopped else None,
    }
