"""Daily budget of judges: every call for a verdict or a judge's health counts, by the UTC date."""

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
    """Today's budget is spent; the next one begins at ``until``."""

    def __init__(self, message: str, *, until: datetime) -> None:
        super().__init__(message)
        self.until = until


@dataclass(frozen=True, slots=True)
class Budget:
    """Rest of today's US dollars and tokens (input and output), never below zero."""

    dollars_left: Decimal
    tokens_left: int


def today() -> Budget:
    """Return the rest of today's budget. A limit of 0 switches judging off. Unpriced calls cost no dollars.

    Tokens that a provider does not report are estimated.
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
    msg = f"Today's budget for judges, {what}, is spent; judging continues at {until:%Y-%m-%d %H:%M} UTC."
    raise BudgetSpentError(msg, until=until)


def tomorrow() -> datetime:
    """Return when the next day's budget begins."""
    return _midnight() + timedelta(days=1)


def _midnight() -> datetime:
    return datetime.combine(timezone.now().astimezone(UTC).date(), time(), tzinfo=UTC)
