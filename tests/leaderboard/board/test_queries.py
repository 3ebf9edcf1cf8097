"""Every page with a list needs the same number of queries for three items as for one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from evaluator.enums import AttemptState, BuildState, ReevaluationState, RunState, SelfCheckKind, WorkState
from evaluator.models import (
    Attempt,
    EnvironmentBuild,
    Generation,
    JudgeConfig,
    JudgeHealth,
    Judgement,
    Reevaluation,
    SelfCheck,
)
from evaluator.sandbox.task_environments import paper_environment
from leaderboard.board.entries import recompute_submission
from leaderboard.board.states import note_change
from reviews.cases.flags import flag_task
from reviews.enums import AssignmentState, CaseState, TriggerKind
from reviews.models import Case, Reviewer, Trigger
from submissions.domain import publishing
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.models import Endpoint, System
from submissions.trajectories.steps import Action
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory, TaskFactory, TaskRevisionFactory
from tests.evaluator import reevaluations
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory, runs_of
from tests.leaderboard.endpoint_runs import called, endpoint_run
from tests.leaderboard.factories import ReportedResultFactory, measured, measured_outcome, reported
from tests.leaderboard.judging import JudgeFactory, judged, show, vote, walked
from tests.leaderboard.showing import address_of, scored
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, decided, ready, reviewed
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.factories import (
    ImplementationFactory,
    SubmissionFactory,
    SystemFactory,
    UserFactory,
    with_answers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from benchmark_tasks.models import Suite, SuiteVersion
    from submissions.models import Implementation, User

pytestmark = pytest.mark.django_db


def judge(slug: str) -> JudgeConfig:
    made: JudgeConfig = JudgeConfig.objects.filter(slug=slug).first() or JudgeFactory(slug=slug)
    return made


def answered(version: SuiteVersion, *labels: str) -> Implementation:
    """A published answer that passed, with labels of the judges ``one`` and ``other``."""
    answer = measured_outcome(measured(version), "passed").implementation
    for slug, label in zip(("one", "other"), labels, strict=False):
        judged(answer, judge(slug), label)
    return answer


# Each function creates ``number`` items that a page lists, and returns the page's address.


def board(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        reported(version)
        case = case_of(answered(version), state=CaseState.FINAL, label="CC", source="decision", closed=timezone.now())
        flag_task(decided(case, ReviewerFactory(adjudicator=True), "CC", reasons=["bad_test"]))
    note_change(version.pk, results=True)
    return "/board/small/"


def board_actions(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        submission = QueuedSubmissionFactory(suite_version=version, published=True, state=SubmissionState.SCORED)
        runs_of(submission, *["passed"] * 4)
        walked(submission.implementations.first(), Action.READ)
        recompute_submission(submission.pk)
    return "/board/small/actions/"


def agreement(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        answered(version, "CC", "CC")
    return "/agreement/small/?first=judge:one&second=judge:other&cell=CC,CC"


def cases(version: SuiteVersion, user: User, number: int) -> str:
    show(version.suite, judge("one"))
    for _ in range(number):
        case = case_of(answered(version, "CC"), state=CaseState.AGREED, label="LI", source="agreed")
        for _ in range(2):
            reviewed(case, ReviewerFactory(), "LI")
        run = reported(version).reported_run
        task = version.revisions.first().task
        ReportedResultFactory(run=run, task=task, judge_label="CC", human_label="LI")
    return reverse("cases")


def cases_of_an_annotator(version: SuiteVersion, user: User, number: int) -> str:
    reviewer = Reviewer.objects.filter(user=user).first() or ready(user=user)
    for _ in range(number):
        assigned(case_of(), reviewer, state=AssignmentState.RETURNED)
    return reverse("cases")


def case_page(version: SuiteVersion, user: User, number: int) -> str:
    case = Case.objects.first() or case_of(state=CaseState.FINAL, label="LI", source="decision")
    for _ in range(number):
        reviewed(case, ReviewerFactory(), "LI")
        vote(judged(case.implementation, JudgeFactory(), "CC"), 1, "CC")
        Trigger.objects.create(case=case, kind=list(TriggerKind)[Trigger.objects.count()])
    return case.get_absolute_url()


def endpoints(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        endpoint_run(user, WorkState.QUEUED)
    return reverse("endpoints")


def endpoint(version: SuiteVersion, user: User, number: int) -> str:
    endpoints(version, user, number)
    first = Endpoint.objects.earliest("pk")
    Generation.objects.update(endpoint=first)
    return first.get_absolute_url()


def new_run(version: SuiteVersion, user: User, number: int) -> str:
    SubmissionFactory.create_batch(number, owner=user, suite_version=version)
    made = Endpoint.objects.first() or EndpointFactory(owner=user)
    return reverse("run_new", args=[made.pk])


def generation_progress(version: SuiteVersion, user: User, number: int) -> str:
    run = endpoint_run(user, *[WorkState.DONE] * number)
    for request in run.requests.all():
        called(request)
    return reverse("generation_progress", args=[run.submission_id])


def answer_calls(version: SuiteVersion, user: User, number: int) -> str:
    request = endpoint_run(user, WorkState.DONE).requests.get()
    for each in range(number):
        called(request, key=f"{request.pk}-{each}")
    return address_of(request.implementation, "answer_calls")


def submission(version: SuiteVersion, user: User, number: int) -> str:
    made = scored(UserFactory(), *["passed"] * number, published=True)
    for _ in range(number):
        publishing.withdraw(submission=made, actor=made.owner, reason="again")
        publishing.publish(submission=made, actor=made.owner, code_licence="MIT", consent=True)
    return made.get_absolute_url()


def implementation(version: SuiteVersion, user: User, number: int) -> str:
    answer = with_answers(SubmissionFactory(published=True), 1)[0]
    run = TestRunFactory(implementation=answer, done="passed")
    for each in range(number):
        Attempt.objects.create(run=run, number=each + 1, token=uuid4(), worker="host", state=AttemptState.LOST)
        ImplementationFactory(submission=answer.submission)
        row = judged(answer, JudgeFactory(), "LI")
        for sample in (1, 2, 3):
            vote(row, sample, "LI")
    return answer.get_absolute_url()


def trajectory(version: SuiteVersion, user: User, number: int) -> str:
    answer = with_answers(SubmissionFactory(published=True), 1)[0]
    walked(answer, *[Action.RUN] * number)
    return address_of(answer, "trajectory")


def judge_differences(version: SuiteVersion, user: User, number: int) -> str:
    show(version.suite, judge("one"))
    for _ in range(number):
        answered(version, "CC", "LI")
    return reverse("judge_differences", args=["other"]) + "?suite=small"


def judges(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        answer, config, now = answers()[0], JudgeFactory(), timezone.now()
        show(answer.submission.suite_version.suite, config)
        judged(answer, config, "CC")
        JudgeHealth.objects.create(config=config, summary={"missed": []}, started=now, finished=now)
    return "/judges/"


def maintain(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        made = SubmissionFactory(state=SubmissionState.HELD, held_reason="full")
        run = TestRunFactory(implementation=with_answers(made, 1)[0], state=RunState.HELD, infra_count=3)
        facts = {"worker": "w", "state": AttemptState.INFRA, "reason": "full", "ended": timezone.now()}
        Attempt.objects.create(run=run, number=1, token=uuid4(), **facts)
        reevaluation = reevaluations.start(reevaluations.scored("passed", evaluator="1"))
        Reevaluation.objects.filter(pk=reevaluation.pk).update(state=ReevaluationState.HELD)
        Trigger.objects.create(case=case_of(), kind=TriggerKind.APPEAL)
        flag_task(decided(case_of(answered(version)), ReviewerFactory(adjudicator=True), "CC", reasons=["bad_test"]))
        revision = TaskRevisionFactory(audit_state=AuditState.UNAUDITED)
        SuiteVersionFactory(suite=revision.task.suite, revisions=[revision])
        Judgement.objects.create(implementation=answers()[0], config=JudgeFactory(), state=WorkState.HELD)
    return "/maintain/"


def maintain_submissions(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        publishing.hide(submission=SubmissionFactory(), actor=user, reason="Under review.")
    return "/maintain/submissions/"


def maintain_accounts(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        SubmissionFactory(owner=UserFactory(daily_submissions=5))
    return "/maintain/accounts/"


def maintain_suites(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        measured()
    return "/maintain/suites/"


def maintain_events(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        answer, revision = answers()[0], TaskRevisionFactory()
        subjects = (answer, answer.submission, answer.submission.system, case_of(answer), revision.task)
        for subject in (*subjects, revision.task.suite, SuiteVersionFactory(), JudgeFactory(), ReviewerFactory(), user):
            record(verb=Verb.CORRECTED, subject=subject, actor=UserFactory())
    return "/maintain/events/"


def search(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        measured(version, system=SystemFactory(backbone="solver"))
        case_of(answered(version), state=CaseState.FINAL, label="CC", source="decision")
        run = reported(version, system=SystemFactory(name=f"solver {uuid4()}")).reported_run
        ReportedResultFactory(run=run, task=version.revisions.first().task, judge_label="CC", human_label="LI")
    return "/search/?q=solver"


def reevaluate(version: SuiteVersion, user: User, number: int) -> str:
    for _ in range(number):
        reevaluations.scored(*["passed"] * 4, evaluator="1", version=version)
        reevaluations.start(reevaluations.scored("passed", evaluator="1"))
    return "/maintain/reevaluate/?suite=small"


def status(version: SuiteVersion, user: User, number: int) -> str:
    now = timezone.now()
    for each in range(number):
        EnvironmentBuild.objects.create(name=f"torch-{number}-{each}", sandbox="docker", state=BuildState.BUILT)
        SuiteVersionFactory(tasks=2)
        for kind in SelfCheckKind:
            facts = {"sandbox": "bubblewrap", "environment_digest": "", "evaluator_version": "1", "results": []}
            SelfCheck.objects.create(kind=kind, started=now, finished=now, **facts)
    return "/status.json"


def suite(version: SuiteVersion, user: User, number: int) -> str:
    made: Suite = SuiteFactory()
    revisions = [
        TaskRevisionFactory(
            task=TaskFactory(suite=made, paper__suite=made), environment="", dockerfile_hash=f"{number}{each:063x}"
        )
        for each in range(number)
    ]
    for revision in revisions:
        name = paper_environment(revision)
        EnvironmentBuild.objects.create(name=name, sandbox="docker", state=BuildState.FAILED, log="exit code 1")
    SuiteVersionFactory(suite=made, revisions=revisions)
    return made.get_absolute_url()


def system(version: SuiteVersion, user: User, number: int) -> str:
    made = System.objects.filter(slug="solver").first() or SystemFactory(slug="solver")
    for _ in range(number):
        measured(system=made)
    return "/systems/solver/"


def task(version: SuiteVersion, user: User, number: int) -> str:
    made = version.revisions.order_by("pk")[0].task
    for _ in range(number):
        answered(version, "CC")
        ReportedResultFactory(run=reported(version).reported_run, task=made)
    return made.get_absolute_url()


LISTS = (
    *(board, board_actions, agreement, cases, cases_of_an_annotator, case_page, endpoints, endpoint, new_run),
    *(generation_progress, answer_calls, submission, implementation, trajectory, judge_differences, judges),
    *(maintain, maintain_submissions, maintain_accounts, maintain_suites, maintain_events, search),
    *(reevaluate, status, suite, system, task),
)


@pytest.mark.parametrize("made", LISTS, ids=lambda made: made.__name__)
def test_pages_need_the_same_queries_for_more_items(
    client: Client, made: Callable[[SuiteVersion, User, int], str]
) -> None:
    version: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=4)
    user: User = UserFactory(is_staff=True)
    client.force_login(user)
    counts = []
    for number in (1, 3):
        address = made(version, user, number)
        client.get(address)  # queries that are made once, such as for the site's own row
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 27
