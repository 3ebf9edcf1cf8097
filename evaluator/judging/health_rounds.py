"""How far a judge can be trusted: a round of canaries, and what came of it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from django.utils import timezone

from benchmark_tasks.domain.catalogue import shipped_sample
from benchmark_tasks.domain.queries import UNREADABLE, golden_definition, runnable_revisions_of
from evaluator.enums import CallPurpose, Variant
from evaluator.judging.canaries import TaskTexts, canaries_of
from evaluator.judging.configs import stale
from evaluator.judging.health import Result, Vote, summarise
from evaluator.judging.judge_budget import BudgetSpentError
from evaluator.judging.votes import Asking
from evaluator.models import JudgeHealth
from evaluator.providers.calling import CallError
from evaluator.providers.stored_clients import ClientUnavailableError, judge_client
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from evaluator.judging.canaries import Canary
    from evaluator.judging.votes import Ballot
    from evaluator.models import JudgeConfig, ModelCall


class NoCanariesError(Exception):
    """The suite has no task that canaries can be made of."""


@dataclass(slots=True)
class _Round:
    """What was found until now, and the calls that it took."""

    results: list[Result]
    calls: dict[int, ModelCall]

    def dollars(self) -> Decimal | None:
        """What the round's calls cost; ``None`` where a price is not known."""
        prices = [call.dollars for call in self.calls.values()]
        return None if None in prices else sum((price for price in prices if price is not None), Decimal(0))


def check_health(
    *,
    config: JudgeConfig,
    version: SuiteVersion,
    tasks: int | None = None,
    again: bool = False,
    tell: Callable[[Result], None] = lambda _: None,
) -> JudgeHealth:
    """Give the judge every canary of the first ``tasks`` tasks of ``version``, and store what it said.

    A round belongs to its day (UTC): when it was broken off, the next one of the same day goes on, and what was
    answered is not paid again. ``again`` begins a new round. What ends a round early is its ``error``.
    Raises :class:`NoCanariesError`.
    """
    canaries = canaries_for(version, tasks)
    started = timezone.now()
    found = _Round(results=[], calls={})
    error = stale(config)
    if not error:
        try:
            _ask(config, canaries, found, scope=_scope(started, again=again), tell=tell)
        except (CallError, BudgetSpentError, ClientUnavailableError, SubmissionError) as fault:
            error = str(fault)
    return JudgeHealth.objects.create(
        config=config,
        results=[result.as_data() for result in found.results],
        summary=summarise(found.results).as_data(),
        error=error,
        dollars=found.dollars(),
        started=started,
        finished=timezone.now(),
    )


def canaries_for(version: SuiteVersion, tasks: int | None = None) -> list[Canary]:
    """The canaries of the first ``tasks`` runnable tasks (all where not given). Raises :class:`NoCanariesError`."""
    made: list[Canary] = []
    for revision in runnable_revisions_of(version)[:tasks]:
        try:
            made.extend(canaries_of(_texts(revision)))
        except (*UNREADABLE, SyntaxError) as error:
            msg = f"{revision.task.slug}: its reference cannot be read ({error}); import the suite again."
            raise NoCanariesError(msg) from None
    if not made:
        msg = f"The suite {version.suite.slug!r} has no runnable task, so there is nothing to make canaries of."
        raise NoCanariesError(msg)
    return made


def _texts(revision: TaskRevision) -> TaskTexts:
    return TaskTexts(
        slug=revision.task.slug,
        instruction=revision.instruction,
        golden=golden_definition(revision),
        masked=revision.masked_source,
        alternative=shipped_sample(revision, "alternative") or "",
        wrong=shipped_sample(revision, "wrong") or "",
    )


def _ask(
    config: JudgeConfig, canaries: list[Canary], found: _Round, *, scope: str, tell: Callable[[Result], None]
) -> None:
    client = judge_client(config)
    try:
        asking = Asking(
            client=client,
            config=config,
            token=uuid.uuid4(),
            purpose=CallPurpose.HEALTH,
            stop=lambda: False,
            scope=scope,
        )
        for canary in canaries:
            ballots = [asking.vote(canary.shown, Variant.RAW, sample) for sample in range(1, config.votes + 1)]
            found.calls.update({call.pk: call for ballot in ballots for call in ballot.calls})
            result = Result(canary=canary, votes=tuple(_vote(ballot) for ballot in ballots))
            found.results.append(result)
            tell(result)
    finally:
        client.close()


def _vote(ballot: Ballot) -> Vote:
    suspected = bool(ballot.verdict and ballot.verdict.injection_suspected)
    return Vote(label=ballot.label, injection_suspected=suspected)


def _scope(started: datetime, *, again: bool) -> str:
    day = f"{started:%Y-%m-%d}"
    return f"health {day} {uuid.uuid4()}" if again else f"health {day}"
