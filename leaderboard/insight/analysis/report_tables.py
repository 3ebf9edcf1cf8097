"""Make the figures from a computed report: Table 5, confusion matrices, Figures 5, 6 and 7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from leaderboard.board.actions import ACTIONS
from leaderboard.insight.analysis import axes, charts, findings
from leaderboard.insight.analysis.charts import Bars, Dots, Part, Point, Series
from leaderboard.insight.analysis.figure import Column, Figure
from leaderboard.insight.analysis.findings import Share
from leaderboard.insight.analysis.paper import FIGURE_7, SUITE, TABLE_5
from leaderboard.insight.analysis.runs import computed_note
from leaderboard.statistics.intervals import Z, wilson
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
_LABEL_COLORS: Final = {"CC": charts.GOOD, "LC": charts.MIDDLE, "LI": charts.BAD}


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
    missing = results.report.missing or ("" if notes else "no published answer has an outcome yet")
    if notes and not rows:
        missing = "the published answers are too few or too alike"
    if of_paper:
        rows += [(_SOURCES["paper"], *term, None, None) for term in TABLE_5]
    return Figure(
        columns=_TERMS,
        rows=tuple(rows),
        finding=_effects(fits) if rows else "",
        notes=(*notes, *computed_note(results)),
        differences=(_TABLE_5,) if of_paper else (),
        missing=missing,
        chart=_forest(rows) if rows else None,
    )


def _effects(fits: Mapping[str, Any]) -> str:
    """Describe the fit of this site's own runs; without one, that of reported runs, or the paper's own table."""
    for source, found in fits.items():
        if found and found["terms"]:
            terms = [(term["name"], term["clustered_p"]) for term in found["terms"] if term["name"] != _CONSTANT]
            return findings.effects(f"the fit of {'runs ' if source == 'measured' else ''}{_SOURCES[source]}", terms)
    return findings.effects(
        f"the {_SOURCES['paper']}", [(term.name, term.p) for term in TABLE_5 if term.name != _CONSTANT]
    )


_CONSTANT: Final = "constant"


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


def _forest(rows: Sequence[tuple[Any, ...]]) -> Dots:
    names = list(dict.fromkeys(row[1] for row in rows))
    series = []
    looks = ((charts.GOOD, "circle"), (charts.GOOD, "diamond"), (charts.MUTED, "cross"))
    for title, (color, symbol) in zip(_SOURCES.values(), looks, strict=True):
        points = [_coefficient(row, names.index(row[1])) for row in rows if row[0] == title]
        series += [Series(title, points, color, symbol)] if points else []
    bounds = [bound for each in series for point in each.points for bound in (point.low or 0.0, point.high or 0.0)]
    axis = axes.numbers("coefficient (log odds)", min(0.0, *bounds), max(0.0, *bounds))
    return Dots(names, series, axis, mark=0.0)


def _coefficient(row: tuple[Any, ...], place: int) -> Point:
    """Make the point of a term, with the interval by paper if there is one."""
    _, name, coefficient, _, _, _, low, high, clustered, _ = row
    if clustered is not None:
        low, high = coefficient - Z * clustered, coefficient + Z * clustered
    text = f"{name}, {row[0]}: {coefficient:.2f}, 95 % interval {low:.2f} to {high:.2f}"
    return Point(place, coefficient, text, low, high)


def confusion(results: SuiteResults) -> Figure:
    """Compare every two raters that give CC, LC and LI to the same answers."""
    pairs = (results.report.data or {}).get("pairs", [])
    rows = [
        (pair["first"], pair["second"], label, *counts, sum(counts), _percent(pair["agreement"]), pair["kappa"])
        for pair in pairs
        for label, counts in zip(pair["labels"], pair["matrix"], strict=True)
    ]
    several = len(pairs) > 1
    drawn = [
        (f"{row[2]} by {findings.inside(row[0])}" + f", then by {findings.inside(row[1])}" * several, row[1], row[3:6])
        for row in rows
    ]
    return Figure(
        columns=(
            Column("first", "One rater"),
            Column("second", "Other rater"),
            Column("first_says", "One labels"),
            *(Column(f"second_says_{label}", f"Other labels {label}", 0) for label in _LABEL_COLORS),
            Column("answers", "Answers", 0),
            Column("agreement_percent", "Pair agrees, %", 1),
            Column("kappa", "Pair's κ", 3),
        ),
        rows=tuple(rows),
        finding=findings.agreeing(pairs),
        notes=computed_note(results),
        missing=results.report.missing or ("" if rows else "no two raters labelled the same published answer"),
        chart=_labels_chart(drawn) if drawn else None,
    )


def tests_confusion(results: SuiteResults) -> Figure:
    """Count each rater's labels of the answers that pass their tests, and of those that do not."""
    pairs = (results.report.data or {}).get("tests_pairs", [])
    rows = [
        (pair["tests"], outcome, pair["rater"], *counts, sum(counts))
        for pair in pairs
        for outcome, counts in zip(("passed", "not passed"), pair["matrix"], strict=True)
    ]
    drawn = [(f"{row[1]}: {findings.inside(row[2])}", row[2], row[3:6]) for row in rows]
    return Figure(
        columns=(
            Column("tests", "Tests"),
            Column("outcome", "Outcome"),
            Column("rater", "Rater"),
            *(Column(label, label, 0) for label in _LABEL_COLORS),
            Column("answers", "Answers", 0),
        ),
        rows=tuple(rows),
        finding=findings.tests_against_labels(pairs),
        notes=computed_note(results),
        missing=results.report.missing or ("" if rows else "no published answer has both an outcome and a label"),
        chart=_labels_chart(drawn) if drawn else None,
    )


def _labels_chart(rows: Sequence[tuple[str, str, tuple[int, ...]]]) -> Bars:
    """Draw the ``rows`` (name, the rater who labels, numbers of CC, LC and LI) as shares of their answers."""
    shown = [row for row in rows if sum(row[2])][: charts.MOST_ROWS]
    names = [f"{name} {_number(sum(counts))}" for name, _, counts in shown]
    parts = [
        Part(
            label,
            [100 * counts[place] / sum(counts) for _, _, counts in shown],
            [f"{name}; {rater}: {counts[place]} of {sum(counts)} answers {label}" for name, rater, counts in shown],
            color,
        )
        for place, (label, color) in enumerate(_LABEL_COLORS.items())
    ]
    return Bars(names, parts, axes.percent("% of these answers, by label"))


def contradictions(results: SuiteResults) -> Figure:
    """Count by category the answers on which judge and tests contradict each other."""
    counted = (results.report.data or {}).get("contradictions", [])
    shares = [(each, *_contradicting(each)) for each in counted]
    judges = [(each["tests"], each["judge"]) for each in counted]
    most = max(dict.fromkeys(judges), key=lambda pair: _answers(counted, pair), default=None)
    of_most = sorted((row for row in shares if (row[0]["tests"], row[0]["judge"]) == most), key=lambda row: -row[1])
    notes = (f"The chart shows {most[1]} and {most[0].lower()}.",) if most and len(set(judges)) > 1 else ()
    return Figure(
        columns=(
            Column("category", "Category"),
            Column("tests", "Tests"),
            Column("judge", "Judge"),
            Column("only_tests_accept", "Passed, judge: not CC", 0),
            Column("only_judge_accepts", "Not passed, judge: CC", 0),
            Column("answers", "Answers", 0),
            Column("contradict_percent", "Contradict, %", 1),
            Column("contradict_low", "95 % from", 1),
            Column("contradict_high", "to", 1),
        ),
        rows=tuple(
            (
                *(each["category"], each["tests"], each["judge"], each["only_tests"], each["only_judge"]),
                *(each["answers"], percent, low, high),
            )
            for each, percent, low, high in shares
        ),
        finding=findings.contradictions(
            [Share(each["category"], each["only_tests"] + each["only_judge"], each["answers"]) for each, *_ in of_most]
        ),
        notes=(*notes, *computed_note(results)),
        missing=results.report.missing
        or ("" if counted else "no published answer has both an outcome and a judge's label"),
        chart=_contradictions_chart(of_most) if of_most else None,
    )


_NO_LABELS: Final = "no published answer has both an outcome and a judge's label"


def _answers(counted: Sequence[Mapping[str, Any]], pair: tuple[str, str]) -> int:
    return sum(each["answers"] for each in counted if (each["tests"], each["judge"]) == pair)


def _contradicting(each: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the percentage of answers on which the two contradict each other, with its Wilson interval."""
    number = each["only_tests"] + each["only_judge"]
    low, high = wilson(number, each["answers"])
    return 100 * number / each["answers"], 100 * low, 100 * high


def _contradictions_chart(rows: Sequence[tuple[Mapping[str, Any], float, float, float]]) -> Dots:
    points = [
        Point(
            place,
            percent,
            f"{each['category']}: {each['only_tests']} passed but not CC, {each['only_judge']} CC but not passed, of "
            f"{each['answers']} answers; 95 % interval {low:.0f} to {high:.0f} %",
            low,
            high,
        )
        for place, (each, percent, low, high) in enumerate(rows)
    ]
    names = [f"{each['category']} {_number(each['answers'])}" for each, *_ in rows]
    axis = axes.percent("% of answers that only one of the two accepts")
    return Dots(names, [Series("", points, charts.GOOD)], axis)


def actions(results: SuiteResults) -> Figure:
    """Make Figure 5: shares of actions of each agent."""
    every = (results.report.data or {}).get("shares", [])
    finding = findings.actions(every, ACTIONS)
    return _actions(
        results,
        every,
        finding,
        "% of the agent's actions",
        "no published answer has known steps",
    )


def outcomes(results: SuiteResults) -> Figure:
    """Make Figure 6: mean numbers of actions for one answer, by the outcome of its tests."""
    every = (results.report.data or {}).get("outcomes", [])
    finding = findings.actions_by_outcome(every)
    return _actions(
        results, every, finding, "mean number of actions for one answer", "no answer with known steps has an outcome"
    )


def _actions(
    results: SuiteResults, every: Sequence[Mapping[str, Any]], finding: str, title: str, missing: str
) -> Figure:
    percent = title.startswith("%")
    bars = every[: results.most]
    return Figure(
        columns=(
            Column("name", "System" if percent else "Unit tests"),
            *(Column(action, f"{action}, %" if percent else action, 1) for action in ACTIONS),
            Column("actions", "Actions in all", 0),
            Column("answers", "Answers", 0),
        ),
        rows=tuple((bar["name"], *bar["numbers"], bar["total"], bar["answers"]) for bar in bars),
        finding=finding,
        addresses=tuple(bar["address"] for bar in bars),
        known=len(every),
        notes=(
            *([f"The chart shows the first {charts.MOST_ROWS}."] if len(every) > charts.MOST_ROWS else []),
            *computed_note(results),
        ),
        differences=(_NO_STEPS,) if results.version.suite.slug == SUITE else (),
        missing=results.report.missing or ("" if bars else missing),
        chart=_actions_chart(bars[: charts.MOST_ROWS], title) if bars else None,
    )


_NO_STEPS: Final = "Reported runs come without their agents' steps, so the paper's own bars cannot be redrawn."


def _actions_chart(bars: Sequence[Mapping[str, Any]], title: str) -> Bars:
    percent = title.startswith("%")
    parts = [
        Part(
            action,
            [bar["numbers"][place] for bar in bars],
            [f"{bar['name']}, {action}: {bar['numbers'][place]:.1f}{' %' if percent else ''}" for bar in bars],
            f"action-{action}",
        )
        for place, action in enumerate(ACTIONS)
    ]
    longest = max(sum(bar["numbers"]) for bar in bars)
    axis = axes.percent(title) if percent else axes.numbers(title, 0, longest)
    return Bars([f"{bar['name']} {_number(bar['answers'])}" for bar in bars], parts, axis)


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
        finding=findings.most(
            [(kind.label, counts.get(kind, 0)) for kind in ErrorClass],
            has="is marked most often",
            have="are marked most often",
            things="classes of error",
        ),
        notes=(
            *([f"{total} marks on {marked} answers."] if total else []),
            *computed_note(results),
        ),
        differences=(_NO_ERROR_FILES,) if printed else (),
        missing=results.report.missing or ("" if total else _NO_MARKS),
        chart=_errors_chart(rows) if total else None,
    )


_NO_MARKS: Final = "no annotator has marked an error on a published answer yet"
_NO_ERROR_FILES: Final = (
    "The paper's text gives three of its five shares; the other two are 15.5 % together. Upstream's files hold no "
    "marks, so none of the five can be recounted."
)


def _errors_chart(rows: Sequence[tuple[Any, ...]]) -> Bars:
    kinds = (
        ("measured here", 2, charts.GOOD),
        ("the paper's Figure 7", 3, charts.MUTED),
    )
    parts = [
        Part(name, [row[place] or 0 for row in rows], [f"{row[0]}, {name}: {_of(row[place])}" for row in rows], color)
        for name, place, color in kinds
        if any(len(row) > place and row[place] is not None for row in rows)
    ]
    return Bars([row[0] for row in rows], parts, axes.percent("% of marks"), joined=False)


def _number(answers: int) -> str:
    """Return the number of a row's answers, which no line break divides."""
    return f"(n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{answers})"


def _of(share: float | None) -> str:
    return "not printed" if share is None else f"{share:.1f} %"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
