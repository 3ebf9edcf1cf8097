"""Format the numbers of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

from leaderboard.statistics.intervals import p_text

if TYPE_CHECKING:
    from collections.abc import Sequence

register = template.Library()


@register.filter
def signed(value: float) -> str:
    """Format a difference with its sign and one decimal; zero has no sign."""
    text = f"{value:+.1f}"
    return "0.0" if text in {"+0.0", "-0.0"} else text.replace("-", "\N{MINUS SIGN}")


register.filter("p_value", p_text)


@register.filter
def at(items: Sequence[object], place: int) -> object:
    """Return the item at a place, or None beyond the end."""
    return items[place] if place < len(items) else None
