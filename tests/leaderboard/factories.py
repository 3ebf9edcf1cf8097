"""Factories of published rows for the tests of every room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import factory

from evaluator.enums import RunState
from evaluator.models import TestRun
from leaderboard.board.folding import represent
from leaderboard.board.provenance import of_reported, of_submission
from leaderboard.models import Entry, EntryMetric, ReportedResult, ReportedRun
from leaderboard.models.enums import Provenance
from submissions.enums import Inputs, Kind
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.numbering import numbered
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Submission


def label_counts(cc: int, lc: int, li: int, *, tasks: int, abstained: int = 0) -> dict[str, Any]:
    """One rater's part of ``EntryMetric.labels``."""
    percent = {"CC": round(100 * cc / tasks, 1), "LC": round(100 * lc / tasks, 1), "LI": round(100 * li / tasks, 1)}
    none = tasks - cc - lc - li - abstained
    return {"CC": cc, "LC": lc, "LI": li, "abstained": abstained, "none": none, "percent": percent}


class ReportedRunFactory(factory.django.DjangoModelFactory):
    """A reported run without results."""

    class Meta:
        model = ReportedRun

    slug = numbered("reported-")
    suite = factory.SubFactory(SuiteFactory)
    system = factory.SubFactory(SystemFactory, owner=None)
    inputs = Inputs.FULL
    source_address = "https://example.org/results"


class ReportedResultFactory(factory.django.DjangoModelFactory):
    """A task that the reported run passed."""

    class Meta:
        model = ReportedResult

    run = factory.SubFactory(ReportedRunFactory)
    tests_passed = True


class MetricFactory(factory.django.DjangoModelFactory):
    """11 of 28 tasks passed, overall."""

    class Meta:
        model = EntryMetric

    suite_version = factory.SelfAttribute("entry.suite_version")
    listed = factory.SelfAttribute("entry.listed")
    strength = factory.LazyAttribute(lambda row: Provenance(row.entry.provenance).strength)
    name = factory.LazyAttribute(lambda row: row.entry.system.name.lower())
    tasks = 28
    answered = None
    represents = 0
    tests_passed = 11.0
    tests_rate = factory.LazyAttribute(lambda row: None if row.tests_passed is None else row.tests_passed / row.tasks)
    tests_low = 0.2361
    tests_high = 0.5759


def measured(
    version: SuiteVersion | None = None,
    *,
    metric: dict[str, Any] | None = None,
    provenance: Provenance | None = None,
    **submission: Any,
) -> Entry:
    """The row of a published submission with one overall metric; the flag follows ``published``."""
    published = submission.pop("published", True)
    entry_flag = submission.pop("entry_flag", published)
    version = version or SuiteVersionFactory(tasks=1)
    sent: Submission = SubmissionFactory(suite_version=version, published=published, **submission)
    entry = Entry.objects.create(
        suite_version=version,
        submission=sent,
        system=sent.system,
        inputs=sent.inputs,
        kind=sent.kind,
        provenance=provenance or of_submission(sent),
        published=entry_flag,
    )
    MetricFactory(entry=entry, **(metric or {}))
    represent(entry.system_id)
    return entry


def reported(version: SuiteVersion | None = None, *, metric: dict[str, Any] | None = None, **run: Any) -> Entry:
    """The row of a reported run with one overall metric."""
    version = version or SuiteVersionFactory(tasks=1)
    stored: ReportedRun = ReportedRunFactory(suite=version.suite, **run)
    entry = Entry.objects.create(
        suite_version=version,
        reported_run=stored,
        system=stored.system,
        inputs=stored.inputs,
        kind=Kind.RANKED,
        provenance=of_reported(stored),
        published=True,
    )
    MetricFactory(entry=entry, **(metric or {}))
    represent(entry.system_id)
    return entry


def measured_outcome(entry: Entry, outcome: str, *, trial: int = 1, revision: Any = None) -> TestRun:
    """A finished test run of the entry's submission on ``revision`` (the version's first task)."""
    implementation = ImplementationFactory(
        submission=entry.submission, trial=trial, revision=revision or entry.suite_version.revisions.first()
    )
    run: TestRun = TestRun.objects.create(
        implementation=implementation, evaluator_version="1", state=RunState.DONE, outcome=outcome
    )
    return run
