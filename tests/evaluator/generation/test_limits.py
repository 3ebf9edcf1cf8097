"""Limits of runs: they also apply while no request is sent, since the sweep pauses runs whose time is up."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from evaluator.enums import GenerationState, WorkState
from evaluator.generation.limits import LimitReachedError, duration, require_within_limits
from evaluator.models import AnswerRequest, Generation
from evaluator.sweep import reconcile
from leaderboard.models import Notice
from submissions.domain.audit import history
from submissions.models import Endpoint
from tests.leaderboard.endpoint_runs import called, endpoint_run
from tests.submissions.factories import UserFactory

pytestmark = pytest.mark.django_db
QUEUED, RUNNING, DONE = WorkState.QUEUED, WorkState.RUNNING, WorkState.DONE


def waiting_run(*states: str, **facts: Any) -> Generation:
    """Return a run whose provider requested a wait of five hours."""
    run = endpoint_run(UserFactory(), *states, **facts)
    later = timezone.now() + timedelta(hours=5)
    AnswerRequest.objects.filter(state=QUEUED).update(not_before=later)
    Endpoint.objects.update(not_before=later)
    return run


def events_of(run: Generation) -> list[tuple[str, str]]:
    return list(history(run.submission).values_list("verb", "reason"))


def test_the_sweep_pauses_a_waiting_run_whose_time_is_up(redis_url: str, time_machine: Any) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    run = waiting_run(QUEUED, QUEUED, run_seconds=3600)
    time_machine.shift(3599)
    reconcile()
    run.refresh_from_db()
    assert (run.state, events_of(run)) == (GenerationState.RUNNING, [])
    time_machine.shift(1)
    reconcile()
    reconcile()
    run.refresh_from_db()
    limit = "The run reached its limit of 1 h."
    assert (run.state, run.reason) == (
        GenerationState.PAUSED, f"{limit} Raise that limit and resume the run; stored answers are kept.",
    )  # fmt: skip
    assert events_of(run) == [("paused", limit)]
    assert list(Notice.objects.values_list("kind", "recipient")) == [("paused", run.submission.owner_id)]


@pytest.mark.parametrize("states", [(RUNNING,), (DONE,)])
def test_the_sweep_does_not_pause_a_run_without_queued_requests(redis_url: str, states: tuple[str, ...]) -> None:
    run = endpoint_run(UserFactory(), *states, run_seconds=0)
    reconcile()
    run.refresh_from_db()
    assert run.state != GenerationState.PAUSED


@pytest.mark.parametrize(
    ("limit", "usage", "limit_text"),
    [
        ({"run_tokens": 20_000}, {"input_tokens": 19_999, "output_tokens": 1}, "20,000 tokens"),
        ({"run_dollars": Decimal("2.50")}, {"dollars": Decimal("2.5")}, "US $ 2.5"),
        ({"run_seconds": 0}, {}, "0 s"),
        (
            {"run_tokens": 20_000, "run_seconds": 0},
            {"input_tokens": None, "output_tokens": None, "estimated_tokens": 20_000},
            "20,000 tokens (by this site's estimate, since the provider reports no token usage)",
        ),
    ],
)
def test_the_public_note_names_the_limit_that_was_reached(
    limit: dict[str, Any], usage: dict[str, Any], limit_text: str
) -> None:
    run = endpoint_run(UserFactory(), DONE, QUEUED, **limit)
    called(run.requests.order_by("pk")[0], **usage)
    with pytest.raises(LimitReachedError) as raised:
        require_within_limits(run)
    assert raised.value.noted == f"The run reached its limit of {limit_text}."


def test_a_run_below_its_limits_continues() -> None:
    run = endpoint_run(UserFactory(), DONE, QUEUED, run_tokens=1501, run_dollars=Decimal("0.0049"))
    called(run.requests.order_by("pk")[0])
    require_within_limits(run)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (3600, "1 h"), (3660, "1 h 1 min"), (21_600, "6 h")],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text
