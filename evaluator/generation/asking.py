"""Ask a model for one answer: claim the question, ask within the run's limits, and store the answer."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import structlog
from django.db.models import Min
from django.utils import timezone

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError
from evaluator.enums import GenerationState, WorkState
from evaluator.generation.agent_answers import answer_by_agent
from evaluator.generation.answers import Answer, answer_by_prompt, store_answer
from evaluator.generation.generating import finish_generation, stop
from evaluator.generation.limits import LimitReachedError, pause_at_limit, require_within_limits
from evaluator.models import AnswerRequest
from evaluator.providers.calling import CallBusyError, CallFailedError, CallLostError, CallRejectedError, StoppedError
from evaluator.providers.stored_clients import ClientUnavailableError, generation_client
from evaluator.queue import leases
from evaluator.queue.database import retry
from evaluator.sandbox.interface import RunCancelledError, SandboxError
from submissions.enums import EndpointCheck, Scaffold, SubmissionState
from submissions.models import Endpoint

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable

    from django.db.models import QuerySet

    from evaluator.models import Generation
    from evaluator.providers.interface import ModelClient

log = structlog.get_logger(__name__)
_SAME = ("api", "base_url", "model")


def ask_next(*, submission_id: int | None = None) -> bool:
    """Claim the next question, ask it and store the answer; return False when no question can be asked now.

    ``submission_id`` narrows it to one run (``manage.py evaluate``).
    """
    for request in _fair_order(submission_id):
        token = leases.claim_within_limit(AnswerRequest, request.pk, endpoint_id=request.generation.endpoint_id)
        if token is not None:
            ids = {"submission": request.generation.submission_id, "answer_request": request.pk}
            with structlog.contextvars.bound_contextvars(**ids):
                _ask(AnswerRequest.objects.select_related("generation__endpoint").get(pk=request.pk), token)
            return True
        if not waiting_requests().filter(pk=request.pk).exists():
            # Another worker was faster. This job takes the run's next question, or it would wait for the sweep.
            return ask_next(submission_id=submission_id)
    return False


def waiting_requests() -> QuerySet[AnswerRequest]:
    """Return the questions whose runs allow asking now."""
    return leases.due(
        AnswerRequest.objects.filter(
            generation__state=GenerationState.RUNNING, generation__submission__state=SubmissionState.GENERATING
        )
    )


def _fair_order(submission_id: int | None) -> list[AnswerRequest]:
    """Return the oldest question of each run, starting with the owner who has the fewest running."""
    waiting = waiting_requests()
    if submission_id is not None:
        waiting = waiting.filter(generation__submission=submission_id)
    owner = "generation__submission__owner_id"
    running = Counter(AnswerRequest.objects.filter(state=WorkState.RUNNING).values_list(owner, flat=True))
    # Rows hold what agents have done so far, so only those that may be claimed are loaded.
    firsts = waiting.order_by().values("generation").annotate(first=Min("pk")).values("first")
    oldest = AnswerRequest.objects.filter(pk__in=firsts).select_related("generation__submission")
    return sorted(oldest, key=lambda each: (running[each.generation.submission.owner_id], each.pk))


def _ask(request: AnswerRequest, token: uuid.UUID) -> None:
    """Ask one question. Every ending leaves it in a defined state; no error escapes."""
    release = partial(leases.release, AnswerRequest, request.pk, token)
    record_error = partial(leases.record_error, AnswerRequest, request.pk, token)
    generation = request.generation
    try:
        with leases.heartbeat(AnswerRequest, request.pk, token) as keeper:
            answer = _answer(request, token, keeper.lost)
        retry(lambda: store_answer(request, token, answer))
        _note(generation, EndpointCheck.OK, "It answered in a run.")
    except (StoppedError, RunCancelledError):
        log.info("asking_stopped")
        retry(release)
    except CallBusyError as error:
        retry(partial(release, reason=str(error), not_before=error.until))
    except LimitReachedError as error:
        pause_at_limit(generation, error)
    except (CallRejectedError, ClientUnavailableError) as error:
        # Every other question would fail the same way.
        retry(release)
        _note(generation, EndpointCheck.FAILED, str(error))
        stop(generation.pk, GenerationState.PAUSED, str(error), noted="The provider refused or could not be reached.")
    except CallLostError as error:
        retry(partial(record_error, reason=str(error), hold=True))
    except CallFailedError as error:
        retry(partial(record_error, reason=str(error)))
    except (SandboxError, ContentMissingError, StorageUnavailableError) as error:
        log.warning("asking_failed", error=str(error))
        retry(
            partial(leases.record_storage_error, AnswerRequest, request.pk, token, error)
            if isinstance(error, StorageUnavailableError)
            else partial(record_error, reason=getattr(error, "public", "the task's files are missing"))
        )
    except KeyboardInterrupt:
        release(reason="The worker was interrupted.")
        raise
    except Exception:  # an error of our own code must be retried and shown, never lose a run
        log.exception("asking_failed")
        retry(partial(record_error, reason="an infrastructure error of this site"))
    finish_generation(generation.pk)


def _note(generation: Generation, state: EndpointCheck, message: str) -> None:
    """Record a run's finding on its endpoint, unless it is known or the endpoint's settings have changed."""
    same = Endpoint.objects.filter(
        pk=generation.endpoint_id or 0, **{name: generation.settings[name] for name in _SAME}
    )
    outdated = same.exclude(check_state__in=[state, EndpointCheck.WAITING])
    outdated.update(check_state=state, check_message=message, checked=timezone.now())


def _answer(request: AnswerRequest, token: uuid.UUID, lost: Callable[[], bool]) -> Answer:
    generation = request.generation
    started = time.monotonic()
    client = generation_client(generation)
    within = partial(require_within_limits, generation)
    try:
        answer = _by_scaffold(request, token, client, within, lost)
    finally:
        client.close()
    answer.seconds = time.monotonic() - started
    return answer


def _by_scaffold(
    request: AnswerRequest,
    token: uuid.UUID,
    client: ModelClient,
    within: Callable[[], None],
    lost: Callable[[], bool],
) -> Answer:
    if request.generation.scaffold == Scaffold.AGENT:
        return answer_by_agent(request, token, client, within=within, stop=lost)
    return answer_by_prompt(request, token, client, within=within, stop=lost)
