"""Start, pause, resume and end a run on an endpoint, and count its progress. ``asking`` sends the questions."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from benchmark_tasks.domain.queries import revisions_of
from evaluator.enums import AnswerTaken, CallState, GenerationState, WorkState
from evaluator.generation.prompting import prompt_version
from evaluator.models import AnswerRequest, Generation, ModelCall, TestRun
from evaluator.providers.interface import EndpointSettings
from evaluator.providers.spending import Spent, spent
from evaluator.queue.pushing import MODELS, push
from evaluator.testing.finalising import requeue_held
from evaluator.testing.planning import plan
from submissions.answers.contents import Manifest
from submissions.domain import quotas
from submissions.domain.access import may_manage
from submissions.domain.audit import record
from submissions.domain.endpoints import forget_after_run
from submissions.domain.ownership import manages
from submissions.domain.submitting import system_of
from submissions.enums import Inputs, Scaffold, Source, SubmissionState, Verb
from submissions.exceptions import NotAllowedError, SuiteNotOpenError, WrongStateError
from submissions.models import Implementation, Submission

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from evaluator.generation.orders import RunOrder
    from submissions.models import Endpoint, User

MOST_TRIALS = 10
PAUSED_BY_HAND: Final = "Paused by hand."
_UNFINISHED = [WorkState.QUEUED, WorkState.RUNNING]


def start(*, owner: User, endpoint: Endpoint, order: RunOrder) -> Submission:
    """Create a run's submission and queue its questions.

    It belongs to the endpoint's team if there is one. Raises :class:`QuotaExceededError`, :class:`NotAllowedError`
    (another's endpoint), ``OrganisationRefusedError`` (a registered organisation's name) and
    :class:`SuiteNotOpenError`.
    """
    if not manages(owner, endpoint):
        msg = "Only an endpoint's owner may start runs on it."
        raise NotAllowedError(msg)
    revisions = list(revisions_of(order.version))
    wanted = set(order.tasks)
    chosen = {each.pk for each in revisions if each.runnable and (not wanted or each.task.slug in wanted)}
    if not chosen:
        msg = "None of these tasks accepts answers now: they cannot be run, or are not in this version of the suite."
        raise SuiteNotOpenError(msg)
    trials = max(1, min(order.trials, MOST_TRIALS))
    with transaction.atomic():
        quotas.require(owner, endpoint.team)
        submission = _new_submission(owner, endpoint, order, trials)
        generation = _new_generation(submission, endpoint, order)
        for revision in revisions:
            for trial in range(1, trials + 1):
                answer = Implementation.objects.create(submission=submission, revision=revision, trial=trial)
                if revision.pk in chosen:
                    AnswerRequest.objects.create(generation=generation, implementation=answer)
        record(verb=Verb.SUBMITTED, subject=submission, actor=owner, data={"endpoint": endpoint.pk})
        transaction.on_commit(partial(push, len(chosen) * trials, MODELS))
    return submission


def _new_submission(owner: User, endpoint: Endpoint, order: RunOrder, trials: int) -> Submission:
    scaffold = "none" if order.scaffold == Scaffold.NONE else "LMR-Board agent"
    manifest = Manifest(
        suite=order.version.suite.slug,
        suite_version=order.version.number,
        system=order.system
        or (endpoint.model if order.scaffold == Scaffold.NONE else f"{scaffold} ({endpoint.model})"),
        backbone=endpoint.model,
        scaffold=scaffold,
        inputs=order.inputs,
        organisation=order.organisation,
        notes=order.notes,
        weights=order.weights,
        knowledge_cutoff=order.knowledge_cutoff,
    )
    return Submission.objects.create(
        owner=owner,
        team=endpoint.team,
        system=system_of(owner, endpoint.team, manifest),
        suite_version=order.version,
        inputs=Inputs(order.inputs),
        source=Source.ENDPOINT,
        kind=order.kind,
        trials=trials,
        notes=order.notes,
        # The same run may be repeated: a model's answers vary.
        bundle_digest=f"endpoint-{uuid.uuid4().hex}",
        state=SubmissionState.GENERATING,
        code_licence=order.publish_licence,
        publish_when_scored=bool(order.publish_licence),
    )


def _new_generation(submission: Submission, endpoint: Endpoint, order: RunOrder) -> Generation:
    prices = {name: _text(getattr(endpoint, name)) for name in ("price_input", "price_output")}
    return Generation.objects.create(
        submission=submission,
        endpoint=endpoint,
        settings={**EndpointSettings.of(endpoint).as_data(), **prices},
        inputs=order.inputs,
        scaffold=order.scaffold,
        prompt_version=prompt_version(),
        estimate=order.estimate,
        run_tokens=order.run_tokens,
        run_dollars=order.run_dollars,
        run_seconds=order.run_seconds,
    )


def pause(*, generation: Generation, actor: User) -> None:
    """Pause a run. Questions being asked are released; an answer that is already under way is still stored."""
    _require_manager(actor, generation)
    with transaction.atomic():
        if not stop(generation.pk, GenerationState.PAUSED, PAUSED_BY_HAND):
            msg = "Only a run that is under way can be paused."
            raise WrongStateError(msg)
        record(verb=Verb.PAUSED, subject=generation.submission, actor=actor)
    generation.refresh_from_db()


def resume(
    *,
    generation: Generation,
    actor: User,
    run_tokens: int | None = None,
    run_dollars: Decimal | None = None,
    run_seconds: int | None = None,
) -> None:
    """Resume a run that was paused or held, perhaps with higher limits. Answered questions are not asked again.

    A question whose answer was lost twice is sent once more: the person who resumes has seen the warning.
    """
    _require_manager(actor, generation)
    raises = any(limit is not None for limit in (run_tokens, run_dollars, run_seconds))
    if raises and not may_raise_limits(actor, generation):
        msg = "Only the owner of a run may raise its limits: their account with the provider pays."
        raise NotAllowedError(msg)
    limits = {"run_tokens": run_tokens, "run_dollars": run_dollars, "run_seconds": run_seconds}
    with transaction.atomic():
        stopped = Generation.objects.filter(
            pk=generation.pk,
            state__in=[GenerationState.PAUSED, GenerationState.HELD],
            submission__state__in=[SubmissionState.GENERATING, SubmissionState.HELD],
        )
        raised = {name: value for name, value in limits.items() if value is not None}
        if not stopped.update(
            state=GenerationState.RUNNING,
            reason="",
            ended=None,
            stood_still_seconds=F("stood_still_seconds") + _paused_seconds(generation),
            **raised,
        ):
            msg = "Only a paused or held run can be resumed."
            raise WrongStateError(msg)
        Submission.objects.filter(pk=generation.submission_id, state=SubmissionState.HELD).update(
            state=SubmissionState.GENERATING, held_reason=""
        )
        held = generation.requests.filter(state=WorkState.HELD)
        ModelCall.objects.filter(answer_request__in=held, state=CallState.IN_DOUBT).update(
            state=CallState.FAILED, message="In doubt: its answer was lost. The run was resumed, so it is sent again."
        )
        held.update(state=WorkState.QUEUED, infra_count=0, not_before=None, reason="")
        waiting = generation.requests.filter(state=WorkState.QUEUED)
        waiting.update(not_before=None)
        record(verb=Verb.RESUMED, subject=generation.submission, actor=actor)
        transaction.on_commit(partial(push, waiting.count(), MODELS))
        transaction.on_commit(partial(finish_generation, generation.pk))
    generation.refresh_from_db()


def stop(generation_id: int, state: GenerationState, reason: str, *, noted: str = "") -> bool:
    """Stop a running run; return whether it was running. Its workers lose their claims.

    ``reason`` is for those who manage the run. ``noted`` is the reason in its public history, which then records that
    the site paused it; the event's data holds the state.
    """
    with transaction.atomic():
        if not Generation.objects.filter(pk=generation_id, state=GenerationState.RUNNING).update(
            state=state, reason=reason, ended=timezone.now()
        ):
            return False
        AnswerRequest.objects.filter(generation=generation_id, state=WorkState.RUNNING).update(
            state=WorkState.QUEUED, token=None, lease_until=None
        )
        if state == GenerationState.HELD:
            Submission.objects.filter(generation=generation_id, state=SubmissionState.GENERATING).update(
                state=SubmissionState.HELD, held_reason=reason
            )
        if noted:
            submission = Submission.objects.get(generation=generation_id)
            record(verb=Verb.PAUSED, subject=submission, actor=None, reason=noted, data={"state": state.value})
    return True


def cancel_generation(submission_id: int) -> None:
    """Drop a cancelled submission's waiting questions, and revoke the claims of workers that are asking."""
    with transaction.atomic():
        generation = Generation.objects.filter(submission=submission_id).exclude(state=GenerationState.DONE).first()
        if generation is None:
            return
        Generation.objects.filter(pk=generation.pk).update(
            state=GenerationState.CANCELLED,
            ended=timezone.now(),
            stood_still_seconds=F("stood_still_seconds") + _paused_seconds(generation),
        )
        generation.requests.exclude(state=WorkState.DONE).update(
            state=WorkState.CANCELLED, token=None, lease_until=None
        )
    _forget_key(generation)


def finish_generation(generation_id: int) -> None:
    """Queue the answers' tests when no question is left, or hold the run if a question is held."""
    requests = AnswerRequest.objects.filter(generation=generation_id)
    with transaction.atomic():
        if requests.filter(state__in=_UNFINISHED).exists():
            return
        held = requests.filter(state=WorkState.HELD).order_by("pk").first()
        if held is not None:
            noted = "Infrastructure errors repeated too often."
            stop(generation_id, GenerationState.HELD, held.reason, noted=noted)
            return
        running = Generation.objects.filter(pk=generation_id, state=GenerationState.RUNNING)
        if not running.update(state=GenerationState.DONE, reason="", ended=timezone.now()):
            return
        generation = Generation.objects.select_related("endpoint").get(pk=generation_id)
        Submission.objects.filter(pk=generation.submission_id, state=SubmissionState.GENERATING).update(
            state=SubmissionState.QUEUED
        )
        transaction.on_commit(partial(plan, generation.submission_id))
        transaction.on_commit(partial(_forget_key, generation))


def unfinished_generations() -> list[int]:
    """Return running runs without open questions: the step that ends them was lost."""
    open_requests = AnswerRequest.objects.filter(state__in=_UNFINISHED).values("generation")
    running = Generation.objects.filter(state=GenerationState.RUNNING).exclude(pk__in=open_requests)
    return list(running.values_list("pk", flat=True))


def elapsed_seconds(generation: Generation) -> float:
    """Return how many seconds a run has been under way, until now or its end, without pauses."""
    until = generation.ended or timezone.now()
    return (until - generation.created).total_seconds() - generation.stood_still_seconds


def _paused_seconds(generation: Generation) -> int:
    """Return the seconds since the run was stopped; 0 while it is under way."""
    stopped = Generation.objects.values_list("ended", flat=True).get(pk=generation.pk)
    return int((timezone.now() - stopped).total_seconds()) if stopped else 0


def _forget_key(generation: Generation) -> None:
    if generation.endpoint is not None:
        forget_after_run(generation.endpoint)


def _require_manager(actor: User, generation: Generation) -> None:
    if not may_manage(actor, generation.submission):
        msg = "Only the owner of a run or a maintainer may pause or resume it."
        raise NotAllowedError(msg)


def may_raise_limits(actor: User, generation: Generation) -> bool:
    """Return whether ``actor`` manages both the run and the endpoint whose account with the provider pays."""
    paying = generation.endpoint
    return manages(actor, generation.submission) and (paying is None or manages(actor, paying))


def _text(value: Decimal | None) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Progress:
    """``answered`` of ``total`` questions are decided; ``code`` of them have code.

    ``used`` is what its calls used; ``wait_until`` is when the provider accepts requests again.
    """

    total: int
    answered: int
    code: int
    running: int
    held: int
    calls: int
    in_doubt: int
    failed: int
    used: Spent
    wait_until: datetime | None

    @property
    def share(self) -> float:
        """Return the decided fraction, from 0 to 1."""
        return self.answered / self.total if self.total else 0.0


def progress(generation: Generation) -> Progress:
    """Count a run's questions and calls in three queries, plus one for the endpoint where it is not loaded."""
    states: Counter[str] = Counter()
    code = 0
    for state, taken, count in generation.requests.order_by().values_list("state", "taken").annotate(n=Count("pk")):
        states[state] += count
        code += count if taken == AnswerTaken.CODE else 0
    calls = ModelCall.objects.filter(answer_request__generation=generation)
    sent = calls.aggregate(
        calls=Count("pk"),
        in_doubt=Count("pk", filter=Q(state=CallState.IN_DOUBT)),
        failed=Count("pk", filter=Q(state=CallState.FAILED)),
    )
    not_before = generation.endpoint.not_before if generation.endpoint else None
    return Progress(
        total=sum(states.values()),
        answered=states[WorkState.DONE],
        code=code,
        running=states[WorkState.RUNNING],
        held=states[WorkState.HELD],
        wait_until=not_before if not_before and not_before > timezone.now() else None,
        used=spent(calls),
        **sent,
    )


def retry_held(*, submission: Submission, actor: User) -> int:
    """Queue the held test runs of ``submission`` again and return how many. For maintainers; recorded.

    A submission that was held before its model had answered everything resumes with the open questions.
    """
    if not actor.is_staff:
        msg = "Only maintainers retry held submissions."
        raise NotAllowedError(msg)
    generation = Generation.objects.filter(submission=submission, state=GenerationState.HELD).first()
    if generation is not None:
        resume(generation=generation, actor=actor)
        submission.refresh_from_db()
        return generation.requests.filter(state=WorkState.QUEUED).count()
    with transaction.atomic():
        if not Submission.objects.filter(pk=submission.pk, state=SubmissionState.HELD).update(
            state=SubmissionState.QUEUED, held_reason=""
        ):
            msg = "Only a held submission can be retried."
            raise WrongStateError(msg)
        count = requeue_held(TestRun.objects.filter(implementation__submission=submission))
        record(verb=Verb.RETRIED, subject=submission, actor=actor, data={"runs": count})
    submission.refresh_from_db()
    return count
