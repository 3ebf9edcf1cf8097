"""How far a run on an endpoint is, and what it has used."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, Q, Sum
from django.utils import timezone

from evaluator.enums import AnswerTaken, CallState, WorkState
from evaluator.models import ModelCall

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from evaluator.models import Generation


@dataclass(frozen=True, slots=True)
class Progress:
    """``answered`` of ``total`` questions are decided, ``code`` of them with code in them.

    ``dollars`` is ``None`` where no call has a price, ``wait_until`` is when the provider wants to be asked again.
    """

    total: int
    answered: int
    code: int
    running: int
    held: int
    calls: int
    in_doubt: int
    failed: int
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    wait_until: datetime | None

    @property
    def share(self) -> float:
        """The decided part, from 0 to 1."""
        return self.answered / self.total if self.total else 0.0

    @property
    def tokens(self) -> int:
        """Input and output together, as the limit counts them."""
        return self.input_tokens + self.output_tokens


def progress(generation: Generation) -> Progress:
    """Two queries, however many questions there are, and one for the endpoint where it is not at hand."""
    states: Counter[str] = Counter()
    code = 0
    for state, taken, count in generation.requests.order_by().values_list("state", "taken").annotate(n=Count("pk")):
        states[state] += count
        code += count if taken == AnswerTaken.CODE else 0
    calls = ModelCall.objects.filter(answer_request__generation=generation).aggregate(
        calls=Count("pk"),
        in_doubt=Count("pk", filter=Q(state=CallState.IN_DOUBT)),
        failed=Count("pk", filter=Q(state=CallState.FAILED)),
        input_tokens=Sum("input_tokens", default=0),
        output_tokens=Sum("output_tokens", default=0),
        dollars=Sum("dollars"),
    )
    not_before = generation.endpoint.not_before if generation.endpoint else None
    return Progress(
        total=sum(states.values()),
        answered=states[WorkState.DONE],
        code=code,
        running=states[WorkState.RUNNING],
        held=states[WorkState.HELD],
        wait_until=not_before if not_before and not_before > timezone.now() else None,
        **calls,
    )
