"""Tokens and cost of calls to models. A number that a provider does not report makes every total with it unknown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeVar

from django.db.models import Case, Count, Q, Sum, When
from django.db.models.lookups import GreaterThan

from evaluator.providers import tokens
from submissions.models.endpoints import cost_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from evaluator.models import ModelCall
    from evaluator.providers.interface import TokenUsage

MOST_DOLLARS: Final = Decimal(99_999)
MOST_TOKENS: Final = 10**8
"""Upper bound of one call's tokens and cost, so that a hostile server's larger numbers cannot break storing."""

_Number = TypeVar("_Number", int, Decimal)
Prices = tuple[Decimal | None, Decimal | None]
"""US dollars per million input and output tokens."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and US dollars of some calls; ``None`` where any call's are unknown.

    Limits use ``limited_tokens`` and ``limited_dollars``, which estimate what was not reported. They are never
    published. ``estimated``: whether they contain an estimate.
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


def sums(calls: str = "") -> dict[str, Case]:
    """Return expressions for input tokens, output tokens and dollars of calls; NULL where any call's are unknown.

    ``calls`` is the lookup prefix that leads from the queried model to the calls. A call without a reply has no known
    usage.
    """

    def total(field: str, zero: int | Decimal, **unknown: object) -> Case:
        without = Count(f"{calls}pk", filter=Q(**{f"{calls}{name}": value for name, value in unknown.items()}))
        return Case(When(GreaterThan(without, 0), then=None), default=Sum(f"{calls}{field}", default=zero))

    return {
        "input_tokens": total("input_tokens", 0, input_tokens=None),
        "output_tokens": total("output_tokens", 0, output_tokens=None),
        "dollars": total("dollars", Decimal(0), response__isnull=False, dollars=None),
    }


def spent(calls: QuerySet[ModelCall]) -> Spent:
    """Sum what ``calls`` used, in one query."""
    known = {f"known_{name}": total for name, total in sums().items()}
    found = calls.aggregate(
        **known,
        read=Sum("input_tokens", default=0),
        written=Sum("output_tokens", default=0),
        cost=Sum("dollars", default=Decimal(0)),
        more_tokens=Sum("estimated_tokens", default=0),
        more_cost=Sum("estimated_dollars", default=Decimal(0)),
    )
    dollars = found["known_dollars"]
    # SQLite adds decimals as floating point numbers.
    return Spent(
        input_tokens=found["known_input_tokens"],
        output_tokens=found["known_output_tokens"],
        dollars=None if dollars is None else round(dollars, 6),
        limited_tokens=found["read"] + found["written"] + found["more_tokens"],
        limited_dollars=round(found["cost"] + found["more_cost"], 6),
        estimated=found["known_input_tokens"] is None or found["known_output_tokens"] is None,
    )


def used(request: Mapping[str, Any], response: Mapping[str, Any], usage: TokenUsage, prices: Prices) -> dict[str, Any]:
    """Return a call's usage fields for its reply; usage that was not reported is estimated from the bodies."""
    read, written = usage.input_tokens, usage.output_tokens
    more_read, more_written = (
        tokens.estimate(json.dumps(body, ensure_ascii=False)) if counted is None else 0
        for body, counted in ((request, read), (response, written))
    )
    cost = cost_of(read, written, *prices)
    more_cost = cost_of(read or more_read, written or more_written, *prices) if cost is None else None
    return {
        "input_tokens": _most(read, MOST_TOKENS),
        "output_tokens": _most(written, MOST_TOKENS),
        "cached_tokens": min(usage.cached_tokens, MOST_TOKENS),
        "dollars": _most(cost, MOST_DOLLARS),
        "estimated_tokens": more_read + more_written,
        "estimated_dollars": _most(more_cost, MOST_DOLLARS),
    }


def _most(amount: _Number | None, most: _Number) -> _Number | None:
    return None if amount is None else min(amount, most)
