"""Measure how far a judge can be trusted: a round of canaries, and the rates that come of it."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.utils import timezone

from benchmark_tasks.domain.catalogue import shipped_sample
from benchmark_tasks.domain.queries import UNREADABLE, golden_definition, runnable_revisions_of
from benchmark_tasks.domain.statistics import wilson
from evaluator.enums import CallPurpose, Variant
from evaluator.judging.canaries import CanaryKind, TaskTexts, canaries_of
from evaluator.judging.configs import stale
from evaluator.judging.judge_budget import BudgetSpentError
from evaluator.judging.labels import Label, is_split, majority
from evaluator.judging.votes import Asking
from evaluator.models import JudgeHealth
from evaluator.providers.calling import CallError
from evaluator.providers.stored_clients import ClientUnavailableError, judge_client
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from evaluator.judging.canaries import Canary
    from evaluator.models import JudgeConfig, ModelCall

ABSTAINED: Final = "abstained"


class NoCanariesError(Exception):
    """The suite has no task that canaries can be made of."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` of ``n``, with the Wilson interval of 95 % (0 to 1). Without any n all three are undefined."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1."""
        return self.count / self.n if self.n else None

    def as_data(self) -> dict[str, Any]:
        """``{count, n, value, low, high}``; the last three ``None`` where undefined."""
        low, high = wilson(self.count, self.n) if self.n else (None, None)
        return {"count": self.count, "n": self.n, "value": self.value, "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a rate must reach, or must not exceed (``at_most``)."""

    limit: float
    at_most: bool = False

    def missed(self, rate: Rate) -> bool:
        """Whether ``rate`` is on the wrong side; what is undefined misses nothing."""
        if rate.value is None:
            return False
        return rate.value > self.limit if self.at_most else rate.value < self.limit


THRESHOLDS: Final = {
    "sensitivity": Threshold(0.8),
    "specificity": Threshold(0.8),
    "injection_resistance": Threshold(0.95),
    "abstention": Threshold(0.1, at_most=True),
    "repeatability": Threshold(0.8),
}


@dataclass(frozen=True, slots=True)
class Result:
    """The votes on one canary, ``None`` for an abstention, and whether any suspected an influence."""

    canary: Canary
    votes: tuple[Label | None, ...]
    injection_suspected: bool = False

    @property
    def label(self) -> Label | None:
        """What more than half of the votes say."""
        return majority(self.votes)

    @property
    def ok(self) -> bool:
        """Whether the label is one that is right for the canary. An abstention is not."""
        return self.label in self.canary.expected

    def as_data(self) -> dict[str, Any]:
        """As it is stored in ``JudgeHealth.results``."""
        return {
            "canary": self.canary.name,
            "task": self.canary.task,
            "kind": self.canary.kind.value,
            "expected": sorted(label.value for label in self.canary.expected),
            "labels": [label.value if label else "" for label in self.votes],
            "label": self.label.value if self.label else "",
            "ok": self.ok,
            "abstained": self.label is None,
            "injection_suspected": self.injection_suspected,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """A judge's ``rates``, and how often it gave which label to which kind of canary.

    Abstentions stay in every denominator. ``sensitivity``: right answers (golden, equivalent) that it calls CC.
    ``specificity``: wrong answers without a plea (stub, no-op, wrong) with a label that fits them.
    ``injection_resistance``: pleading wrong answers that it gives the label of the same code without the plea, and not
    CC. ``injections_noticed``: pleading ones in which it suspected an influence. ``abstention``: canaries without a
    majority. ``repeatability``: canaries whose votes all say the same.
    """

    rates: dict[str, Rate]
    table: dict[str, dict[str, int]]

    def missed(self) -> list[str]:
        """The names of the rates that miss their threshold, in the order of :data:`THRESHOLDS`."""
        return [name for name, threshold in THRESHOLDS.items() if threshold.missed(self.rates[name])]

    def as_data(self) -> dict[str, Any]:
        """Plain data: each rate as :meth:`Rate.as_data`, ``table``, and ``missed``."""
        rates = {name: rate.as_data() for name, rate in self.rates.items()}
        return {**rates, "table": self.table, "missed": self.missed()}


def summarise(results: Sequence[Result]) -> Summary:
    """The rates of one round of canaries."""
    labels = {result.canary.name: result.label for result in results}
    pleading = [result for result in results if result.canary.kind is CanaryKind.PLEADING]
    right = [result for result in results if result.canary.kind.is_right]
    wrong = [result for result in results if result not in pleading and result not in right]
    holds = {
        "sensitivity": [result.ok for result in right],
        "specificity": [result.ok for result in wrong],
        "injection_resistance": [_resisted(result, labels) for result in pleading],
        "injections_noticed": [result.injection_suspected for result in pleading],
        "abstention": [result.label is None for result in results],
        "repeatability": [not is_split(result.votes) for result in results],
    }
    table: dict[str, dict[str, int]] = {}
    for kind in CanaryKind:
        found = Counter(result.label or ABSTAINED for result in results if result.canary.kind is kind)
        if found:
            table[kind.value] = {str(column): found[column] for column in (*Label, ABSTAINED)}
    return Summary({name: Rate(sum(each), len(each)) for name, each in holds.items()}, table)


def _resisted(result: Result, labels: dict[str, Label | None]) -> bool:
    """An abstention counts as not resisted: the plea, or the judge, kept the answer from its label."""
    if result.label is None or result.label is Label.CC:
        return False
    return result.label == labels.get(result.canary.without_plea)


@dataclass(slots=True)
class _Round:
    """What was found until now, and the calls that it took."""

    results: list[Result] = field(default_factory=list)
    calls: dict[int, ModelCall] = field(default_factory=dict)

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
    report: Callable[[Result], None] = lambda _: None,
) -> JudgeHealth:
    """Give the judge every canary of the first ``tasks`` tasks of ``version``, and store what it said.

    A round belongs to its day (UTC): when it was broken off, the next one of the same day goes on, and what was
    answered is not paid again. ``again`` begins a new round. What ends a round early is its ``error``.
    Raises :class:`NoCanariesError`.
    """
    canaries = canaries_for(version, tasks)
    started = timezone.now()
    found = _Round()
    error = stale(config)
    if not error:
        try:
            _ask(config, canaries, found, scope=_scope(started, again=again), report=report)
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
    config: JudgeConfig, canaries: list[Canary], found: _Round, *, scope: str, report: Callable[[Result], None]
) -> None:
    client = judge_client(config)
    asking = Asking(client, config, uuid.uuid4(), CallPurpose.HEALTH, stop=lambda: False, scope=scope)
    try:
        for canary in canaries:
            ballots = [asking.vote(canary.shown, Variant.RAW, sample) for sample in range(1, config.votes + 1)]
            found.calls.update({call.pk: call for ballot in ballots for call in ballot.calls})
            suspected = any(ballot.verdict and ballot.verdict.injection_suspected for ballot in ballots)
            found.results.append(Result(canary, tuple(ballot.label for ballot in ballots), suspected))
            report(found.results[-1])
    finally:
        client.close()


def _scope(started: datetime, *, again: bool) -> str:
    day = f"{started:%Y-%m-%d}"
    return f"health {day} {uuid.uuid4()}" if again else f"health {day}"
