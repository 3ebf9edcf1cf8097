"""How far raters agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.agreement.types import LEAST_ITEMS
from leaderboard.agreement_forms import AgreementFilterForm
from leaderboard.closing import AnswersClosedError, closed, closes
from leaderboard.domain.agreement import RaterPair, UnknownChoiceError, items_of_cell
from leaderboard.domain.agreement_cache import Known, answered, known
from leaderboard.domain.agreement_queue import known_or_queued
from leaderboard.domain.agreement_raters import REPORTED_HUMANS, shown_systems, suite_categories
from leaderboard.domain.agreement_report import Asked, read_report
from leaderboard.domain.agreement_texts import (
    accuracy_lines,
    people_lines,
    rate_lines,
    sampling_sentence,
    statistic_lines,
)
from leaderboard.http import query_with

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse, QueryDict

    from leaderboard.domain.agreement_raters import Rater
    from leaderboard.domain.agreement_report import Report

COMPUTING_SECONDS: Final = 1.5
LISTED: Final = 500


@closes
@require_safe
def agreement(request: HttpRequest, suite: str) -> HttpResponse:
    """Every pair of raters of a suite, as ``?category=&system=&inputs=&binary=&samples=&first=&second=&cell=`` asks.

    With ``part`` only the results, which a page asks for again while a worker computes them. To somebody who labels an
    answer of the suite, numbers of many answers are open, and what may be a single one is not.
    """
    shown = get_object_or_404(Suite, slug=suite)
    params = request.GET.copy()
    part = bool(params.pop("part", None))
    asked = _asked(params)
    shut = closed(request, shown.pk)
    if shut and (asked.narrowed or params.get("cell")):
        raise AnswersClosedError(shown.pk)
    try:
        report = read_report(suite=shown, asked=asked)
    except UnknownChoiceError as error:
        raise Http404(str(error)) from error
    context = {
        "suite": shown,
        "closed": shut,
        "binary": asked.binary,
        "scope": report.scope,
        "chosen": asked.first or asked.second,
        "all_pairs": query_with(params, first=None, second=None, cell=None),
        "binary_view": query_with(params, binary="1", cell=None),
        "cell": _cell(params, report),
        "reported_humans": bool(report.ratings.labels.get(REPORTED_HUMANS.slug)),
        **_results(shown, asked, report, params, linked=shut is None),
    }
    if part:
        return render(request, "leaderboard/agreement_results.html", context)
    form = AgreementFilterForm(params, categories=suite_categories(shown), systems=shown_systems(shown))
    return render(request, "leaderboard/agreement.html", {**context, "form": form})


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


def _results(suite: Suite, asked: Asked, report: Report, params: QueryDict, *, linked: bool) -> dict[str, Any]:
    """The results that are known, and whether a worker computes newer ones; where none listens, the page does."""
    found = known(report.questions)
    if not known_or_queued(suite=suite, asked=asked, report=report, found=found):
        found = answered(report.questions, seconds=COMPUTING_SECONDS)
    count = len(report.pairs)
    pairs = [
        _shown_pair(params, pair, result, linked=linked)
        for pair, result in zip(report.pairs, found[:count], strict=True)
        # Few answers tell each one's labels to whoever must not know them.
        if linked or len(pair.pairs) >= LEAST_ITEMS
    ]
    whole = not (asked.binary or asked.first or asked.second) and linked
    return {
        "pairs": pairs,
        "whole": whole,
        "people": _shown_people(found[count]) if whole else None,
        "judges": [
            _shown_judge(judge, result)
            for judge, result in zip(report.judges, found[count + 1 :], strict=True)
            if whole
        ],
        "computing": any(result is None or not result.current for result in found),
        "part_query": query_with(params, part="1"),
    }


def _shown_pair(params: QueryDict, pair: RaterPair, result: Known | None, *, linked: bool) -> dict[str, Any]:
    matrix = pair.matrix()
    address = {"first": pair.first.slug, "second": pair.second.slug}
    rows = [
        {
            "label": row,
            "cells": [
                {
                    "label": column,
                    "count": count,
                    "query": query_with(params, **address, cell=f"{row},{column}") if linked else "",
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
        "lines": None if result is None else statistic_lines(result.value),
        "lines_n": None if result is None else result.value.n,
        "result": result,
    }


def _shown_people(result: Known | None) -> dict[str, Any] | None:
    """Annotators among themselves; None where nobody labelled anything."""
    if result is None or not result.value.people:
        return None
    return {"facts": result.value, "lines": people_lines(result.value), "result": result}


def _shown_judge(judge: Rater, result: Known | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"judge": judge, "result": result}
    if result is not None:
        trust = result.value
        shown |= {
            "facts": trust,
            "classes": accuracy_lines(trust),
            "rates": rate_lines(trust),
            "sampling": sampling_sentence(trust),
        }
    return shown


def _cell(params: QueryDict, report: Report) -> dict[str, Any] | None:
    """The answers in the asked cell of the one pair that is shown. Raises Http404 for a cell that it has not."""
    asked = params.get("cell", "")
    if not asked:
        return None
    row, _, column = asked.partition(",")
    pair = report.pairs[0] if len(report.pairs) == 1 else None
    if pair is None or not {row, column} <= set(pair.labels):
        raise Http404(f"“{asked[:20]}” is not a cell of a table that is shown here. Open one from its table.")
    items = items_of_cell(report.ratings, pair, (row, column))
    return {
        "row": row,
        "column": column,
        "first": pair.first,
        "second": pair.second,
        "items": items[:LISTED],
        "count": len(items),
        "close": query_with(params, cell=None),
    }
