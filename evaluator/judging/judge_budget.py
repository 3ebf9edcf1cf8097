"""What judges may cost in a day: every call for a verdict or a judge's health counts, by the day's UTC date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from evaluator.enums import CallPurpose
from evaluator.models import ModelCall


class BudgetSpentError(Exception):
    """Nothing more may be asked today; ``until`` is when it may be again."""

    def __init__(self, message: str, *, until: datetime) -> None:
        super().__init__(message)
        self.until = until


@dataclass(frozen=True, slots=True)
class Budget:
    """US dollars and tokens (in and out): what was spent today, and what may be. Unpriced calls cost no dollars."""

    dollars: Decimal
    tokens: int
    most_dollars: Decimal
    most_tokens: int

    @property
    def dollars_left(self) -> Decimal:
        """Never below zero, although the last call of a day may go beyond the limit."""
        return max(self.most_dollars - self.dollars, Decimal(0))

    @property
    def tokens_left(self) -> int:
        """Never below zero."""
        return max(self.most_tokens - self.tokens, 0)


def today() -> Budget:
    """How today's budget stands. A limit of 0 switches judging off."""
    calls = ModelCall.objects.filter(purpose__in=[CallPurpose.JUDGE, CallPurpose.HEALTH], started__gte=_midnight())
    spent = calls.aggregate(dollars=Sum("dollars"), input=Sum("input_tokens"), output=Sum("output_tokens"))
    return Budget(
        dollars=spent["dollars"] or Decimal(0),
        tokens=(spent["input"] or 0) + (spent["output"] or 0),
        most_dollars=Decimal(str(settings.ENVIRONMENT.judge_daily_dollars)),
        most_tokens=settings.ENVIRONMENT.judge_daily_tokens,
    )


def require_some_left() -> None:
    """Raise :class:`BudgetSpentError` when today's dollars or tokens are spent."""
    budget = today()
    if budget.dollars_left and budget.tokens_left:
        return
    what = (
        f"{budget.most_tokens} tokens (JUDGE_DAILY_TOKENS)"
        if budget.dollars_left
        else f"${budget.most_dollars} (JUDGE_DAILY_DOLLARS)"
    )
    until = tomorrow()
    msg = f"Today's budget for judges, {what}, is spent; judging goes on at {until:%Y-%m-%d %H:%M} UTC."
    raise BudgetSpentError(msg, until=until)


def tomorrow() -> datetime:
    """When the next day's budget begins."""
    return _midnight() + timedelta(days=1)


def _midnight() -> datetime:
    return datetime.combine(timezone.now().astimezone(UTC).date(), time(), tzinfo=UTC)
