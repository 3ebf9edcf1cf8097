"""Collect the data of the pages of a run on an endpoint: progress, limits, calls."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q
from django.shortcuts import get_object_or_404
from django.utils import timezone

from evaluator.enums import CallState, GenerationState, WorkState
from evaluator.generation.forms import LimitsForm
from evaluator.generation.generating import PAUSED_BY_HAND, Progress, elapsed_seconds, progress
from evaluator.generation.limits import duration, reached_limit
from evaluator.models import AnswerRequest, Generation, ModelCall
from evaluator.providers.spending import Spent, spent, sums
from leaderboard.evidence.submissions import may_see_code, question_words
from submissions.domain import endpoints, ownership
from submissions.domain.access import may_manage
from submissions.enums import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from decimal import Decimal

    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet
    from django.http import HttpRequest

    from submissions.models import Endpoint, Implementation, Submission, User

_STOPPED: Final = (GenerationState.PAUSED, GenerationState.HELD)
OPEN_GENERATIONS: Final = (GenerationState.RUNNING, *_STOPPED)
_KINDS_OF_CUTS: Final = {"section of the paper": "sections of the paper", "file": "files"}
_CUTS_NAMED: Final = 6


class Meter(NamedTuple):
    """One limit of a run: the amount used, in words and as a percentage (None without a limit)."""

    label: str
    text: str
    percent: float | None


class Unused(NamedTuple):
    """A cancelled run's calls for answers that are not complete: ``calls`` were charged for, ``open`` have no reply."""

    calls: int
    open: int
    used: Spent


def generation_of(submission: Submission) -> Generation | None:
    """Return the run that answers ``submission``, with its endpoint loaded; None for an upload."""
    return Generation.objects.filter(submission=submission).select_related("endpoint").first()


def generation_context(user: User | AnonymousUser, shown: Submission) -> dict[str, Any]:
    """Return the context of ``leaderboard/generation_live.html``; empty for an uploaded submission. Four queries.

    ``resume`` is the form of the limits of a stopped run, and ``limit`` is the limit that it reached. ``seen`` changes
    whenever the rendered part would change, apart from times.
    """
    generation = generation_of(shown) if shown.source == Source.ENDPOINT else None
    if generation is None:
        return {}
    done, questions, now = progress(generation), list(question_rows(generation)), timezone.now()
    manages, stopped = may_manage(user, shown), generation.state in _STOPPED
    rows = [
        f"{row.state}{row.taken}{row.note or row.reason}{bool(row.not_before and row.not_before > now)}"
        for row in questions
    ]
    seen = repr((generation.state, generation.reason, done, rows))
    return {
        "submission": shown,
        "generation": generation,
        "asking": done,
        "asked": questions,
        "now": now,
        "meters": _meters(generation, done),
        "is_open_run": generation.state in OPEN_GENERATIONS,
        "waits_until": done.wait_until if generation.state == GenerationState.RUNNING else None,
        "seen": hashlib.sha256(seen.encode()).hexdigest()[:16],
        "manages": manages,
        "owns_endpoint": generation.endpoint is not None and ownership.manages(user, generation.endpoint),
        "sees_calls": may_see_code(user, shown),
        "resume": LimitsForm(initial=LimitsForm.limits_of(generation)) if manages and stopped else None,
        "limit": reached_limit(generation, done.used) if stopped else "",
        "by_hand": generation.reason == PAUSED_BY_HAND,
        "unused": unused_calls(generation) if generation.state == GenerationState.CANCELLED else None,
    }


def unused_calls(generation: Generation) -> Unused:
    """Count a cancelled run's calls for questions without an answer. Their usage is part of the total."""
    calls = ModelCall.objects.filter(answer_request__generation=generation, answer_request__state=WorkState.CANCELLED)
    without_reply = Q(state__in=[CallState.SENDING, CallState.IN_DOUBT], response__isnull=True)
    counted = calls.aggregate(
        calls=Count("pk", filter=Q(response__isnull=False)), open=Count("pk", filter=without_reply)
    )
    return Unused(**counted, used=spent(calls))


def question_state(request: AnswerRequest, sent: int) -> str:
    """Describe the state of a question of a run; ``sent`` is the number of calls made for it."""
    return question_words(request.state, run=request.generation.state, sent=bool(sent))


def without_answer(request: AnswerRequest | None) -> str:
    """Explain why a task has no answer in a run on an endpoint; ``request`` is None for a task outside the run."""
    if request is None:
        return "This task is not part of this run."
    sent = request.calls.exists()
    if request.state == WorkState.CANCELLED:
        return f"The run was cancelled {'while' if sent else 'before'} the model was asked: there is no answer."
    return f"There is no answer yet. Its question is {question_state(request, sent)}."


def question_rows(generation: Generation) -> QuerySet[AnswerRequest]:
    """List the run's questions in the benchmark's order, with numbers of calls (all, in doubt), tokens and dollars."""
    answer, used = "implementation", sums("calls__")
    return (
        generation.requests.select_related(f"{answer}__revision__task__paper")
        .defer(
            *(f"{answer}__{name}" for name in ("files", "diff", "goal_source", "raw_answer")),
            f"{answer}__revision__masked_source",
        )
        .annotate(
            sent=Count("calls"),
            in_doubt=Count("calls", filter=Q(calls__state=CallState.IN_DOUBT)),
            tokens=used["input_tokens"] + used["output_tokens"],
            dollars=used["dollars"],
        )
        .order_by(
            f"{answer}__revision__task__paper__folder_name", f"{answer}__revision__task__index", f"{answer}__trial"
        )
    )


def _meters(generation: Generation, done: Progress) -> list[Meter]:
    used, is_open = done.used, generation.state in OPEN_GENERATIONS
    counted = partial(_spent, is_open=is_open)
    meters = [
        counted("Tokens", used.limited_tokens, generation.run_tokens, "{:,}".format, is_known=not used.estimated),
    ]
    if generation.settings.get("price_input") is not None and generation.settings.get("price_output") is not None:
        meters.append(
            counted("US $", used.limited_dollars, generation.run_dollars, money, is_known=used.dollars is not None)
        )
    seconds, most = elapsed_seconds(generation), generation.run_seconds
    meters.append(_meter("Time", duration(seconds), most, duration(most), seconds))
    return meters


def _spent(
    label: str,
    amount: float | Decimal,
    limit: float | Decimal | None,
    written: Callable[[object], str],
    *,
    is_known: bool,
    is_open: bool,
) -> Meter:
    """Make a meter of tokens or dollars. Without a reported amount the estimate is shown while limits apply to it."""
    if not is_known and not is_open:
        return Meter(label, "not reported by the provider", None)
    return _meter(label, f"{written(amount)}{'' if is_known else ' (estimated)'}", limit, written(limit or 0), amount)


def _meter(label: str, used: str, limit: float | Decimal | None, most: str, amount: float | Decimal) -> Meter:
    if limit is None:
        return Meter(label, f"{used}, no limit", None)
    share = min(100.0, 100 * float(amount) / float(limit)) if limit else 100.0
    return Meter(label, f"{used} of {most}", share)


def calls_of(answer: Implementation) -> QuerySet[ModelCall]:
    """List every call for ``answer`` in the order of sending; ``repeated``: the same request was sent again."""
    again = ModelCall.objects.filter(key=OuterRef("key"), number__gt=OuterRef("number"))
    calls = ModelCall.objects.filter(answer_request__implementation=answer).defer("request", "response")
    return calls.annotate(repeated=Exists(again)).order_by("pk")


def cuts_in_words(cuts: Iterable[Mapping[str, Any]]) -> str:
    """Describe what was left out of a prompt, by kind; the first six of each kind by name, and the number of others."""
    texts = []
    for kind, named in _by_kind(cuts).items():
        names = [name for name, _ in named]
        more = f" and {len(names) - _CUTS_NAMED} more" if len(names) > _CUTS_NAMED else ""
        texts.append(f"{kind}{', '.join(names[:_CUTS_NAMED])}{more}")
    return "; ".join(texts)


def cuts_by_reason(cuts: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """List everything that was left out of a prompt, with its tokens, by reason."""
    reasons: dict[str, list[Mapping[str, Any]]] = {}
    for cut in cuts:
        reasons.setdefault(cut["why"], []).append(cut)
    return [
        (
            "; ".join(
                f"{kind}{', '.join(f'{name} ({tokens:,} tokens)' if tokens else name for name, tokens in named)}"
                for kind, named in _by_kind(same).items()
            ),
            why,
        )
        for why, same in reasons.items()
    ]


def _by_kind(cuts: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for cut in cuts:
        kind, _, name = cut["part"].partition(": ")
        title, shown = (f"{_KINDS_OF_CUTS[kind]}: ", name) if kind in _KINDS_OF_CUTS else ("", cut["part"])
        found.setdefault(title, []).append((shown, cut.get("tokens", 0)))
    return found


def money(dollars: object) -> str:
    """Format dollars with two decimals, or four if the last two are not zero."""
    text = f"{dollars:.4f}"
    return text.removesuffix("00")


def own_endpoint(request: HttpRequest, pk: int) -> Endpoint:
    """Return the viewer's or their team's endpoint. Raises Http404 otherwise, as for one that does not exist."""
    return get_object_or_404(endpoints.visible_to(request.user), pk=pk)
