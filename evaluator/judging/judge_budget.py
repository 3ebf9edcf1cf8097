"""What judges may cost in a day: every call for a verdict or a judge's health counts, by the day's UTC date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from django.conf import settings
from django.utils import timezone

from evaluator.enums import CallPurpose
from evaluator.models import ModelCall
from evaluator.providers.spending import spent


class BudgetSpentError(Exception):
    """Nothing more may be asked today; ``until`` is when it may be again."""

    def __init__(self, message: str, *, until: datetime) -> None:
        super().__init__(message)
        self.until = until


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left of today's US dollars and tokens (in and out), never below zero."""

    dollars_left: Decimal
    tokens_left: int


def today() -> Budget:
    """Return what is left of today's budget. A limit of 0 switches judging off. Unpriced calls cost no dollars.

    Tokens that a provider does not report are estimated for this.
    """
    calls = ModelCall.objects.filter(purpose__in=[CallPurpose.JUDGE, CallPurpose.HEALTH], started__gte=_midnight())
    used = spent(calls)
    limits = settings.ENVIRONMENT
    return Budget(
        dollars_left=max(Decimal(str(limits.judge_daily_dollars)) - used.limited_dollars, Decimal(0)),
        tokens_left=max(limits.judge_daily_tokens - used.limited_tokens, 0),
    )


def require_some_left() -> None:
    """Raise :class:`BudgetSpentError` when today's dollars or tokens are spent."""
    budget = today()
    if budget.dollars_left and budget.tokens_left:
        return
    limits = settings.ENVIRONMENT
    what = f"${limits.judge_daily_dollars} (JUDGE_DAILY_DOLLARS)"
    if budget.dollars_left:
        what = f"{limits.judge_daily_tokens} tokens (JUDGE_DAILY_TOKENS)"
    until = tomorrow()
    msg = f"Today's budget for judges, {what}, is spent; judging goes on at {until:%Y-%m-%d %H:%M} UTC."
    raise BudgetSpentError(msg, until=until)


def tomorrow() -> datetime:
    """When the next day's budget begins."""
    return _midnight() + timedelta(days=1)


def _midnight() -> datetime:
    return datetime.combine(timezone.now().astimezone(UTC).date(), time(), tzinfo=UTC)
