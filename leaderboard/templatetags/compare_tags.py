"""How comparisons write their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

from leaderboard.statistics.intervals import p_text

if TYPE_CHECKING:
    from collections.abc import Sequence

register = template.Library()


@register.filter
def signed(value: float) -> str:
    """A difference with its sign and one decimal; the sign of nothing is none."""
    text = f"{value:+.1f}"
    return "0.0" if text in {"+0.0", "-0.0"} else text.replace("-", "\N{MINUS SIGN}")


register.filter("p_value", p_text)


@register.filter
def at(items: Sequence[object], place: int) -> object:
    """The item at a place; None beyond the end."""
    return items[place] if place < len(items) else None
