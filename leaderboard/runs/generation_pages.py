"""What the pages of a run on an endpoint show, as plain typed values: its progress, its limits, its calls."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from django.db.models import Count, Max, Q, Sum
from django.urls import reverse
from django.utils import timezone

from evaluator.enums import AnswerTaken, CallState, GenerationState, WorkState
from evaluator.generation.generation_progress import Progress, progress
from evaluator.models import AnswerRequest, Generation, ModelCall
from leaderboard.runs.endpoint_pages import duration, money

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from submissions.models import Implementation, Submission

OPEN_GENERATIONS: Final = (GenerationState.RUNNING, GenerationState.PAUSED, GenerationState.HELD)
_STATES: Final[Mapping[str, str]] = {
    WorkState.QUEUED: "waiting",
    WorkState.RUNNING: "being asked",
    WorkState.DONE: "answered",
    WorkState.HELD: "held",
    WorkState.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class AskedRow:
    """One question of a run: how far it is, what its answer was, and what it cost."""

    request: AnswerRequest
    implementation: Implementation
    calls: int
    in_doubt: int
    tokens: int
    dollars: Decimal | None

    @property
    def state(self) -> str:
        """The question's state in words."""
        return _STATES[self.request.state]

    @property
    def css(self) -> str:
        """The class of its colour: an answer without code counts as failed."""
        if self.request.state != WorkState.DONE:
            return "pending"
        return "passed" if self.request.taken == AnswerTaken.CODE else "failed"

    @property
    def waits_until(self) -> datetime | None:
        """When it is asked at the earliest, where that is still to come."""
        until = self.request.not_before if self.request.state == WorkState.QUEUED else None
        return until if until is not None and until > timezone.now() else None

    @property
    def note(self) -> str:
        """What the answer was taken from, or why it waits or is held."""
        return self.request.note or self.request.reason

    @property
    def left_out(self) -> str:
        """The parts that did not fit the prompt."""
        return ", ".join(str(cut.get("part", "?")) for cut in self.request.cuts)

    @property
    def calls_address(self) -> str:
        """The page of its calls."""
        return calls_address(self.implementation)


@dataclass(frozen=True, slots=True)
class Meter:
    """One limit of a run: how much of it is used, in words and as a percentage (None without a limit)."""

    label: str
    text: str
    percent: float | None


@dataclass(frozen=True, slots=True)
class Live:
    """A run as its page shows it."""

    generation: Generation
    progress: Progress
    rows: list[AskedRow]
    meters: list[Meter]

    @property
    def is_open(self) -> bool:
        """Whether it still asks, or may go on."""
        return self.generation.state in OPEN_GENERATIONS

    @property
    def waits_until(self) -> datetime | None:
        """Until when the provider asked to wait, while the run would otherwise go on."""
        return self.progress.wait_until if self.generation.state == GenerationState.RUNNING else None

    @property
    def fingerprint(self) -> str:
        """Changes when a page that shows this would look different, but for the clock."""
        rows = [f"{row.request.state}{row.request.taken}{row.note}{row.waits_until}" for row in self.rows]
        seen = [self.generation.state, self.generation.reason, repr(self.progress), *rows]
        return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:16]


def generation_of(submission: Submission) -> Generation | None:
    """The run that answers ``submission``, with its endpoint at hand; None for an uploaded one."""
    return Generation.objects.filter(submission=submission).select_related("endpoint").first()


def live(generation: Generation) -> Live:
    """How far ``generation`` is. Three queries."""
    done = progress(generation)
    return Live(generation, done, _rows(generation), _meters(generation, done))


def _rows(generation: Generation) -> list[AskedRow]:
    """The run's questions in the benchmark's order."""
    asked = (
        generation.requests.select_related("implementation__revision__task__paper")
        .defer(
            "implementation__files", "implementation__diff", "implementation__goal_source",
            "implementation__raw_answer", "implementation__revision__masked_source",
        )
        .annotate(
            sendings=Count("calls"),
            doubts=Count("calls", filter=Q(calls__state=CallState.IN_DOUBT)),
            read=Sum("calls__input_tokens"),
            written=Sum("calls__output_tokens"),
            cost=Sum("calls__dollars"),
        )
        .order_by(
            "implementation__revision__task__paper__folder_name", "implementation__revision__task__index",
            "implementation__trial",
        )
    )  # fmt: skip
    return [
        AskedRow(
            request=request,
            implementation=request.implementation,
            calls=request.sendings,
            in_doubt=request.doubts,
            tokens=(request.read or 0) + (request.written or 0),
            dollars=request.cost,
        )
        for request in asked
    ]


def _meters(generation: Generation, done: Progress) -> list[Meter]:
    meters = [
        _meter("Tokens", f"{done.tokens:,}", generation.run_tokens, f"{generation.run_tokens or 0:,}", done.tokens)
    ]
    priced = generation.settings.get("price_input") is not None and generation.settings.get("price_output") is not None
    if priced or done.dollars is not None:
        spent, limit = done.dollars or Decimal(0), generation.run_dollars
        meters.append(_meter("US $", money(spent), limit, money(limit or 0), spent))
    seconds = ((generation.ended or timezone.now()) - generation.created).total_seconds()
    most = generation.run_seconds
    meters.append(_meter("Time", duration(seconds), most, duration(most), seconds))
    return meters


def _meter(label: str, used: str, limit: float | Decimal | None, most: str, amount: float | Decimal) -> Meter:
    if limit is None:
        return Meter(label, f"{used}, no limit", None)
    share = min(100.0, 100 * float(amount) / float(limit)) if limit else 100.0
    return Meter(label, f"{used} of {most}", share)


def calls_address(answer: Implementation) -> str:
    """The page of the calls that were made for ``answer``."""
    task = answer.revision.task
    return reverse("answer_calls", args=[answer.submission_id, task.paper.slug, task.index, answer.trial])


@dataclass(frozen=True, slots=True)
class CallRow:
    """One sending to a model. ``repeated`` tells whether the same was sent once more after it."""

    call: ModelCall
    repeated: bool
    address: str

    @property
    def state(self) -> str:
        """Its state in words."""
        if self.call.state == CallState.IN_DOUBT:
            return "in doubt, repeated once" if self.repeated else "in doubt, not repeated"
        return self.call.get_state_display()

    @property
    def css(self) -> str:
        """The class of its colour."""
        return {CallState.ANSWERED: "passed", CallState.SENDING: "pending"}.get(CallState(self.call.state), "failed")

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        return (self.call.ended - self.call.started).total_seconds() if self.call.ended else None


def call_rows(answer: Implementation) -> list[CallRow]:
    """Every call that was made for ``answer``, in the order of sending. Two queries."""
    calls = ModelCall.objects.filter(answer_request__implementation=answer).defer("request", "response").order_by("pk")
    listed = list(calls)
    last = dict(
        ModelCall.objects.filter(key__in={call.key for call in listed})
        .order_by()
        .values_list("key")
        .annotate(last=Max("number"))
    )
    return [
        CallRow(call, last[call.key] > call.number, reverse("model_call", args=[answer.submission_id, call.pk]))
        for call in listed
    ]
