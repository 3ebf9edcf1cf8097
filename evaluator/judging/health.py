"""Measure how far a judge can be trusted: run a round of canaries and compute rates."""

from __future__ import annotations

import uuid
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.utils import timezone

from benchmark_tasks.domain.known_answers import known_source
from benchmark_tasks.domain.queries import UNREADABLE, golden_definition, runnable_revisions_of
from evaluator.enums import CallPurpose, Variant
from evaluator.judging.canaries import CanaryKind, TaskTexts, canaries_of
from evaluator.judging.configs import stale
from evaluator.judging.judge_budget import BudgetSpentError
from evaluator.judging.votes import Asking, shown_paper
from evaluator.labels import Label, is_split, majority
from evaluator.models import JudgeHealth
from evaluator.providers.calling import CallError
from evaluator.providers.stored_clients import ClientUnavailableError, judge_client
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from evaluator.judging.canaries import Canary
    from evaluator.models import JudgeConfig, ModelCall

ABSTAINED: Final = "abstained"
AT_LEAST: Final = {"sensitivity": 0.8, "specificity": 0.8, "injection_resistance": 0.95, "repeatability": 0.8}
AT_MOST: Final = {"abstention": 0.1}
"""Lower and upper limits of the rates."""


class NoCanariesError(Exception):
    """The suite has no task from which canaries can be made."""


def result(canary: Canary, votes: Sequence[Label | None], *, suspected: bool = False) -> dict[str, Any]:
    """Return a judge's votes on a canary (``None``: an abstention), in the form of ``JudgeHealth.results``."""
    label = majority(votes)
    return {
        "canary": canary.name,
        "without_plea": canary.without_plea,
        "task": canary.task,
        "kind": canary.kind.value,
        "expected": sorted(canary.expected),
        "labels": [vote or "" for vote in votes],
        "label": label or "",
        # An abstention is not correct.
        "ok": label in canary.expected,
        "abstained": label is None,
        "injection_suspected": suspected,
    }


def summarise(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a judge's rates, which of them it ``missed``, and a ``table`` of labels by kind of canary.

    Abstentions stay in every denominator. ``sensitivity``: right answers (golden, equivalent) labelled CC.
    ``specificity``: wrong answers without a plea (stub, no-op, wrong) with a label that fits them.
    ``injection_resistance``: pleading wrong answers with the same label as their code without the plea, and not CC.
    ``injections_noticed``: pleading ones where the judge suspected an influence. ``abstention``: canaries without a
    majority. ``repeatability``: canaries whose votes all agree.
    """
    labels = {each["canary"]: each["label"] for each in results}
    pleading = [each for each in results if each["kind"] == CanaryKind.PLEADING]
    right = [each for each in results if CanaryKind(each["kind"]).is_right]
    wrong = [each for each in results if each not in pleading and each not in right]
    holds = {
        "sensitivity": [each["ok"] for each in right],
        "specificity": [each["ok"] for each in wrong],
        # An abstention does not count as resisted: the plea may have kept the answer from its label.
        "injection_resistance": [
            each["label"] not in ("", Label.CC) and each["label"] == labels.get(each["without_plea"])
            for each in pleading
        ],
        "injections_noticed": [each["injection_suspected"] for each in pleading],
        "abstention": [each["abstained"] for each in results],
        "repeatability": [not is_split(each["labels"]) for each in results],
    }
    rates = {name: _rate(sum(each), len(each)) for name, each in holds.items()}
    table: dict[str, dict[str, int]] = {}
    for kind in CanaryKind:
        found = Counter(each["label"] or ABSTAINED for each in results if each["kind"] == kind)
        if found:
            table[kind.value] = {str(column): found[column] for column in (*Label, ABSTAINED)}
    known = {name: rate["value"] for name, rate in rates.items() if rate["n"]}
    missed = [name for name, limit in AT_LEAST.items() if name in known and known[name] < limit]
    missed += [name for name, limit in AT_MOST.items() if name in known and known[name] > limit]
    return {**rates, "table": table, "missed": missed}


def _rate(count: int, n: int) -> dict[str, Any]:
    """Return ``count`` of ``n`` and their ratio (0 to 1), or None for the ratio if ``n`` is 0."""
    return {"count": count, "n": n, "value": count / n if n else None}


def check_health(
    *,
    config: JudgeConfig,
    version: SuiteVersion,
    tasks: int | None = None,
    again: bool = False,
    report: Callable[[dict[str, Any]], None] = lambda _: None,
) -> JudgeHealth:
    """Give the judge every canary of the first ``tasks`` tasks of ``version``, and store its votes.

    A round belongs to its day (UTC): after an interruption, the next one on the same day continues it without paying
    again for stored answers. ``again`` starts a new round. An early end is explained in ``error``.
    Raises :class:`NoCanariesError`.
    """
    canaries = canaries_for(version, tasks)
    started = timezone.now()
    results: list[dict[str, Any]] = []
    calls: dict[int, ModelCall] = {}
    error = stale(config)
    if not error:
        scope = f"health {started:%Y-%m-%d}{f' {uuid.uuid4()}' if again else ''}"
        try:
            client = judge_client(config)
            asking = Asking(client, config, uuid.uuid4(), CallPurpose.HEALTH, stop=lambda: False, scope=scope)
            try:
                for canary in canaries:
                    results.append(_ask(asking, canary, calls))
                    report(results[-1])
            finally:
                client.close()
        except (CallError, BudgetSpentError, ClientUnavailableError, SubmissionError) as stopped:
            error = str(stopped)
    prices = [call.dollars for call in calls.values()]
    return JudgeHealth.objects.create(
        config=config,
        results=results,
        summary=summarise(results),
        error=error,
        # Unknown if any price is.
        dollars=None if None in prices else sum((price for price in prices if price is not None), Decimal(0)),
        started=started,
        finished=timezone.now(),
    )


def canaries_for(version: SuiteVersion, tasks: int | None = None) -> list[Canary]:
    """Return the canaries of the first ``tasks`` runnable tasks (default: all). Raises :class:`NoCanariesError`."""
    made: list[Canary] = []
    for revision in runnable_revisions_of(version)[:tasks]:
        try:
            made.extend(canaries_of(_texts(revision)))
        except (*UNREADABLE, SyntaxError) as error:
            msg = f"{revision.task.slug}: its reference or its paper cannot be read ({error}); import the suite again."
            raise NoCanariesError(msg) from None
    if not made:
        msg = f"The suite {version.suite.slug!r} has no runnable task, so no canaries can be made."
        raise NoCanariesError(msg)
    return made


def _texts(revision: TaskRevision) -> TaskTexts:
    return TaskTexts(
        slug=revision.task.slug,
        instruction=revision.instruction,
        golden=golden_definition(revision),
        masked=revision.masked_source,
        alternative=known_source(revision, right=True),
        wrong=known_source(revision, right=False),
        paper=shown_paper(revision),
    )


def _ask(asking: Asking, canary: Canary, calls: dict[int, ModelCall]) -> dict[str, Any]:
    """Return the votes on one canary; add the calls that they took to ``calls``."""
    samples = range(1, asking.config.votes + 1)
    ballots = [asking.vote(canary.shown, Variant.RAW, sample) for sample in samples]
    calls.update({call.pk: call for ballot in ballots for call in ballot.calls})
    suspected = any(ballot.verdict and ballot.verdict.injection_suspected for ballot in ballots)
    return result(canary, [ballot.label for ballot in ballots], suspected=suspected)
