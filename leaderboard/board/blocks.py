"""Read or count rows and answers in blocks of submissions, and keep what a block gives while none of its rows changes.

A change of the data then costs the counting of one block, however many submissions there are. What counts is stamped:
every verdict, reason for review, closed case, new result and change of a system is a recount of its rows, and a row
that appears or is hidden changes the block's number of rows or the sums of their keys and of the keys' squares, so a
kept count is not used after one of them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from django.core.cache import cache
from django.db.models import Count, F, Max, Sum

from leaderboard.board.caching import Kept, key_of
from leaderboard.board.rows import is_public
from leaderboard.models import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from django.db.models import QuerySet

BLOCK: Final = 1_000
"""Submissions of a block, by their numbers."""
LEAST_KEPT: Final = 50
"""Rows of a block that are worth keeping; fewer are counted as quickly as they are read."""
_MONTH: Final = 30 * 24 * 3600

Rows = tuple[tuple[Any, ...], ...]
Stamped = tuple[tuple[Any, ...], Rows]
"""The stamp of a block when it was counted, and its counts."""
_COUNTED: Final[Kept[Stamped]] = Kept(1_000)
"""What blocks gave in this process: counts of up to 50 kB each, and the analysis's rows, about 200 kB.

Those of all kinds fit, with 100,000 submissions. The shared cache has them for new processes.
"""


def counted_in_blocks(
    entries: QuerySet[Entry],
    count: Callable[[QuerySet[Entry]], Rows],
    *made_from: object,
    hidden: Collection[int] = (),
) -> list[tuple[Any, ...]]:
    """Return the rows that ``count`` returns for each block of the ``entries`` of public submissions.

    At most two queries if all are kept.

    ``made_from`` names all that the counts depend on besides the entries and their answers. The submissions ``hidden``
    from the viewer are not counted; their blocks alone are counted for this viewer.
    """
    chosen = str(entries.query)
    # Indexes have all that the stamps read, of public submissions alone.
    entries = entries.filter(is_public("submission__")).order_by()
    entries = entries.exclude(submission__in=hidden) if hidden else entries
    stamped = entries.annotate(block=F("submission_id") / BLOCK)
    stamps = stamped.values_list("block").annotate(
        number=Count("pk"),
        sum=Sum("pk"),
        squares=Sum(F("pk") * F("pk")),
        newest=Max("computed"),
        recounts=Sum("recounted"),
    )
    without: dict[int, list[int]] = defaultdict(list)
    for submission in sorted(hidden):
        without[submission // BLOCK].append(submission)
    blocks = {
        key_of("block", chosen, block, without.get(block), *made_from): (block, *stamp)
        for block, *stamp in sorted(stamps)
    }
    if all(number < LEAST_KEPT for _, number, *_ in blocks.values()):
        return [row for some in _in_parts(entries) for row in count(some)]
    found = _COUNTED.get_many(blocks)
    if missing := [key for key, stamp in blocks.items() if stamp[1] >= LEAST_KEPT and key not in found]:
        found |= cache.get_many(missing)
    new: dict[str, Stamped] = {}
    rows: list[tuple[Any, ...]] = []
    for key, stamp in blocks.items():
        if key not in found or found[key][0] != stamp:
            first = stamp[0] * BLOCK
            (some,) = _in_parts(entries.filter(submission__gte=first, submission__lt=first + BLOCK))
            new[key] = (stamp, count(some))
        rows += (new.get(key) or found[key])[1]
    if kept := {key: each for key, each in new.items() if each[0][1] >= LEAST_KEPT}:
        cache.set_many(kept, _MONTH)
    _COUNTED.set_many({key: each for key, each in (found | kept).items() if each[0][1] >= LEAST_KEPT})
    return rows


def counted_with_reported(
    entries: QuerySet[Entry],
    count: Callable[[QuerySet[Entry]], Rows],
    *made_from: object,
    hidden: Collection[int] = (),
) -> list[tuple[Any, ...]]:
    """Return the rows of :func:`counted_in_blocks`, and those of the entries of reported runs. One more query."""
    reported = count(entries.filter(reported_run__isnull=False))
    return [*counted_in_blocks(entries, count, *made_from, hidden=hidden), *reported]


def _in_parts(entries: QuerySet[Entry]) -> Iterator[QuerySet[Entry]]:
    """Yield the entries of each :data:`BLOCK` submissions, by their numbers.

    These are read first: databases misjudge other conditions, and would read the answers of all submissions.
    """
    numbers = list(entries.order_by("submission").values_list("submission", flat=True)) or [0]
    for first in range(0, len(numbers), BLOCK):
        yield Entry.objects.filter(submission__in=numbers[first : first + BLOCK])
