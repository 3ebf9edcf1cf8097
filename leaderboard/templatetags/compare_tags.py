"""How comparisons write their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

if TYPE_CHECKING:
    from collections.abc import Sequence

register = template.Library()


@register.filter
def signed(value: float) -> str:
    """A difference with its sign and one decimal; the sign of nothing is none."""
    text = f"{value:+.1f}"
    return "0.0" if text in {"+0.0", "-0.0"} else text.replace("-", "\N{MINUS SIGN}")


@register.filter
def p_value(value: float) -> str:
    """A p-value to two significant digits, as the sentence above the table gives it."""
    return "< 0.001" if value < 0.001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


@register.filter
def at(items: Sequence[object], place: int) -> object:
    """The item at a place; None beyond the end."""
    return items[place] if place < len(items) else None
