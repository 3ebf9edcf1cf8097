"""The boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import get_object_or_404, render

from benchmark_tasks.models import Suite, SuiteVersion
from leaderboard.board.board import (
    DEFAULT_SORT,
    SORT_KEYS,
    board_rows,
    categories_of,
    visible_entries,
)
from leaderboard.board.labels import shown_judge
from leaderboard.filters import BoardFilter
from leaderboard.http import asked_sort, asked_version, query_with, sort_columns
from leaderboard.runs.action_charts import has_trajectories

if TYPE_CHECKING:
    from typing import Any

    from django.http import HttpRequest, HttpResponse, QueryDict

    from benchmark_tasks.models import Category


def board_default(request: HttpRequest) -> HttpResponse:
    """The first suite's board, at the site's root."""
    suite = Suite.objects.first()
    if suite is None:
        return render(request, "leaderboard/no_suites.html")
    return _board(request, suite)


def board(request: HttpRequest, suite: str) -> HttpResponse:
    """One suite's board, overall or in one category, as the address asks."""
    return _board(request, get_object_or_404(Suite, slug=suite))


def _board(request: HttpRequest, suite: Suite) -> HttpResponse:
    version = asked_version(request, suite)
    if version is None:
        return render(request, "leaderboard/board_empty.html", {"suite": suite})
    categories = categories_of(version)
    category = next((each for each in categories if each.slug == request.GET.get("category")), None)
    if request.GET.get("category") and category is None:
        raise Http404("This suite has no task in that category.")
    found = BoardFilter(request.GET, queryset=visible_entries().filter(suite_version=version))
    rows = board_rows(found.qs, category=category, sort=asked_sort(request.GET, SORT_KEYS, DEFAULT_SORT))
    context = {
        "suite": suite,
        "version": version,
        "other_versions": _other_versions(suite, version),
        "filter": found,
        "kept": [(name, request.GET.get(name, "")) for name in ("category", "sort", "version")],
        "category": category,
        "chips": _chips(request.GET, categories, category),
        "columns": sort_columns(request.GET, SORT_KEYS, DEFAULT_SORT),
        "rows": [row for row in rows if not row.calibration],
        "samples": [row for row in rows if row.calibration],
        "task_count": version.revisions.count(),
        "judge": shown_judge(suite.pk),
        "has_actions": has_trajectories(version),
    }
    return render(request, "leaderboard/board.html", context)


def _other_versions(suite: Suite, shown: SuiteVersion) -> list[dict[str, Any]]:
    """The other versions on which something is published: their rows are not comparable with these."""
    published = visible_entries().exclude(suite_version=shown).values("suite_version")
    versions = SuiteVersion.objects.filter(suite=suite, pk__in=published)
    return [{"number": version.number, "query": f"?version={version.number}"} for version in versions]


def _chips(params: QueryDict, categories: list[Category], chosen: Category | None) -> list[dict[str, Any]]:
    chips = [{"title": "All categories", "query": query_with(params, category=None), "active": chosen is None}]
    for category in categories:
        address = query_with(params, category=category.slug)
        chips.append({"title": category.title, "query": address, "active": category == chosen})
    return chips
