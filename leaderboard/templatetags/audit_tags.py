"""Format an audit's numbers and the tasks it leaves out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from django import template
from django.utils.dateparse import parse_datetime

from benchmark_tasks.domain.left_out import left_out_groups, left_out_text
from evaluator.auditing.audit_result import judged_rightly, percent
from evaluator.outcomes import Outcome
from evaluator.testing.shown_outcomes import outcome_badge

if TYPE_CHECKING:
    from datetime import datetime

register = template.Library()

register.filter(left_out_groups)
register.filter(left_out_text)
register.filter(outcome_badge)

_BILLION = 1e9


@register.filter
def share(value: float) -> str:
    """Format a share from 0 to 1 as a whole percentage, rounded down; ``less than 1 %`` if small but not 0."""
    return "less than 1 %" if 0 < value < 1 / 100 else percent(value)


@register.filter
def failing(trivial: list[dict[str, str]]) -> list[str]:
    """Return the names of the trivial answers that, correctly, did not pass."""
    return [each["answer"] for each in trivial if each["outcome"] != Outcome.PASSED.value]


@register.filter
def known_right(answers: list[dict[str, Any]]) -> tuple[int, int]:
    """Return how many of the right known answers pass, and how many there are."""
    return judged_rightly(answers, right=True)


@register.filter
def known_wrong(answers: list[dict[str, Any]]) -> tuple[int, int]:
    """Return how many of the wrong known answers fail, and how many there are."""
    return judged_rightly(answers, right=False)


@register.filter
def tiny(probability: float) -> str:
    """Format a probability as odds, ``1 in 1,024``, rounded to the larger probability."""
    if probability <= 1 / _BILLION:
        return "below one in a billion"
    return f"1 in {math.floor(1 / probability):,}"


@register.filter
def moment(text: str) -> datetime | None:
    """Parse a stored time."""
    return parse_datetime(text)
