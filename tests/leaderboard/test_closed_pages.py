"""Whoever labels an answer of a suite sees no rating of any of its answers, on no page, until the label is locked."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind
from reviews.models import Assignment, Case
from submissions.models import Submission
from tests.leaderboard.closable import World, world
from tests.reviews.factories import answers, assigned, case_of, ready
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from reviews.models import Reviewer
    from submissions.models import User

pytestmark = pytest.mark.django_db

PAGES = (
    *("implementation", "run", "trajectory", "trajectory_json", "submission", "total", "reevaluated", "traced"),
    *("progress", "cell", "cases", "case", "judge_differences", "task", "reported_run", "reported_case"),
    *("reported_cases", "answer_calls", "model_call", "raw_call"),
    *("category", "front", "few_tasks", "system", "system_categories", "actions", "board_actions"),
    *("reported_categories", "reported_totals", "reported_confusion"),
    *("judge_matrix", "judge_counts", "judge_places"),
)
MAINTAINERS_PAGES = ("bundle", "reevaluate")


@pytest.fixture
def suite_world(settings: Settings, tmp_path: Path) -> World:
    settings.MEDIA_ROOT = tmp_path
    return world()


@pytest.fixture
def annotator() -> Reviewer:
    return ready()


@pytest.fixture
def maintainer() -> Reviewer:
    """A maintainer who labels, too."""
    return ready(user=UserFactory(is_staff=True))


def body(client: Client, address: str, user: User | None) -> tuple[int, str]:
    if user is not None:
        client.force_login(user)
    response: Any = client.get(address)
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, content.decode()


def test_every_page_is_tried(suite_world: World) -> None:
    assert {*PAGES, *MAINTAINERS_PAGES} == set(suite_world.pages)
    assert {name for name, page in suite_world.pages.items() if page.for_maintainers} == set(MAINTAINERS_PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_it_is_closed_to_who_labels_and_to_nobody_else(
    client: Client, suite_world: World, annotator: Reviewer, name: str
) -> None:
    page = suite_world.pages[name]
    suite_world.hold(annotator)
    status, text = body(client, page.address, annotator.user)
    assert status == page.status
    assert page.marker not in text
    for somebody_else in (ready().user, UserFactory()):
        assert page.marker in body(client, page.address, somebody_else)[1]
    client.logout()
    assert page.marker in body(client, page.address, None)[1]


@pytest.mark.parametrize("name", [*PAGES, *MAINTAINERS_PAGES])
def test_maintainers_who_label_are_no_exception(
    client: Client, suite_world: World, maintainer: Reviewer, name: str
) -> None:
    page = suite_world.pages[name]
    assert page.marker in body(client, page.address, maintainer.user)[1]
    suite_world.hold(maintainer)
    status, text = body(client, page.address, maintainer.user)
    assert status == page.status
    assert page.marker not in text
    assert page.marker in body(client, page.address, UserFactory(is_staff=True))[1]


@pytest.mark.parametrize("name", PAGES)
def test_it_opens_when_the_label_is_locked(client: Client, suite_world: World, annotator: Reviewer, name: str) -> None:
    suite_world.hold(annotator)
    Assignment.objects.update(state=AssignmentState.DONE)
    assert suite_world.pages[name].marker in body(client, suite_world.pages[name].address, annotator.user)[1]


def test_the_page_says_what_why_and_where_to_go_back(client: Client, suite_world: World, annotator: Reviewer) -> None:
    suite_world.hold(annotator)
    held = Assignment.objects.get(case=suite_world.waiting)
    client.force_login(annotator.user)  # type: ignore[arg-type]
    response = client.get(suite_world.pages["implementation"].address)
    text = response.content.decode()
    assert f"The single answers of {suite_world.suite.title}, and what was said of them, are closed to you" in text
    assert f'href="/reviews/label/{held.pk}/"' in text
    assert "no-store" in response["Cache-Control"]
    # Neither the page nor the link may say which answer it is.
    assert suite_world.waiting.implementation.get_absolute_url() not in text


def test_rows_of_a_closed_submission_say_so(client: Client, suite_world: World, annotator: Reviewer) -> None:
    suite_world.hold(annotator)
    text = body(client, suite_world.pages["submission"].address, annotator.user)[1]
    assert text.count('<span class="outcome pending">closed while you label</span>') == 2
    assert "passed" not in text.replace("passed tasks", "")


def test_ones_own_submissions_stay_open(client: Client, suite_world: World, annotator: Reviewer) -> None:
    Submission.objects.filter(pk=suite_world.measured.pk).update(owner=annotator.user)
    suite_world.hold(annotator)
    for name in ("implementation", "submission", "total", "trajectory"):
        page = suite_world.pages[name]
        assert page.marker in body(client, page.address, annotator.user)[1]


def test_other_suites_stay_open(client: Client, suite_world: World, annotator: Reviewer) -> None:
    assigned(case_of(answers()[0]), annotator)
    for name in PAGES:
        page = suite_world.pages[name]
        assert page.marker in body(client, page.address, annotator.user)[1], name


def test_practice_closes_nothing(client: Client, suite_world: World, annotator: Reviewer) -> None:
    suite_world.hold(annotator)
    page = suite_world.pages["implementation"]
    assert page.marker not in body(client, page.address, annotator.user)[1]
    Case.objects.update(kind=CaseKind.PRACTICE)
    assert page.marker in body(client, page.address, annotator.user)[1]


@pytest.mark.parametrize("state", [AssignmentState.ACTIVE, AssignmentState.EXPIRED, AssignmentState.RETURNED])
def test_what_may_be_taken_up_again_stays_closed(
    client: Client, suite_world: World, annotator: Reviewer, state: AssignmentState
) -> None:
    suite_world.hold(annotator)
    Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1), state=state)
    page = suite_world.pages["implementation"]
    assert page.marker not in body(client, page.address, annotator.user)[1]
    Assignment.objects.update(state=AssignmentState.SKIPPED)
    assert page.marker in body(client, page.address, annotator.user)[1]
