"""The report that a job computes for a suite version, when it is recomputed, and when it is not shown."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchmark_tasks.models import TaskRevision
from evaluator.queue.pushing import AUDITS, opened
from leaderboard.board.entries import recompute_submission
from leaderboard.insight.analysis.data import SuiteResults, inputs_digest
from leaderboard.insight.analysis.report import LEAST_PAUSE, compute_report, push_stale
from leaderboard.models import AnalysisReport
from leaderboard.upkeep.jobs import compute_analysis
from reviews.enums import CaseState, FinalSource
from submissions.enums import Inputs, Kind, Visibility
from submissions.models import Implementation, Submission
from submissions.trajectories.steps import Action
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.judging import JudgeFactory, judged, walked
from tests.leaderboard.showing import counted
from tests.reviews.factories import case_of, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=4)
    shapes = ((1.0, 2.0, 0.5, 10), (2.0, 1.5, 0.1, 40), (3.0, 1.0, 0.9, 20), (2.5, 3.0, 0.4, 90))
    names = ("directory_depth", "branch_factor", "directory_imbalance", "goal_length")
    for revision, shape in zip(made.revisions.order_by("pk"), shapes, strict=True):
        revision.repository_metrics = dict(zip(names, shape, strict=True))
        revision.save()
    return made


def published(version: SuiteVersion, *outcomes: str, backbone: str = "alpha", **facts: Any) -> Submission:
    """A published run with its row."""
    facts = {"system": SystemFactory(backbone=backbone), "published": True, **facts}
    submission = counted(version, *outcomes, **facts)
    recompute_submission(submission.pk)
    return submission


def answers_of(submission: Submission) -> list[Implementation]:
    return list(submission.implementations.order_by("revision_id"))


def data(version: SuiteVersion) -> dict[str, Any]:
    found: dict[str, Any] = compute_report(version).data
    return found


def test_the_regression_counts_published_ranked_answers_with_all_inputs(version: SuiteVersion) -> None:
    published(version, "passed", "passed", "wrong_output", "raised")
    published(version, "passed", "wrong_output", "passed", "wrong_output", backbone="beta")
    for facts in ({"published": False}, {"kind": Kind.CALIBRATION}, {"inputs": Inputs.PAPER_ONLY}):
        published(version, "passed", "passed", "passed", "passed", **facts)
    found = data(version)["regressions"]
    assert found["reported"] is None
    measured = found["measured"]
    counts = (measured["answers"], measured["passes"], measured["tasks"], measured["papers"], measured["reference"])
    assert counts == (8, 4, 4, 4, "alpha")
    assert measured["why"] == "too few answers: 4 passed and 4 failed, and 6 coefficients need 12 of each"


def test_enough_answers_have_coefficients_and_a_weak_task_does_not_count(version: SuiteVersion) -> None:
    patterns = ("pppw", "wppp", "pwwp", "wwpw", "pwpw", "wpwp", "ppww", "wwpp")
    for number, pattern in enumerate(patterns):
        outcomes = ("passed" if each == "p" else "wrong_output" for each in pattern)
        published(version, *outcomes, backbone=("alpha", "beta")[number % 2])
    measured = data(version)["regressions"]["measured"]
    # Four tasks do not determine the coefficients of four metrics and a constant.
    assert measured["why"].startswith("the predictors determine one another")
    weak = version.revisions.order_by("pk")[3]
    TaskRevision.objects.filter(pk=weak.pk).update(audit_state="weak")
    TaskRevision.objects.update(repository_metrics={})
    for submission in Submission.objects.all():
        recompute_submission(submission.pk)
    measured = data(version)["regressions"]["measured"]
    assert (measured["answers"], measured["tasks"]) == (24, 3)
    assert [term["name"] for term in measured["terms"]] == ["constant", "model: beta"]
    assert list(measured["left_out"]) == ["the repository metrics, since 3 of 3 tasks have no repository here"]


def test_raters_actions_and_errors(version: SuiteVersion) -> None:
    submission = published(version, "passed", "passed", "wrong_output", "raised")
    one, two, three, _ = answers_of(submission)
    judge = JudgeFactory(name="Stern")
    for answer, label in ((one, "CC"), (two, "LI"), (three, "LI")):
        judged(answer, judge, label)
    walked(one, Action.RUN, Action.READ, Action.RUN)
    for answer, state in ((two, CaseState.FINAL), (three, CaseState.FINAL), (one, CaseState.DISPUTED)):
        case = case_of(answer, state=state, label="LI", source=FinalSource.AGREED, closed=timezone.now())
        for _ in range(2):
            reviewed(case, ready(), "LI")
    found = data(version)
    by_rater = {(pair["tests"], pair["rater"]): pair["matrix"] for pair in found["tests_pairs"]}
    # Rows: passed, not passed; columns: CC, LC, LI. The open case does not count.
    assert by_rater == {
        ("Unit tests", "Stern"): [[1, 0, 1], [0, 0, 1]],
        ("Unit tests", "Annotators, first label"): [[0, 0, 1], [0, 0, 1]],
        ("Unit tests", "Annotators, second label"): [[0, 0, 1], [0, 0, 1]],
    }
    (each,) = found["contradictions"]
    assert each == {
        "category": version.revisions.first().category.title,
        "tests": "Unit tests",
        "judge": "Stern",
        "only_tests": 1,
        "only_judge": 0,
        "answers": 3,
    }
    assert sorted((each["passed"], each["runs"]) for each in found["passes"]) == [(0, 1), (0, 1), (1, 1), (1, 1)]
    assert [(bar["total"], bar["answers"]) for bar in found["shares"]] == [(3, 1)]
    # Two answers, each with the same class by both annotators; the open case does not count.
    assert (found["errors"], found["marked"]) == ({"comprehension": 2}, 2)


def test_a_report_that_is_older_than_its_data_has_a_note(version: SuiteVersion) -> None:
    published(version, "passed")
    compute_report(version)
    assert "before the newest change" not in SuiteResults(version).report.note
    published(version, "passed")
    report = SuiteResults(version).report
    assert report.data is not None
    assert "before the newest change of the data" in report.note


def test_the_digest_follows_rows_their_counts_and_metrics(version: SuiteVersion) -> None:
    digests = [inputs_digest(version)]
    submission = published(version, "passed")
    digests.append(inputs_digest(version))
    recompute_submission(submission.pk)
    digests.append(inputs_digest(version))
    version.revisions.filter(pk=version.revisions.first().pk).update(repository_metrics={})
    digests.append(inputs_digest(version))
    assert len(set(digests)) == 4
    assert inputs_digest(version) == digests[-1]


@pytest.mark.parametrize("visibility", [Visibility.HIDDEN, Visibility.WITHDRAWN, Visibility.PRIVATE])
def test_a_report_is_hidden_as_soon_as_one_of_its_submissions_is(version: SuiteVersion, visibility: str) -> None:
    """The report, which has the numbers and names of the submission, is hidden until a job has recomputed it."""
    published(version, "passed")
    secret = published(version, "passed")
    compute_report(version)
    assert SuiteResults(version).report.data is not None
    Submission.objects.filter(pk=secret.pk).update(visibility=visibility)
    report = SuiteResults(version).report
    assert report.data is None
    assert report.missing.startswith("a worker computes this")
    compute_report(version)
    assert SuiteResults(version).report.data is not None


def test_a_version_without_published_rows_has_no_report(version: SuiteVersion) -> None:
    assert SuiteResults(version).report == (None, "nothing is published on this version yet", "")


def queued() -> list[str]:
    with opened(AUDITS) as queue:
        return sorted(queue.job_ids)


def test_the_sweep_queues_missing_and_old_reports_once(version: SuiteVersion, redis_url: str) -> None:
    assert (push_stale(), queued()) == (0, [])
    published(version, "passed")
    assert (push_stale(), push_stale(), queued()) == (1, 0, [f"analysis-{version.pk}"])
    with opened(AUDITS) as queue:
        queue.connection.flushall()
    compute_analysis(version.pk)
    assert push_stale() == 0
    published(version, "passed")
    # Frequent changes do not each queue a job.
    assert push_stale() == 0
    AnalysisReport.objects.update(computed=timezone.now() - LEAST_PAUSE - timedelta(seconds=1))
    assert (push_stale(), queued()) == (1, [f"analysis-{version.pk}"])


def test_the_job_of_a_deleted_version_does_nothing() -> None:
    compute_analysis(99)
    assert not AnalysisReport.objects.exists()


def test_the_command_computes_the_newest_version(version: SuiteVersion) -> None:
    published(version, "passed")
    output = io.StringIO()
    call_command("analyse", "--suite", "small", stdout=output)
    assert output.getvalue() == "small v1: computed from 1 published rows\n"
    assert SuiteResults(version).report.data is not None
    with pytest.raises(CommandError, match="There is no suite 'absent'"):
        call_command("analyse", "--suite", "absent")


def test_a_worker_computes_it(version: SuiteVersion, redis_url: str) -> None:
    from django_rq import get_worker

    published(version, "passed", owner=UserFactory())
    push_stale()
    get_worker(AUDITS, worker_class="rq.SimpleWorker", serializer="json").work(burst=True)
    assert AnalysisReport.objects.get().digest == inputs_digest(version)
