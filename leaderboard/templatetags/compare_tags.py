"""Format the numbers of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.utils.html import format_html

from leaderboard.statistics.intervals import p_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.utils.safestring import SafeString

    from leaderboard.insight.comparing import Compared
    from leaderboard.statistics.paired import Pair

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


@register.filter
def widest(pairs: Sequence[Compared]) -> float:
    """Return the end of a scale that has room for every difference and its interval, in percentage points."""
    ends = [end for each in pairs if each.pair for end in (each.pair.low, each.pair.high, each.pair.difference)]
    return max(10.0, *(abs(end) for end in ends if end is not None)) if ends else 10.0


@register.simple_tag
def difference_chart(pair: Pair, end: float) -> SafeString:
    """Draw a difference with its interval on a line from -``end`` to ``end``, with a line at zero.

    It is to the right if the first system is better, on the side of its name. Pages show the numbers beside it as text.
    """
    low = pair.difference if pair.low is None else pair.low
    high = pair.difference if pair.high is None else pair.high
    left, right, at = (f"{200 + 195 * each / end:.1f}" for each in (low, high, pair.difference))
    return format_html(
        '<svg class="difference" viewBox="0 0 400 26" width="400" height="26" aria-hidden="true" focusable="false">'
        '<line class="interval-axis" x1="5" y1="13" x2="395" y2="13"/>'
        '<line class="interval-tick" x1="200" y1="1" x2="200" y2="25"/>'
        '<line class="interval-range" x1="{}" y1="13" x2="{}" y2="13"/>'
        '<circle class="interval-estimate" cx="{}" cy="13" r="6"/></svg>',
        left,
        right,
        at,
    )
