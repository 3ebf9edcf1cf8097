"""Fold the rows of a system into one: its leading row represents its other runs, inputs and trials."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.db.models import Case, F, Value, When

from leaderboard.board.states import board_changed
from leaderboard.models import Entry, EntryMetric
from submissions.enums import Inputs

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import QueryDict

CHOOSING: Final = ("inputs", "system", "since", "until")
"""Filters that choose among a system's rows, in addition to ``show``."""


def may_fold(params: QueryDict) -> bool:
    """Return whether no filter chooses among a system's rows."""
    return params.get("show", "all") in {"", "all"} and not any(params.get(name) for name in CHOOSING)


def folds(params: QueryDict) -> bool:
    """Return whether rows are folded: unless ``?fold=no``, or a filter chooses among a system's rows."""
    return may_fold(params) and params.get("fold") != "no"


def represent(*systems: int) -> None:
    """Choose again which row of each of ``systems`` leads, on every suite version: a row can move to another.

    A row with answers to fewer than all counted tasks leads only if there is no other, and one with reduced inputs only
    if none has full inputs. Of the rest it is the one with the strongest claim, and of equal claims the newest: results
    play no part. Called after the change of a row is committed, so that the later of two concurrent calls sees both.
    """
    with transaction.atomic():
        list(Entry.objects.select_for_update(no_key=True).filter(system__in=systems).order_by("pk").values_list("pk"))
        found = EntryMetric.objects.filter(entry__system__in=systems, category=None)
        partial = Case(When(answered=None, then=Value(0)), default=Value(1))
        reduced = Case(When(entry__inputs=Inputs.FULL, then=Value(0)), default=Value(1))
        newest = F("entry__date").desc(nulls_last=True)
        together = ("entry__system", "suite_version", "listed")
        ordered = found.order_by(*together, partial, reduced, "strength", newest, "-entry")
        changed, entries = set(), defaultdict[int | None, list[int]](list)
        listed = ordered.values_list(*together, "entry", "represents")
        for (_, version, _), rows in groupby(listed, itemgetter(0, 1, 2)):
            first, *others = rows
            for number, same in ((len(others), [first]), (None, others)):
                if outdated := [entry for *_, entry, stored in same if stored != number]:
                    entries[number] += outdated
                    changed.add(version)
        for number, outdated in entries.items():
            EntryMetric.objects.filter(entry__in=outdated).update(represents=number)
        for version in changed:
            board_changed(version, results=True)


def folded(listed: QuerySet[EntryMetric]) -> QuerySet[EntryMetric]:
    """Select the leading row of each system (:func:`represent`)."""
    return listed.filter(represents__isnull=False)
