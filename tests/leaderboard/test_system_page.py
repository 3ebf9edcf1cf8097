"""The pages of systems and of reported runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leaderboard.board.results import confusion, runs_of_system
from leaderboard.models import ReportedAggregate, ReportedRun
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import MetricFactory, ReportedResultFactory, label_counts, measured, reported
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db


def test_all_rows_of_a_system_with_categories(client: Client) -> None:
    system = SystemFactory(slug="solver", name="Solver", links=["https://example.org/solver"])
    first = SuiteVersionFactory(suite=SuiteFactory(slug="first", position=1), tasks=1)
    second = SuiteVersionFactory(suite=SuiteFactory(slug="second", position=2), tasks=1)
    measured(second, system=system)
    entry = measured(first, system=system)
    MetricFactory(
        entry=entry, category=CategoryFactory(slug="evaluation-metrics"), tasks=4, tests_passed=3.0, tests_low=None
    )
    MetricFactory(entry=entry, category=CategoryFactory(slug="data-augmentation"), tasks=2, tests_passed=None)
    runs = runs_of_system(system)
    assert [run.entry.suite_version.suite.slug for run in runs] == ["first", "second"]
    assert [(each["category"].slug, each["tests"] and each["tests"].passed) for each in runs[0].categories] == [
        ("evaluation-metrics", 3.0)
    ]
    page = client.get("/systems/solver/").content.decode()
    assert "3 of 4" in page
    assert 'href="https://example.org/solver"' in page


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_a_system_without_published_rows_exists_for_owner_and_maintainers_only(client: Client, visibility: str) -> None:
    owner = UserFactory()
    system = SystemFactory(slug="secret", name="Secret Weapon", owner=owner)
    entry = measured(system=system, owner=owner)
    Submission.objects.filter(entry=entry).update(visibility=visibility)
    assert client.get("/systems/secret/").status_code == 404
    client.force_login(UserFactory())
    response = client.get("/systems/secret/")
    assert response.status_code == 404
    assert "Secret Weapon" not in response.content.decode()
    for person in (owner, UserFactory(is_staff=True)):
        client.force_login(person)
        assert "Nothing of this system is published" in client.get("/systems/secret/").content.decode()


def test_a_reported_run_task_by_task(client: Client) -> None:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="upstream"), tasks=3)
    entry = reported(
        version,
        slug="no-agent-gpt-4.1",
        remarks=["Judge: the paper prints 7.1."],
        metric={"labels": {"judge": label_counts(1, 1, 1, tasks=3)}},
    )
    run = ReportedRun.objects.get(entry=entry)
    labels = [("LI", "LI"), ("LI", "CC"), ("CC", "")]
    for revision, (judge, human) in zip(version.revisions.order_by("pk"), labels, strict=True):
        ReportedResultFactory(run=run, task=revision.task, judge_label=judge, human_label=human)
    ReportedAggregate.objects.create(run=run, measure="tests", printed="32.1")
    page = client.get("/reported/no-agent-gpt-4.1/").content.decode()
    for text in ("Reported upstream, not re-run here", "https://example.org/results", "the paper prints 7.1", "32.1"):
        assert text in page
    assert confusion(run.results.all()) == [("CC", [0, 0, 1]), ("LC", [0, 0, 0]), ("LI", [0, 0, 1])]
    for revision in version.revisions.all():
        assert revision.task.get_absolute_url() in page


def test_an_unknown_or_unpublished_run_is_not_found(client: Client) -> None:
    entry = reported(slug="draft")
    entry.published = False
    entry.save()
    assert client.get("/reported/draft/").status_code == 404
    assert client.get("/reported/none/").status_code == 404
