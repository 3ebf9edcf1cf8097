"""Make the figures from a computed report: Table 5, confusion matrices, Figures 5, 6 and 7."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from leaderboard.board.actions import ACTIONS
from leaderboard.insight.analysis import charts
from leaderboard.insight.analysis.charts import Part, Series
from leaderboard.insight.analysis.figure import Column, Figure
from leaderboard.insight.analysis.paper import FIGURE_7, SUITE, TABLE_5
from reviews.enums import ErrorClass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaderboard.insight.analysis.data import SuiteResults
    from leaderboard.insight.analysis.figure import Cell

_SOURCES: Final = {"measured": "measured here", "reported": "reported runs", "paper": "paper's Table 5"}
_TERMS: Final = (
    Column("fit", "Fit"),
    Column("term", "Term"),
    Column("coefficient", "Coefficient", 3),
    Column("error", "Std error", 3),
    Column("z", "z", 2),
    Column("p", "p", 3),
    Column("low", "95 % from", 3),
    Column("high", "to", 3),
    Column("clustered_error", "Std error by paper", 3),
    Column("clustered_p", "p by paper", 3),
)
_FEW_PAPERS: Final = 20
"""With fewer papers, errors clustered by paper are too small."""
_LABEL_COLORS: Final = {"CC": charts.GOOD, "LC": charts.MIDDLE, "LI": charts.BAD, "rest": charts.BAD}


def regression(results: SuiteResults) -> Figure:
    """Make Table 5: passing by repository structure and model; our two fits and the paper's."""
    fits: Mapping[str, Any] = (results.report.data or {}).get("regressions", {})
    rows: list[tuple[Cell, ...]] = []
    notes = []
    for source, found in fits.items():
        if found is None:
            continue
        rows += [(_SOURCES[source], *(term[column] for column in _TERM_FIELDS)) for term in found["terms"]]
        notes.append(_fit_note(_SOURCES[source], found))
    of_paper = results.version.suite.slug == SUITE
    missing = results.report.missing or ("" if notes else "No published answer has an outcome yet.")
    if notes and not rows:
        missing, notes = " ".join(notes), []
    if of_paper:
        rows += [(_SOURCES["paper"], *term, None, None) for term in TABLE_5]
    return Figure(
        columns=_TERMS,
        rows=tuple(rows),
        notes=(*notes, *_computed(results)),
        differences=(_TABLE_5,) if of_paper else (),
        missing=missing,
        chart=partial(_forest, rows) if rows else None,
    )


_TABLE_5: Final = (
    "Table 5 cannot be recomputed: its repositories' metrics and the outcomes of its 84 answers are not published "
    "together. The paper does not define directory imbalance, nor what is standardised; here, too, GPT-4.1 is the "
    "reference, and docs/analysis.md lists the choices made."
)


_TERM_FIELDS: Final = ("name", "coefficient", "error", "z", "p", "low", "high", "clustered_error", "clustered_p")


def _fit_note(source: str, found: Mapping[str, Any]) -> str:
    text = (
        f"{source.capitalize()}: {found['answers']} answers to {found['tasks']} tasks of {found['papers']} papers, "
        f"{found['passes']} passed"
    )
    text += f"; the reference is {found['reference']}." if found["terms"] else f". No numbers: {found['why']}."
    if found["left_out"]:
        text += f" Not used: {'; '.join(found['left_out'])}."
    if found["terms"] and found["papers"] < _FEW_PAPERS:
        text += f" With only {found['papers']} papers the errors by paper are too small."
    return text


def _forest(rows: Sequence[tuple[Any, ...]]) -> charts.Chart:
    names = list(dict.fromkeys(row[1] for row in rows))
    series = []
    looks = ((charts.GOOD, "circle", -0.22), (charts.BAD, "diamond-open", 0.0), (charts.MUTED, "x", 0.22))
    for title, (color, symbol, shift) in zip(_SOURCES.values(), looks, strict=True):
        chosen = [row for row in rows if row[0] == title]
        if not chosen:
            continue
        texts = [f"{row[1]}, {title}: {row[2]:.2f}, 95 % interval {row[6]:.2f} to {row[7]:.2f}" for row in chosen]
        places = [names.index(row[1]) + shift for row in chosen]
        series.append(
            Series(
                title,
                places,
                [row[2] for row in chosen],
                texts,
                color,
                symbol,
                [row[6] for row in chosen],
                [row[7] for row in chosen],
            )
        )
    return charts.dots(names, series, title="coefficient (log odds), with its plain 95 % interval", zeroline=True)


def confusion(results: SuiteResults) -> Figure:
    """Compare every two raters that give CC, LC and LI to the same answers."""
    return _confusion(results, "pairs", ("CC", "LC", "LI"))


def binary_confusion(results: SuiteResults) -> Figure:
    """Compare every two raters, with labels and outcomes as CC against the rest."""
    return _confusion(results, "binary_pairs", ("CC", "rest"))


def _confusion(results: SuiteResults, kind: str, labels: tuple[str, ...]) -> Figure:
    pairs = (results.report.data or {}).get(kind, [])
    rows = [
        (pair["first"], pair["second"], label, *counts, sum(counts), _percent(pair["agreement"]), pair["kappa"])
        for pair in pairs
        for label, counts in zip(pair["labels"], pair["matrix"], strict=True)
    ]
    return Figure(
        columns=(
            Column("first", "One rater"),
            Column("second", "Other rater"),
            Column("first_says", "One labels"),
            *(Column(f"second_says_{label}", f"Other labels {label}", 0) for label in labels),
            Column("answers", "Answers", 0),
            Column("agreement_percent", "Pair agrees, %", 1),
            Column("kappa", "Pair's κ", 3),
        ),
        rows=tuple(rows),
        notes=_computed(results),
        missing=results.report.missing or ("" if rows else "No two raters labelled the same published answer."),
        chart=partial(_confusion_chart, rows, labels) if rows else None,
    )


def _confusion_chart(rows: Sequence[tuple[Any, ...]], labels: Sequence[str]) -> charts.Chart:
    end = 3 + len(labels)
    shown = [row for row in rows if row[end]][: charts.MOST_ROWS]
    names = [f"{row[2]}: {row[0]} / {row[1]}" for row in shown]
    parts = [
        Part(
            label,
            [100 * row[3 + place] / row[end] for row in shown],
            [f"{row[0]} {row[2]}, {row[1]} {label}: {row[3 + place]} of {row[end]} answers" for row in shown],
            _LABEL_COLORS[label],
        )
        for place, label in enumerate(labels)
    ]
    return charts.stacked(names, parts, title="% of answers, by the other's label")


def actions(results: SuiteResults) -> Figure:
    """Make Figure 5: shares of actions of each agent."""
    return _actions(results, "shares", "% of the agent's actions", "No published answer's steps are known.")


def outcomes(results: SuiteResults) -> Figure:
    """Make Figure 6: mean numbers of actions for one answer, by the outcome of its tests."""
    missing = "No published answer whose steps are known has an outcome."
    return _actions(results, "outcomes", "mean number of actions for one answer", missing)


def _actions(results: SuiteResults, kind: str, title: str, missing: str) -> Figure:
    percent = kind == "shares"
    every = (results.report.data or {}).get(kind, [])
    bars = every[: results.most]
    return Figure(
        columns=(
            Column("name", "System" if percent else "Unit tests"),
            *(Column(action, f"{action}, %" if percent else action, 1) for action in ACTIONS),
            Column("actions", "Actions in all", 0),
            Column("answers", "Answers", 0),
        ),
        rows=tuple((bar["name"], *bar["numbers"], bar["total"], bar["answers"]) for bar in bars),
        addresses=tuple(bar["address"] for bar in bars),
        known=len(every),
        notes=(
            *([f"The chart shows the first {charts.MOST_ROWS}."] if len(every) > charts.MOST_ROWS else []),
            *_computed(results),
        ),
        differences=(_NO_STEPS,) if results.version.suite.slug == SUITE else (),
        missing=results.report.missing or ("" if bars else missing),
        chart=partial(_actions_chart, bars[: charts.MOST_ROWS], title) if bars else None,
    )


_NO_STEPS: Final = "Reported runs come without their agents' steps, so the paper's own bars cannot be redrawn."


def _actions_chart(bars: Sequence[Mapping[str, Any]], title: str) -> charts.Chart:
    parts = [
        Part(
            action,
            [bar["numbers"][place] for bar in bars],
            [f"{bar['name']}, {action}: {bar['numbers'][place]:.1f}" for bar in bars],
            f"var(--action-{action})",
        )
        for place, action in enumerate(ACTIONS)
    ]
    return charts.stacked([bar["name"] for bar in bars], parts, title=title)


def errors(results: SuiteResults) -> Figure:
    """Make Figure 7: the errors that annotators marked in answers."""
    data = results.report.data or {}
    counts, marked = data.get("errors", {}), data.get("marked", 0)
    total = sum(counts.values())
    printed = FIGURE_7 if results.version.suite.slug == SUITE else {}
    rows = [
        (kind.label, counts.get(kind, 0), 100 * counts.get(kind, 0) / total if total else None)
        + ((printed.get(kind),) if printed else ())
        for kind in ErrorClass
    ]
    shown = bool(total or printed)
    return Figure(
        columns=(
            Column("error", "What went wrong"),
            Column("answers", "Answers", 0),
            Column("share_percent", "Share of marks, %", 1),
            *((Column("paper_percent", "Paper's Figure 7, %", 1),) if printed else ()),
        ),
        rows=tuple(rows) if shown else (),
        notes=(
            *([f"{total} marks on {marked} answers."] if total else []),
            *_computed(results),
        ),
        differences=(_NO_ERROR_FILES,) if printed else (),
        missing=results.report.missing or ("" if total else _NO_MARKS),
        chart=partial(_errors_chart, rows) if shown else None,
    )


_NO_MARKS: Final = "No annotator has marked an error on a published answer yet."
_NO_ERROR_FILES: Final = (
    "The paper's text gives three of its five shares; the other two are 15.5 % together. Upstream's files hold no "
    "marks, so none of the five can be recounted."
)


def _errors_chart(rows: Sequence[tuple[Any, ...]]) -> charts.Chart:
    names = [row[0] for row in rows]
    kinds = (("measured here", 2, charts.GOOD), ("paper's Figure 7", 3, charts.MUTED))
    series = [
        Part(name, [row[place] or 0 for row in rows], [f"{row[0]}, {name}: {_of(row[place])}" for row in rows], color)
        for name, place, color in kinds
        if any(len(row) > place and row[place] is not None for row in rows)
    ]
    return charts.bars(names, series, title="% of marks")


def _computed(results: SuiteResults) -> tuple[str, ...]:
    return (results.report.note,) if results.report.note else ()


def _of(share: float | None) -> str:
    return "not printed" if share is None else f"{share:.1f} %"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
