"""Pause runs on endpoints at their limits: tokens, US dollars and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluator.enums import GenerationState, WorkState
from evaluator.generation.generating import elapsed_seconds, stop
from evaluator.models import AnswerRequest, Generation, ModelCall
from evaluator.providers.spending import spent

if TYPE_CHECKING:
    from evaluator.providers.spending import Spent


class LimitReachedError(Exception):
    """The run has used up a limit set by its owner. The message names the limit and what to do.

    ``noted`` is its first half, for the run's public history.
    """

    def __init__(self, limit: str) -> None:
        self.noted = f"The run reached its limit of {limit}."
        super().__init__(f"{self.noted} Raise that limit and resume the run; stored answers are kept.")


def reached_limit(generation: Generation, used: Spent) -> str:
    """Return the limit that is used up, such as "20,000 tokens" or "6 h"; empty if none is."""
    how = " (by this site's estimate, since the provider reports no token usage)" if used.estimated else ""
    if generation.run_tokens is not None and used.limited_tokens >= generation.run_tokens:
        return f"{generation.run_tokens:,} tokens{how}"
    if generation.run_dollars is not None and used.limited_dollars >= generation.run_dollars:
        return f"US $ {generation.run_dollars.normalize():f}{how}"
    if elapsed_seconds(generation) >= generation.run_seconds:
        return duration(generation.run_seconds)
    return ""


def require_within_limits(generation: Generation) -> None:
    """Raise :class:`LimitReachedError` where a limit of the run is used up; called before every request.

    Usage that a provider does not report is estimated.
    """
    used = spent(ModelCall.objects.filter(answer_request__generation=generation))
    # The limits may have been raised since work on the question began.
    limit = reached_limit(Generation.objects.get(pk=generation.pk), used)
    if limit:
        raise LimitReachedError(limit)


def pause_at_limit(generation: Generation, error: LimitReachedError) -> None:
    """Pause a run that is under way because of ``error``, and note it in its history."""
    stop(generation.pk, GenerationState.PAUSED, str(error), noted=error.noted)


def pause_at_limits() -> None:
    """Pause every run at a limit whose questions wait: otherwise no worker may notice for hours."""
    waiting = AnswerRequest.objects.filter(state=WorkState.QUEUED).values("generation")
    for generation in Generation.objects.filter(state=GenerationState.RUNNING, pk__in=waiting):
        try:
            require_within_limits(generation)
        except LimitReachedError as error:
            pause_at_limit(generation, error)


def duration(seconds: float) -> str:
    """Return seconds as hours and minutes, or minutes, or seconds."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min" if minutes else f"{whole} s"
