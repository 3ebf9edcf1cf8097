"""Rater agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.board.query_strings import query_with
from leaderboard.board.visibility import closed, closed_submissions
from leaderboard.insight.agreement.raters import AgreementFilterForm, Asked, UnknownChoiceError
from leaderboard.insight.agreement.report import RaterPair, Report, items_of_cell, read_report
from leaderboard.insight.agreement.texts import (
    accuracy_lines,
    annotators_lines,
    rate_lines,
    sampling_sentence,
    statistic_lines,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest, HttpResponse, QueryDict

    from leaderboard.insight.agreement.raters import Rater
    from leaderboard.insight.agreement.trust import AnnotatorsAgreement, JudgeTrust

LISTED: Final = 500


@require_safe
def agreement(request: HttpRequest, suite: str) -> HttpResponse:
    """Every pair of raters of a suite, as ``?category=&system=&inputs=&binary=&samples=&first=&second=&cell=`` asks.

    The submissions that are hidden from a viewer who is labelling count nowhere.
    """
    shown = get_object_or_404(Suite, slug=suite)
    params = request.GET
    asked = _asked(params)
    try:
        report = read_report(suite=shown, asked=asked, hidden=closed_submissions(request))
    except UnknownChoiceError as error:
        raise Http404(str(error)) from error
    annotators, judges = all_raters(report, asked=asked)
    context = {
        "suite": shown,
        "closed": closed(request, suite=shown),
        "binary": asked.binary,
        "samples": asked.samples,
        "chosen": asked.first or asked.second,
        "all_pairs": query_with(params, first=None, second=None, cell=None),
        "binary_view": query_with(params, binary="1", cell=None),
        "cell": cell_of(request, report.pairs, shown, asked),
        "reported_annotators": report.reported_annotators,
        "form": AgreementFilterForm(params, suite=shown),
        "pairs": [_shown_pair(params, pair) for pair in report.pairs],
        "annotators": annotators,
        "annotators_lines": annotators_lines(report.annotators),
        "judges": [
            {
                "judge": judge,
                "facts": trust,
                "classes": accuracy_lines(trust),
                "rates": rate_lines(trust),
                "sampling": sampling_sentence(trust),
            }
            for judge, trust in judges
        ],
    }
    return render(request, "leaderboard/agreement.html", context)


def all_raters(
    report: Report, *, asked: Asked
) -> tuple[AnnotatorsAgreement | None, tuple[tuple[Rater, JudgeTrust], ...]]:
    """The annotators together (None without any) and each judge against them, where these are about all labels."""
    if asked.binary or asked.first or asked.second:
        return None, ()
    return (report.annotators if report.annotators.number else None), report.judges


def _asked(params: QueryDict) -> Asked:
    return Asked(
        category=params.get("category", ""),
        system=params.get("system", ""),
        inputs=params.get("inputs", ""),
        samples=bool(params.get("samples")),
        binary=bool(params.get("binary")),
        first=params.get("first", ""),
        second=params.get("second", ""),
    )


def _shown_pair(params: QueryDict, pair: RaterPair) -> dict[str, Any]:
    result = pair.result
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
                for column, count in zip(result.labels, counts, strict=True)
            ],
            "total": total,
        }
        for row, counts, total in zip(result.labels, result.matrix, result.marginals[0], strict=True)
    ]
    return {
        "first": pair.first,
        "second": pair.second,
        "query": query_with(params, **address, cell=None),
        "labels": result.labels,
        "rows": rows,
        "totals": result.marginals[1],
        "n": result.n,
        "papers": result.clusters,
        "abstained": pair.abstained,
        "names": f"{pair.first.name} and {pair.second.name}",
        "lines": statistic_lines(result),
    }


def cell_of(request: HttpRequest, pairs: Sequence[RaterPair], suite: Suite, asked: Asked) -> dict[str, Any] | None:
    """The answers in the asked cell of the one pair that is shown. Raises Http404 for a cell that it has not."""
    given = request.GET.get("cell", "")
    if not given:
        return None
    row, _, column = given.partition(",")
    pair = pairs[0] if len(pairs) == 1 else None
    if pair is None or not {row, column} <= set(pair.result.labels):
        raise Http404(f"“{given[:20]}” is not a cell of a table that is shown here. Open one from its table.")
    labels = pair.result.labels
    return {
        "row": row,
        "column": column,
        "first": pair.first,
        "second": pair.second,
        "items": items_of_cell(
            suite=suite,
            asked=asked,
            pair=pair,
            cell=(row, column),
            most=LISTED,
            hidden=closed_submissions(request),
        ),
        "count": pair.result.matrix[labels.index(row)][labels.index(column)],
        "close": query_with(request.GET, cell=None),
    }
