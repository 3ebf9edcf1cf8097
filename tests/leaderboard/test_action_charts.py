"""Charts of what agents did, and their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.board.entries import recompute_submission
from leaderboard.runs import action_charts
from leaderboard.runs.action_charts import action_shares, counts_by_outcome, total_counts
from submissions.enums import Visibility
from submissions.models import Submission
from submissions.trajectories.steps import Action
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.leaderboard.judging import walked
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db
RUN, READ, EDIT, FINISH = Action.RUN, Action.READ, Action.EDIT, Action.FINISH


def version_of() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="lmr-mini"), tasks=2)
    return made


def worked(version: SuiteVersion, name: str, *outcomes: str, **facts: object) -> Submission:
    """A scored submission whose agent took four actions for its first answer, and one for its second."""
    submission: Submission = QueuedSubmissionFactory(
        suite_version=version, **{"published": True, "state": "scored", "system": SystemFactory(name=name), **facts}
    )
    runs_of(submission, *outcomes)
    first, second = submission.implementations.order_by("revision_id")
    walked(first, READ, READ, EDIT, FINISH)
    walked(second, RUN)
    recompute_submission(submission.pk)
    return submission


def test_shares_are_of_all_actions_of_a_submission() -> None:
    (bar,) = action_charts.of_submission(worked(version_of(), "Alpha", "passed", "raised")).shares
    assert (bar.name, bar.counted.answers, bar.total) == ("Alpha", 2, 5)
    assert bar.numbers == pytest.approx([20.0, 40.0, 20.0, 0.0, 20.0, 0.0])
    assert bar.parts == [("run", 0.0, 20.0), ("read", 20.0, 40.0), ("edit", 60.0, 20.0), ("finish", 80.0, 20.0)]


def test_outcomes_are_means_on_one_scale() -> None:
    passed, failed = action_charts.of_submission(worked(version_of(), "Alpha", "passed", "raised")).outcomes
    assert (passed.name, passed.counted.answers, passed.numbers) == ("passed", 1, [0.0, 2.0, 1.0, 0.0, 1.0, 0.0])
    assert (failed.name, failed.counted.answers, failed.numbers) == ("failed", 1, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert sum(width for _, _, width in passed.parts) == pytest.approx(100)
    assert sum(width for _, _, width in failed.parts) == pytest.approx(25)


def test_a_board_has_a_bar_for_each_published_system_and_links_there(client: Client) -> None:
    version = version_of()
    worked(version, "Beta", "passed", "passed")
    worked(version, "Alpha", "raised", "raised")
    worked(version, "Secret Weapon", "passed", "passed", visibility=Visibility.PRIVATE)
    worked(
        SuiteVersionFactory(suite=version.suite, number=2, seed_epoch=version.seed_epoch, tasks=2), "Newer", "passed"
    )
    charts = action_charts.of_board(version)
    assert [bar.name for bar in charts.shares] == ["Alpha", "Beta"]
    assert [(bar.name, bar.counted.answers) for bar in charts.outcomes] == [("passed", 2), ("failed", 2)]
    page = client.get("/board/lmr-mini/actions/?version=1").content.decode()
    assert ("Alpha" in page, "Secret Weapon" in page, "Newer" in page) == (True, False, False)
    assert (
        'href="/board/lmr-mini/actions/?version=1">How agents worked</a>'
        in client.get("/board/lmr-mini/?version=1").content.decode()
    )


def test_a_private_submissions_actions_are_its_owners(client: Client) -> None:
    submission = worked(version_of(), "Secret Weapon", "passed", "passed", visibility=Visibility.PRIVATE)
    address = f"/submissions/{submission.pk}/actions/"
    assert client.get(address).status_code == 404
    client.force_login(UserFactory())
    assert client.get(address).status_code == 404
    client.force_login(submission.owner)
    assert "Secret Weapon" in client.get(address).content.decode()


def test_queries_do_not_grow_with_systems(client: Client) -> None:
    version, counts = version_of(), []
    for name in ("Alpha", "Beta"):
        worked(version, name, "passed", "raised")
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/board/lmr-mini/actions/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 8


NONE = {"run": 0, "read": 0, "edit": 0, "message": 0, "finish": 0, "other": 0}


def test_shares_are_of_all_actions() -> None:
    assert action_shares({"run": 3, "edit": 1}) == {**NONE, "run": 0.75, "edit": 0.25}
    assert action_shares({}) == NONE


def test_counts_of_several_answers_are_added() -> None:
    both = total_counts([{"run": 3, "finish": 1}, {"run": 1, "unknown": 7}])
    assert (both.answers, both.counts) == (2, {**NONE, "run": 4, "finish": 1})
    assert both.means == {**NONE, "run": 2.0, "finish": 0.5}
    assert both.shares == {**NONE, "run": 0.8, "finish": 0.2}


def test_passed_and_failed_answers_are_kept_apart() -> None:
    found = counts_by_outcome([(True, {"run": 1}), (False, {"run": 5}), (False, {"read": 2})])
    assert {passed: (each.answers, each.counts) for passed, each in found.items()} == {
        True: (1, {**NONE, "run": 1}),
        False: (2, {**NONE, "run": 5, "read": 2}),
    }
    assert counts_by_outcome([])[True].means == NONE
