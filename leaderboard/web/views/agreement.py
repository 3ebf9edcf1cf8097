"""Show rater agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.utils.text import get_text_list
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite, Task
from evaluator.outcomes import Outcome
from leaderboard.board.query_strings import query_with
from leaderboard.board.visibility import closed, closed_submissions
from leaderboard.insight.agreement.raters import AgreementFilterForm, Selection, UnknownChoiceError
from leaderboard.insight.agreement.report import all_raters, cell_of, read_report
from leaderboard.insight.agreement.texts import (
    accuracy_lines,
    annotators_lines,
    rate_lines,
    sampling_sentence,
    statistic_lines,
)
from leaderboard.insight.analysis.findings import agreeing
from leaderboard.insight.published_answers import published_answers
from leaderboard.models import ReportedRun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpRequest, HttpResponse, QueryDict

    from leaderboard.insight.agreement.report import RaterPair
    from leaderboard.insight.published_answers import PassWithoutAnswer


@require_safe
def agreement(request: HttpRequest, suite: str) -> HttpResponse:
    """Show the agreement of a suite's raters.

    Query: ``?category=&system=&inputs=&binary=&samples=&first=&second=&cell=``. Submissions hidden from a viewer who is
    labelling are not counted.
    """
    shown = get_object_or_404(Suite, slug=suite)
    params = request.GET
    wanted = _wanted(params)
    hidden, named = closed_submissions(request), params.get("cell", "")
    try:
        report = read_report(suite=shown, selection=wanted, hidden=hidden)
        cell = cell_of(report.pairs, named, suite=shown, selection=wanted, hidden=hidden) if named else None
    except UnknownChoiceError as error:
        raise Http404(str(error)) from error
    annotators, judges = all_raters(report, selection=wanted)
    context = {
        "suite": shown,
        "closed": closed(request, suite=shown),
        "binary": wanted.binary,
        "samples": wanted.samples,
        "chosen": wanted.first or wanted.second,
        "all_pairs": query_with(params, first=None, second=None, cell=None),
        "binary_view": query_with(params, binary="1", cell=None),
        "cell": cell,
        "close_cell": query_with(params, cell=None),
        "reported_annotators": report.reported_annotators,
        "published": published_answers(shown.slug),
        "form": AgreementFilterForm(params, suite=shown),
        "filtered": any((wanted.category, wanted.system, wanted.inputs, wanted.binary, wanted.samples)),
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


@require_safe
def published(request: HttpRequest, suite: str) -> HttpResponse:
    """Show where published verdicts differ from those of our sealed tests on the same answers, and which is right."""
    shown = get_object_or_404(Suite, slug=suite)
    found = published_answers(shown.slug)
    tasks = {task.slug: task for task in Task.objects.filter(suite=shown).select_related("paper", "suite")}
    runs = set(ReportedRun.objects.filter(suite=shown).values_list("slug", flat=True))
    rows = [{"is": each, "task": tasks.get(each.task), "has_run": each.run in runs} for each in found.disagreements]
    context = {
        "suite": shown,
        "found": found,
        "counts": found.counts(),
        "rows": rows,
        "two_runs": get_text_list(list(found.with_second_run), "and"),
        "unanswered": _listed(found.passes_without_answer),
        "passed_by_second_run": _listed(
            each for each in found.passes_without_answer if each.second_run is Outcome.PASSED
        ),
    }
    return render(request, "leaderboard/published_answers.html", context)


def _listed(passes: Iterable[PassWithoutAnswer]) -> str:
    return get_text_list([f"{each.task} of {each.system}" for each in passes], "and")


def _wanted(params: QueryDict) -> Selection:
    return Selection(
        samples=bool(params.get("samples")),
        binary=bool(params.get("binary")),
        **{name: params.get(name, "") for name in ("category", "system", "inputs", "first", "second")},
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
                    "labels": f"{pair.first.name} {row}, {pair.second.name} {column}",
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
        "finding": agreeing(
            [{"first": pair.first.name, "second": pair.second.name, "n": result.n, "matrix": result.matrix}]
        ),
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
