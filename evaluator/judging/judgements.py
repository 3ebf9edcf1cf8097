"""Plan and run judgements: which answers to judge, the votes, the label. Unit tests' outcomes are not used here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from benchmark_tasks.domain import metrics
from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.queries import UNREADABLE
from benchmark_tasks.models import Suite
from evaluator.enums import CallPurpose, CallState, Variant, WorkState
from evaluator.judging.configs import active_configs, show_first, stale
from evaluator.judging.judge_budget import BudgetSpentError
from evaluator.judging.prompt import digest
from evaluator.judging.votes import Asking, Ballot, shown_of, vote_keys
from evaluator.labels import Label, is_split, majority
from evaluator.models import Judgement, JudgeVote, ModelCall
from evaluator.providers.calling import CallBusyError, CallFailedError, CallLostError, CallRejectedError, StoppedError
from evaluator.queue import leases
from evaluator.queue.database import retry, storable
from evaluator.queue.pushing import MODELS, push
from evaluator.signals import implementation_rated
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, SubmissionError
from submissions.models import Endpoint, Implementation, Submission

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable

    from django.db.models import QuerySet

    from evaluator.judging.prompt import JudgeInput
    from evaluator.models import JudgeConfig
    from evaluator.providers.interface import ModelClient
    from submissions.models import User

log = structlog.get_logger(__name__)

CANDIDATES: Final = 8
"""How many waiting judgements to try before giving up: other workers may be faster at some."""

_OTHER_TEXT: Final = "The task's reference or paper, or the judge's input for the answer, has changed."

_VOTES: Final = metrics.counter("judge_votes", "Votes of judges: their label, or why they abstained.", "vote")


def plan_judgements(*, config: JudgeConfig, submission_id: int | None = None, suite: Suite | None = None) -> int:
    """Queue a judgement by ``config`` of every answer with code that lacks one; return how many. Idempotent.

    Covers all answers, or those of one submission or suite, but never those of cancelled submissions. Cancelled
    judgements are queued again.
    """
    with transaction.atomic():
        answers = _answers_with_code().filter(_filter_for("", submission_id, suite))
        new = answers.exclude(judgements__config=config)
        made = Judgement.objects.bulk_create(
            [Judgement(implementation=answer, config=config) for answer in new.only("pk")], ignore_conflicts=True
        )
        cancelled = Judgement.objects.filter(config=config, implementation__in=answers, state=WorkState.CANCELLED)
        count = len(made) + cancelled.update(state=WorkState.QUEUED, infra_count=0, not_before=None, reason="")
        # A suite's board shows the suite's first judge.
        judged = answers.values("submission__suite_version__suite")
        for each in Suite.objects.filter(shown_judge__isnull=True, pk__in=judged):
            show_first(suite=each, config=config)
        transaction.on_commit(partial(push, count, MODELS))
    return count


def suites_to_judge(config: JudgeConfig) -> QuerySet[Suite]:
    """Return the suites with an answer that :func:`plan_judgements` would queue for ``config``. No query."""
    taken = Judgement.objects.filter(implementation=OuterRef("pk"), config=config).exclude(state=WorkState.CANCELLED)
    waiting = _answers_with_code().filter(~Exists(taken), submission__suite_version__suite=OuterRef("pk"))
    return Suite.objects.filter(Exists(waiting))


def _answers_with_code() -> QuerySet[Implementation]:
    answers = Implementation.objects.filter(attempted=True, files__isnull=False)
    return answers.exclude(submission__state=SubmissionState.CANCELLED)


def _filter_for(path: str, submission_id: int | None, suite: Suite | None) -> Q:
    """Return a filter for answers of this submission or suite, if given; ``path`` leads to the answers."""
    chosen = Q() if submission_id is None else Q(**{f"{path}submission": submission_id})
    return chosen if suite is None else chosen & Q(**{f"{path}submission__suite_version__suite": suite})


def plan_for_submission(submission_id: int) -> int:
    """Queue the judgements of one submission by every active judge; return how many. Idempotent."""
    return sum(plan_judgements(config=config, submission_id=submission_id) for config in active_configs())


def judge_next(
    *,
    config: JudgeConfig | None = None,
    suite: Suite | None = None,
    submission_id: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Judgement | None:
    """Run the next judgement that may start, restricted by ``config``, ``suite`` and ``submission_id`` if given.

    The returned row shows the result: done, waiting again, or held, with the reason. ``None`` if none can start.
    """
    for row in _next(config, suite, submission_id):
        token = leases.claim_within_limit(Judgement, row.pk, endpoint_id=row.config.endpoint_id)
        if token is not None:
            ids = {"submission": row.implementation.submission_id, "judgement": row.pk}
            with structlog.contextvars.bound_contextvars(**ids):
                _judge(row, token, stop)
            row.refresh_from_db()
            return row
    return None


def waiting(
    *, config: JudgeConfig | None = None, suite: Suite | None = None, submission_id: int | None = None
) -> QuerySet[Judgement]:
    """Return open judgements (queued, running or held), by one judge, of one suite or submission if given."""
    rows = Judgement.objects.filter(state__in=[WorkState.QUEUED, WorkState.RUNNING, WorkState.HELD])
    rows = rows.filter(_filter_for("implementation__", submission_id, suite))
    return rows if config is None else rows.filter(config=config)


def wake(*, config: JudgeConfig | None = None, suite: Suite | None = None) -> int:
    """Make delayed judgements due now (the budget may have changed); return how many rows there were."""
    queued = waiting(config=config, suite=suite).filter(state=WorkState.QUEUED, not_before__isnull=False)
    return queued.update(not_before=None)


def _next(config: JudgeConfig | None, suite: Suite | None, submission_id: int | None) -> list[Judgement]:
    """Return the oldest due judgements of active judges whose endpoints have room."""
    due = leases.due(waiting(config=config, suite=suite, submission_id=submission_id)).filter(config__active=True)
    endpoints = Endpoint.objects.filter(pk__in=due.order_by().values("config__endpoint"))
    full = [endpoint.pk for endpoint in endpoints if not leases.has_room(endpoint)]
    return list(due.exclude(config__endpoint__in=full).select_related("config").order_by("pk")[:CANDIDATES])


def _judge(row: Judgement, token: uuid.UUID, stop: Callable[[], bool]) -> None:
    """Vote and decide; otherwise let the row wait, or hold it for a maintainer."""
    # Imported here: web processes import this module to plan, and need no client.
    from evaluator.providers.stored_clients import ClientUnavailableError, judge_client

    record_error = partial(leases.record_error, Judgement, row.pk, token)
    release = partial(leases.release, Judgement, row.pk, token)
    try:
        with leases.heartbeat(Judgement, row.pk, token) as keeper:
            _decide(row, token, judge_client, lambda: keeper.lost() or stop())
    except (CallBusyError, BudgetSpentError) as wait:
        retry(partial(release, reason=str(wait), not_before=wait.until))
    except StoppedError:
        retry(release)
    except CallFailedError as error:
        retry(partial(record_error, reason=str(error)))
    except StorageUnavailableError as error:
        retry(partial(leases.record_storage_error, Judgement, row.pk, token, error))
    except (CallLostError, CallRejectedError, ClientUnavailableError, SubmissionError, _StaleError) as error:
        retry(partial(record_error, reason=str(error), hold=True))
    except UNREADABLE as error:
        reason = f"The task's reference or paper cannot be read ({type(error).__name__}); import the suite again."
        retry(partial(record_error, reason=reason, hold=True))
    except KeyboardInterrupt:
        release(reason="The worker was interrupted.")
        raise
    except Exception:  # an error of our own code must be retried and shown, never lose a judgement
        log.exception("judging_failed")
        retry(partial(record_error, reason="an infrastructure error of this site"))


class _StaleError(Exception):
    """The judge's prompt or answer format is outdated."""


def _decide(
    row: Judgement, token: uuid.UUID, connect: Callable[[JudgeConfig], ModelClient], stop: Callable[[], bool]
) -> None:
    config = row.config
    if reason := stale(config):
        raise _StaleError(reason)
    shown = shown_of(row.implementation)
    _store_input_digest(row, token, shown)
    client = connect(config)
    try:
        asking = Asking(client=client, config=config, token=token, purpose=CallPurpose.JUDGE, stop=stop)
        first = _labels(row, asking, shown, Variant.RAW, config.votes)
        split = is_split(first)
        label = majority(_labels(row, asking, shown, Variant.RAW, config.votes_when_split) if split else first)
        sensitive = label is not None and _is_surface_sensitive(row, asking, shown, label)
    finally:
        client.close()
    retry(partial(_finish, row, token, label=label, split=split, surface_sensitive=sensitive))


def _is_surface_sensitive(row: Judgement, asking: Asking, shown: JudgeInput, label: Label) -> bool:
    """Return whether the label changes without comments and docstrings.

    Without any, no request is made. One agreeing vote is enough; otherwise there are as many votes as for the label
    itself, to distinguish sensitivity from unsteadiness.
    """
    stripped = shown.stripped()
    if stripped == shown or _labels(row, asking, stripped, Variant.STRIPPED, 1) in ([label], [None]):
        return False
    found = majority(_labels(row, asking, stripped, Variant.STRIPPED, row.config.votes))
    return found is not None and found is not label


def _labels(row: Judgement, asking: Asking, shown: JudgeInput, variant: Variant, count: int) -> list[Label | None]:
    """Return the labels of the first ``count`` votes; stored votes are not requested again."""
    stored = {vote.sample: vote.label for vote in row.votes.filter(variant=variant, superseded="")}
    labels: list[Label | None] = []
    for sample in range(1, count + 1):
        if sample in stored:
            labels.append(Label(stored[sample]) if stored[sample] else None)
        else:
            ballot = asking.vote(shown, variant, sample)
            retry(partial(_store, row, asking.token, ballot, variant, sample))
            labels.append(ballot.label)
    return labels


def _store(row: Judgement, token: uuid.UUID, ballot: Ballot, variant: Variant, sample: int) -> None:
    verdict = ballot.verdict
    with transaction.atomic():
        if not Judgement.objects.select_for_update().filter(pk=row.pk, state=WorkState.RUNNING, token=token).exists():
            raise StoppedError
        fields = {
            "label": verdict.label.value if verdict else "",
            "abstention": ballot.abstention or "",
            "findings": storable([finding.model_dump() for finding in verdict.findings]) if verdict else [],
            "injection_suspected": bool(verdict and verdict.injection_suspected),
            "rationale": storable(verdict.rationale) if verdict else [],
        }
        vote, new = JudgeVote.objects.get_or_create(
            judgement=row, variant=variant, sample=sample, superseded="", defaults=fields
        )
        vote.calls.set(ballot.calls)
    if new:
        metrics.count(_VOTES, vote.label or vote.abstention)


def _store_input_digest(row: Judgement, token: uuid.UUID, shown: JudgeInput) -> None:
    """Store the judge's input. Votes on other input, such as another revision's reference, no longer count."""
    found = digest(shown)
    with transaction.atomic():
        if row.input_digest != found:
            row.votes.filter(superseded="").update(superseded=_OTHER_TEXT)
            paper = row.implementation.revision.paper_hash if shown.paper else ""
            Judgement.objects.filter(pk=row.pk, token=token).update(input_digest=found, paper_hash=paper)
            row.input_digest = found


def _finish(row: Judgement, token: uuid.UUID, *, label: Label | None, split: bool, surface_sensitive: bool) -> None:
    calls = ModelCall.objects.filter(votes__judgement=row, votes__superseded="").distinct()
    prices = [price for _, price in calls.values_list("pk", "dollars")]
    with transaction.atomic():
        suspected = row.votes.filter(variant=Variant.RAW, superseded="", injection_suspected=True).exists()
        done = leases.finish(
            Judgement,
            row.pk,
            token,
            label=label.value if label else "",
            abstained=label is None,
            split=split,
            surface_sensitive=surface_sensitive,
            injection_suspected=suspected,
            dollars=None if None in prices else sum(price for price in prices if price is not None),
            infra_count=0,
        )
        if done:
            send = partial(implementation_rated.send, sender=Judgement, implementation=row.implementation)
            transaction.on_commit(send)


def retry_held(*, actor: User, config: JudgeConfig | None = None, submission: Submission | None = None) -> int:
    """Queue held judgements again (all, or those of a judge or submission); return how many. For maintainers.

    This allows requests whose answer was lost twice to be sent once more.
    """
    if not actor.is_staff:
        msg = "Only maintainers may retry held judgements."
        raise NotAllowedError(msg)
    rows = waiting(config=config, submission_id=submission.pk if submission else None).filter(state=WorkState.HELD)
    rows = rows.select_related("config", "implementation__revision__task__paper")
    with transaction.atomic():
        for row in rows:
            _allow_again(row)
        held = [(row.pk, row.config, row.config_id) for row in rows]
        count = Judgement.objects.filter(pk__in=[pk for pk, _, _ in held], state=WorkState.HELD).update(
            state=WorkState.QUEUED, infra_count=0, not_before=None
        )
        for judge in {config_id: judge for _, judge, config_id in held}.values():
            record(verb=Verb.RETRIED, subject=judge, actor=actor, data={"judgements": count})
        transaction.on_commit(partial(push, count, MODELS))
    return count


def _allow_again(row: Judgement) -> None:
    try:
        shown = shown_of(row.implementation)
    except UNREADABLE:
        return
    samples = range(1, row.config.votes_when_split + 1)
    keys = [
        key
        for variant, text in ((Variant.RAW, shown), (Variant.STRIPPED, shown.stripped()))
        for sample in samples
        for key in vote_keys(row.config, text, variant, sample)
    ]
    ModelCall.objects.filter(key__in=keys, state=CallState.IN_DOUBT).update(
        state=CallState.FAILED, message="It was in doubt; a maintainer allowed another request."
    )


def cancel(*, submission_id: int) -> int:
    """Cancel a submission's open judgements; return how many. Workers notice within seconds."""
    rows = waiting(submission_id=submission_id)
    return rows.update(state=WorkState.CANCELLED, token=None, lease_until=None, reason="It was cancelled.")
