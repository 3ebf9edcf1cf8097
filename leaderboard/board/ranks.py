"""Compute the rank bands of a board's rows and store them in their metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.db.models import F, Q

from benchmark_tasks.domain.queries import revisions_of
from leaderboard.board.row import LEAST_TASKS
from leaderboard.board.rows import MOST_RANKED, visible_entries
from leaderboard.models import BoardState, EntryMetric
from leaderboard.statistics.paired import rank_bands
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmark_tasks.models import TaskRevision
    from leaderboard.statistics.coefficients import Array


def rank_version(version_id: int) -> bool:
    """Compute the rank bands of a board's rows, overall and in each category; return False if they are up to date."""
    state = BoardState.objects.filter(pk=version_id, ranked__lt=F("results")).select_related("suite_version").first()
    if state is None:
        return False
    revisions = list(revisions_of(state.suite_version))
    rows = visible_entries().filter(suite_version=version_id, kind=Kind.RANKED)
    # One row a system: its other runs would crowd the ranks of its competitors.
    leading = EntryMetric.objects.filter(entry__in=rows, category=None, represents__isnull=False)
    best = leading.filter(tests_rate__isnull=False).order_by("-tests_rate")
    marks = dict(best.values_list("entry", "entry__marks__tests")[:MOST_RANKED])
    scores = np.array([_scores(each, len(revisions)) for each in marks.values()]).reshape(len(marks), len(revisions))
    bands: dict[tuple[int, int | None], tuple[int, int] | None] = {}
    for category, tasks in _ranked_categories(revisions, ~np.isnan(scores).all(axis=0)):
        papers = [revisions[task].task.paper_id for task in tasks]
        found = rank_bands(scores[:, tasks], papers)
        bands |= {(entry, category): band for entry, band in zip(marks, found, strict=True)}
    concerned = EntryMetric.objects.filter(Q(entry__in=list(marks)) | Q(rank_from__isnull=False))
    # Row by row: an update of many rows could deadlock with a recount that holds one of them and waits for another.
    for metric in list(concerned.filter(entry__suite_version=version_id)):
        first, last = bands.get((metric.entry_id, metric.category_id)) or (None, None)
        if (metric.rank_from, metric.rank_to) != (first, last):
            EntryMetric.objects.filter(pk=metric.pk).update(rank_from=first, rank_to=last)
    # Changes made meanwhile are computed by the next job or by the sweep.
    rates = [None if np.isnan(task).all() else float(np.nanmean(task)) for task in scores.T]
    BoardState.objects.filter(pk=version_id).update(ranked=state.results, changed=F("changed") + 1, pass_rates=rates)
    return True


def rank_outdated() -> int:
    """Compute the rank bands of every board whose results changed since the last computation; return how many."""
    outdated = BoardState.objects.filter(ranked__lt=F("results")).values_list("pk", flat=True)
    return sum(rank_version(pk) for pk in list(outdated))


def _scores(marks: Sequence[float | None] | None, tasks: int) -> Array:
    if not marks:
        return np.full(tasks, np.nan)
    return np.array([np.nan if share is None else share for share in marks], dtype=np.float64)


def _ranked_categories(revisions: Sequence[TaskRevision], known: Array) -> Iterator[tuple[int | None, list[int]]]:
    """Yield id (overall: None) and places of the tasks of each category with enough tasks of ``known`` results."""
    places: dict[int | None, list[int]] = {None: []}
    for place, each in enumerate(revisions):
        for key in {None, each.category_id} if known[place] else ():
            places.setdefault(key, []).append(place)
    for category, tasks in places.items():
        if len(tasks) >= LEAST_TASKS:
            yield category, tasks
