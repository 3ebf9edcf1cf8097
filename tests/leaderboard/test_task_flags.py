"""What pages say of tasks that a decision put in doubt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.models import SuiteVersion
from reviews.cases.appeals import void
from reviews.cases.flags import flag_task
from reviews.enums import CaseState
from reviews.models import TaskFlag
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory, TaskRevisionFactory
from tests.leaderboard.factories import measured, reported
from tests.leaderboard.showing import rows_of
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided
from tests.submissions.factories import ImplementationFactory, SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import TaskRevision

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=3)
    return made


def flagged(revision: TaskRevision, reason: str = "bad_test") -> TaskFlag:
    """A flag by a decision on another suite version's published answer, which has no row here."""
    answer = ImplementationFactory(submission=answers()[0].submission, revision=revision)
    case = case_of(answer, state=CaseState.FINAL, label="CC", source="decision", settled=timezone.now())
    (flag,) = flag_task(decided(case, ReviewerFactory(adjudicator=True), "CC", reasons=[reason]))
    return flag


def task_of(version: SuiteVersion, place: int) -> TaskRevision:
    return version.revisions.order_by("pk")[place]


def text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


class TestBoard:
    def test_measured_rows_that_count_a_flagged_task_are_marked(self, version: SuiteVersion) -> None:
        first, second, third = (task_of(version, place) for place in range(3))
        measured(version, system=SystemFactory(name="A"))
        leaving_out = measured(version, system=SystemFactory(name="B"))
        leaving_out.left_out = [{"task": first.task.slug, "why": "weak test"}]
        leaving_out.save()
        reported(version, system=SystemFactory(name="C"))
        measured(SuiteVersionFactory(suite=version.suite, number=2, revisions=[third]), system=SystemFactory(name="D"))
        flagged(first)
        flagged(first)
        flagged(second, "bad_golden")
        names = tuple(sorted([first.task.slug, second.task.slug]))
        rows = rows_of(version, sort="system")
        assert [row.flagged for row in rows] == [names, (second.task.slug,), ()]
        (other,) = rows_of(version.suite.versions.get(number=2))
        assert other.flagged == ()

    def test_the_page_says_so_above_and_in_the_row(self, client: Client, version: SuiteVersion) -> None:
        measured(version)
        flag = flagged(task_of(version, 0))
        slug, case = flag.revision.task.slug, flag.decision.case
        page = client.get("/board/small/").content.decode()
        assert f"In doubt, found by review: {slug} (bad test, case {case.pk} )." in text(page).replace(" .", ".")
        assert f'href="{case.get_absolute_url()}"' in page
        assert f'title="A review found the test or golden function bad: {slug}"' in page
        assert "counts 1 task in doubt" in page

    def test_queries_do_not_grow_with_rows_and_flags(self, client: Client, version: SuiteVersion) -> None:
        counts = []
        for place in range(3):
            measured(version, system=SystemFactory())
            flagged(task_of(version, place))
            with CaptureQueriesContext(connection) as queries:
                client.get("/board/small/")
            counts.append(len(queries))
        assert counts[0] == counts[1] == counts[2]


def test_the_tasks_page_says_why_since_when_and_where_it_was_found(client: Client, version: SuiteVersion) -> None:
    flag = flagged(task_of(version, 0), "bad_golden")
    page = client.get(flag.revision.task.get_absolute_url()).content.decode()
    assert "In doubt: bad golden function." in text(page)
    assert f'<time datetime="{timezone.localtime(flag.created).isoformat(timespec="seconds")}"' in page
    assert f'href="{flag.decision.case.get_absolute_url()}"' in page
    other = client.get(task_of(version, 1).task.get_absolute_url()).content.decode()
    assert "In doubt" not in other


@pytest.mark.parametrize("ended", ["void", "withdrawn"])
def test_maintainers_lift_it_on_the_tasks_page_whatever_became_of_the_case(
    client: Client, version: SuiteVersion, ended: str
) -> None:
    flag, maintainer = flagged(task_of(version, 0)), UserFactory(is_staff=True)
    case = flag.decision.case
    if ended == "void":
        void(actor=maintainer, case=case, reason="The environment was broken.")
    else:
        Submission.objects.filter(pk=case.implementation.submission_id).update(visibility=Visibility.WITHDRAWN)
    here, action = f"{flag.revision.task.get_absolute_url()}?version=1", reverse("flag_lift", args=[flag.pk])
    client.force_login(ReviewerFactory(adjudicator=True).user)
    assert action not in client.get(here).content.decode()
    client.force_login(maintainer)
    page = client.get(here).content.decode()
    assert f'action="{action}"' in page
    assert f'name="next" value="{here}"' in page
    response = client.post(action, {"reason": "The tolerance was mended.", "next": here}, follow=True)
    assert response.redirect_chain == [(here, 302)]
    assert ("The flag is lifted" in response.content.decode(), "In doubt" in response.content.decode()) == (True, False)


def test_lists_lead_to_the_revision_that_is_flagged(client: Client, version: SuiteVersion) -> None:
    flag = flagged(task_of(version, 0))
    SuiteVersionFactory(
        suite=version.suite, number=2, revisions=[TaskRevisionFactory(task=flag.revision.task, number=2)]
    )
    page = client.get("/suites/small/?version=1").content.decode()
    assert f'href="{flag.revision.task.get_absolute_url()}?version=1"' in page
