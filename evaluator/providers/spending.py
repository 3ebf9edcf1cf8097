"""What calls to models used. A number that a provider does not report is unknown, and so is a total it is part of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Count, Q, Sum

from evaluator.providers import tokens
from submissions.models.endpoints import cost_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from evaluator.models import ModelCall
    from evaluator.providers.types import ModelReply

MOST_DOLLARS: Final = Decimal(99_999)
"""No call costs more; what a hostile server says beyond it must not break the storing of its answer."""

UNPRICED_REPLIES: Final = Q(response__isnull=False, dollars=None)


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and US dollars of some calls; ``None`` where a call's are unknown.

    ``limited_tokens`` and ``limited_dollars`` are what limits act on: the same, with an estimate in place of what was
    not reported. They are never published. ``estimated``: whether there is such an estimate in them.
    """

    input_tokens: int | None
    output_tokens: int | None
    dollars: Decimal | None
    limited_tokens: int
    limited_dollars: Decimal
    estimated: bool

    @property
    def tokens(self) -> int | None:
        """Input and output together."""
        return tokens.total(self.input_tokens, self.output_tokens)


def spent(calls: QuerySet[ModelCall]) -> Spent:
    """What ``calls`` used, in one query. A call without a reply used nothing that is known of."""
    found = calls.aggregate(
        read=Sum("input_tokens", default=0),
        written=Sum("output_tokens", default=0),
        cost=Sum("dollars", default=Decimal(0)),
        more_tokens=Sum("estimated_tokens", default=0),
        more_cost=Sum("estimated_dollars", default=Decimal(0)),
        without_input=Count("pk", filter=Q(input_tokens=None)),
        without_output=Count("pk", filter=Q(output_tokens=None)),
        without_dollars=Count("pk", filter=UNPRICED_REPLIES),
    )
    # SQLite adds decimals as floating point numbers.
    dollars, more_dollars = round(found["cost"], 6), round(found["more_cost"], 6)
    return Spent(
        input_tokens=None if found["without_input"] else found["read"],
        output_tokens=None if found["without_output"] else found["written"],
        dollars=None if found["without_dollars"] else dollars,
        limited_tokens=found["read"] + found["written"] + found["more_tokens"],
        limited_dollars=dollars + more_dollars,
        estimated=bool(found["without_input"] or found["without_output"]),
    )


def estimated(
    request: Mapping[str, Any], reply: ModelReply, prices: tuple[Decimal | None, Decimal | None]
) -> dict[str, Any]:
    """``estimated_tokens`` and ``estimated_dollars`` of a call: for what its provider did not report, by its texts."""
    usage = reply.usage
    if usage.input_tokens is not None and usage.output_tokens is not None:
        return {}
    read = tokens.estimate(json.dumps(request, ensure_ascii=False)) if usage.input_tokens is None else 0
    written = tokens.estimate(json.dumps(reply.raw, ensure_ascii=False)) if usage.output_tokens is None else 0
    known = cost_of(usage.input_tokens, usage.output_tokens, *prices)
    cost = cost_of(usage.input_tokens or read, usage.output_tokens or written, *prices) if known is None else None
    return {"estimated_tokens": read + written, "estimated_dollars": None if cost is None else min(cost, MOST_DOLLARS)}
