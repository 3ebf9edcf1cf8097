"""How far raters agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.agreement_forms import AgreementFilterForm
from leaderboard.domain.agreement import (
    RaterPair,
    UnknownChoiceError,
    check_raters,
    compared,
    items_of_cell,
    rater_pairs,
    read_scope,
)
from leaderboard.domain.agreement_raters import REPORTED_HUMANS, load_ratings, shown_systems, suite_categories
from leaderboard.domain.agreement_texts import statistic_lines
from leaderboard.http import query_with

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse, QueryDict

    from leaderboard.agreement.types import PairAgreement
    from leaderboard.domain.agreement_raters import Ratings, Scope

COMPUTING_SECONDS: Final = 1.5
LISTED: Final = 500


@require_safe
def agreement(request: HttpRequest, suite: str) -> HttpResponse:
    """Every pair of raters of a suite, as ``?category=&system=&inputs=&binary=&samples=&first=&second=&cell=`` asks."""
    shown = get_object_or_404(Suite, slug=suite)
    params = request.GET
    binary, first, second = bool(params.get("binary")), params.get("first", ""), params.get("second", "")
    try:
        scope = _scope(shown, params)
        check_raters(first, second)
    except UnknownChoiceError as error:
        raise Http404(str(error)) from error
    ratings = load_ratings(suite=shown, scope=scope)
    pairs = rater_pairs(ratings, binary=binary, first=first, second=second)
    results = compared(pairs, seconds=COMPUTING_SECONDS)
    form = AgreementFilterForm(params, categories=suite_categories(shown), systems=shown_systems(shown))
    context = {
        "suite": shown,
        "form": form,
        "binary": binary,
        "scope": scope,
        "chosen": first or second,
        "all_pairs": query_with(params, first=None, second=None, cell=None),
        "binary_view": query_with(params, binary="1", cell=None),
        "pairs": [_shown_pair(params, pair, result) for pair, result in zip(pairs, results, strict=True)],
        "cell": _cell(params, ratings, pairs),
        "reported_humans": bool(ratings.labels.get(REPORTED_HUMANS.slug)),
    }
    return render(request, "leaderboard/agreement.html", context)


def _scope(suite: Suite, params: QueryDict) -> Scope:
    return read_scope(
        suite=suite,
        category=params.get("category", ""),
        system=params.get("system", ""),
        inputs=params.get("inputs", ""),
        samples=bool(params.get("samples")),
    )


def _shown_pair(params: QueryDict, pair: RaterPair, result: PairAgreement | None) -> dict[str, Any]:
    matrix = pair.matrix()
    address = {"first": pair.first.slug, "second": pair.second.slug}
    rows = [
        {
            "label": row,
            "cells": [
                {
                    "label": column,
                    "count": count,
                    "query": query_with(params, **address, cell=f"{row},{column}"),
                    "agrees": row == column,
                }
                for column, count in zip(pair.labels, counts, strict=True)
            ],
            "total": sum(counts),
        }
        for row, counts in zip(pair.labels, matrix, strict=True)
    ]
    return {
        "first": pair.first,
        "second": pair.second,
        "query": query_with(params, **address, cell=None),
        "labels": pair.labels,
        "rows": rows,
        "totals": [sum(column) for column in zip(*matrix, strict=True)],
        "n": len(pair.pairs),
        "papers": len({each.cluster for each in pair.pairs}),
        "abstained": pair.abstained,
        "lines": None if result is None else statistic_lines(result),
    }


def _cell(params: QueryDict, ratings: Ratings, pairs: list[RaterPair]) -> dict[str, Any] | None:
    """The answers in the asked cell of the one pair that is shown. Raises Http404 for a cell that it has not."""
    asked = params.get("cell", "")
    if not asked:
        return None
    row, _, column = asked.partition(",")
    pair = pairs[0] if len(pairs) == 1 else None
    if pair is None or not {row, column} <= set(pair.labels):
        raise Http404(f"“{asked[:20]}” is not a cell of a table that is shown here. Open one from its table.")
    items = items_of_cell(ratings, pair, (row, column))
    return {
        "row": row,
        "column": column,
        "first": pair.first,
        "second": pair.second,
        "items": items[:LISTED],
        "count": len(items),
        "close": query_with(params, cell=None),
    }
