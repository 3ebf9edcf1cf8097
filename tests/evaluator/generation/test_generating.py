"""Starting, pausing, resuming and cancelling runs on an endpoint, and who may do it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from pydantic import ValidationError

from evaluator.enums import GenerationState, WorkState
from evaluator.generation import generating
from evaluator.generation.generating import (
    elapsed_seconds,
    finish_generation,
    pause,
    resume,
    retry_held,
    start,
)
from evaluator.generation.orders import RunOrder
from evaluator.models import AnswerRequest, TestRun
from evaluator.testing.planning import plan
from submissions.domain import endpoints
from submissions.domain.submitting import cancel
from submissions.enums import Inputs, Source, SubmissionState, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError, SuiteNotOpenError, WrongStateError
from submissions.models import AuditEvent, Submission
from tests.evaluator.judging.site import endpoint
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import Generation
    from tests.evaluator.generation.conftest import StartRun
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)


def states(generation: Generation) -> tuple[str, str, list[str]]:
    generation.refresh_from_db()
    submission = Submission.objects.get(pk=generation.submission_id)
    return generation.state, submission.state, sorted(generation.requests.values_list("state", flat=True))


def test_a_run_has_every_task_and_trial_and_requests_the_chosen_ones(
    small_version: SuiteVersion, start_run: StartRun
) -> None:
    generation = start_run(small_version, "right", trials=2, tasks=["alpha/2"], inputs=Inputs.PAPER_ONLY, notes="x")
    submission = generation.submission
    assert (submission.source, submission.state, submission.trials, submission.inputs, submission.notes) == (
        Source.ENDPOINT, SubmissionState.GENERATING, 2, Inputs.PAPER_ONLY, "x",
    )  # fmt: skip
    assert submission.implementations.count() == 4
    requested = generation.requests.values_list("implementation__revision__task__slug", "implementation__trial")
    assert sorted(requested) == [("alpha/2", 1), ("alpha/2", 2)]
    assert (submission.system.name, submission.system.backbone, submission.system.scaffold) == (
        "right",
        "right",
        "none",
    )
    assert generation.settings["model"] == "right"
    assert "key" not in str(generation.settings)


def test_another_users_endpoint_cannot_be_used(small_version: SuiteVersion, provider: ProviderServer) -> None:
    with pytest.raises(NotAllowedError):
        start(owner=UserFactory(), endpoint=endpoint(provider), order=RunOrder(version=small_version))
    assert not Submission.objects.exists()


def test_the_daily_quota_limits_runs(small_version: SuiteVersion, provider: ProviderServer) -> None:
    made = endpoint(provider, owner=UserFactory(daily_submissions=1))
    order = RunOrder(version=small_version)
    start(owner=made.owner, endpoint=made, order=order)
    with pytest.raises(QuotaExceededError):
        start(owner=made.owner, endpoint=made, order=order)


def test_unknown_tasks_and_licences_are_refused(small_version: SuiteVersion, provider: ProviderServer) -> None:
    made = endpoint(provider)
    with pytest.raises(SuiteNotOpenError):
        start(owner=made.owner, endpoint=made, order=RunOrder(version=small_version, tasks=["beta/1"]))
    with pytest.raises(ValidationError, match=r"(?s)publish_licence.*Input should be '', 'CC-BY-4\.0', 'MIT'"):
        RunOrder(version=small_version, publish_licence="None of yours")
    assert not Submission.objects.exists()


def test_paused_time_does_not_count(small_version: SuiteVersion, start_run: StartRun, time_machine: Any) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    generation = start_run(small_version, "right", run_seconds=600)
    time_machine.shift(60)
    pause(generation=generation, actor=generation.submission.owner)
    time_machine.shift(10_000)
    resume(generation=generation, actor=generation.submission.owner)
    assert (generation.run_seconds, generation.stood_still_seconds) == (600, 10_000)
    assert elapsed_seconds(generation) == 60
    time_machine.shift(541)
    assert elapsed_seconds(generation) == 601
    pause(generation=generation, actor=generation.submission.owner)
    time_machine.shift(100)
    assert elapsed_seconds(generation) == 601
    resume(generation=generation, actor=generation.submission.owner, run_seconds=700)
    assert (generation.run_seconds, generation.stood_still_seconds) == (700, 10_100)
    assert elapsed_seconds(generation) == 601
    pause(generation=generation, actor=generation.submission.owner)
    time_machine.shift(50)
    cancel(submission=generation.submission, actor=generation.submission.owner)
    generation.refresh_from_db()
    assert (generation.state, elapsed_seconds(generation)) == (GenerationState.CANCELLED, 601)


@pytest.mark.parametrize("by_staff", [False, True])
def test_pause_and_resume_by_owner_or_staff_only(
    small_version: SuiteVersion, start_run: StartRun, by_staff: bool
) -> None:
    generation = start_run(small_version, "right")
    actor = UserFactory(is_staff=True) if by_staff else generation.submission.owner
    for act, before, after in (
        (pause, GenerationState.RUNNING, GenerationState.PAUSED),
        (resume, GenerationState.PAUSED, GenerationState.RUNNING),
    ):
        with pytest.raises(NotAllowedError):
            act(generation=generation, actor=UserFactory())
        assert states(generation)[0] == before
        act(generation=generation, actor=actor)
        assert states(generation) == (after, SubmissionState.GENERATING, ["queued", "queued"])
        with pytest.raises(WrongStateError):
            act(generation=generation, actor=actor)
    verbs = AuditEvent.objects.filter(actor=actor).order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == [*([] if by_staff else [Verb.SUBMITTED]), Verb.PAUSED, Verb.RESUMED]


def test_only_the_owner_may_raise_limits_and_only_while_the_submission_is_generating(
    small_version: SuiteVersion, start_run: StartRun
) -> None:
    generation = start_run(small_version, "right", run_tokens=10)
    pause(generation=generation, actor=generation.submission.owner)
    with pytest.raises(NotAllowedError, match="their account with the provider pays"):
        resume(generation=generation, actor=UserFactory(is_staff=True), run_tokens=10**6)
    Submission.objects.filter(pk=generation.submission_id).update(state=SubmissionState.SCORED)
    with pytest.raises(WrongStateError):
        resume(generation=generation, actor=generation.submission.owner)
    generation.refresh_from_db()
    assert (generation.state, generation.run_tokens) == (GenerationState.PAUSED, 10)


def test_cancelling_a_run_cancels_its_open_requests_and_deletes_the_key(
    small_version: SuiteVersion, start_run: StartRun
) -> None:
    generation = start_run(small_version, "right")
    assert generation.endpoint is not None
    owner = generation.submission.owner
    endpoints.change(endpoint=generation.endpoint, actor=owner, described={}, key="sk-x")
    AnswerRequest.objects.filter(pk=generation.requests.order_by("pk")[0].pk).update(state=WorkState.DONE)
    cancel(submission=generation.submission, actor=owner)
    assert states(generation) == (GenerationState.CANCELLED, SubmissionState.CANCELLED, ["cancelled", "done"])
    generation.endpoint.refresh_from_db()
    assert not generation.endpoint.has_key


@pytest.mark.parametrize("keep", [False, True])
def test_the_key_is_deleted_when_the_run_ends_unless_it_is_kept(
    small_version: SuiteVersion, start_run: StartRun, keep: bool
) -> None:
    generation = start_run(small_version, "right", endpoint={"keep_key": keep})
    assert generation.endpoint is not None
    endpoints.change(endpoint=generation.endpoint, actor=generation.submission.owner, described={}, key="sk-x")
    generation.requests.update(state=WorkState.DONE)
    finish_generation(generation.pk)
    assert states(generation)[:2] == (GenerationState.DONE, SubmissionState.SCORED)
    generation.endpoint.refresh_from_db()
    assert generation.endpoint.has_key is keep


def test_a_held_request_holds_the_run_only_when_no_other_request_is_open(
    small_version: SuiteVersion, start_run: StartRun, settings: Any
) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues
    generation = start_run(small_version, "right")
    first, second = generation.requests.order_by("pk")
    AnswerRequest.objects.filter(pk=first.pk).update(state=WorkState.HELD, reason="the provider failed")
    finish_generation(generation.pk)
    assert states(generation)[0] == GenerationState.RUNNING
    AnswerRequest.objects.filter(pk=second.pk).update(state=WorkState.DONE)
    assert generating.unfinished_generations() == [generation.pk]
    finish_generation(generation.pk)
    assert states(generation)[:2] == (GenerationState.HELD, SubmissionState.HELD)
    assert generation.reason == "the provider failed"
    # A maintainer's retry also resumes generation; if tested now, the missing answer would count as not attempted.
    generation.submission.refresh_from_db()
    assert retry_held(submission=generation.submission, actor=UserFactory(is_staff=True)) == 1
    assert states(generation) == (GenerationState.RUNNING, SubmissionState.GENERATING, ["done", "queued"])


def test_a_submission_is_not_tested_while_its_run_is_generating(
    small_version: SuiteVersion, start_run: StartRun
) -> None:
    generation = start_run(small_version, "right")
    Submission.objects.filter(pk=generation.submission_id).update(state=SubmissionState.QUEUED)
    assert plan(generation.submission_id) == []
    assert not TestRun.objects.exists()
