"""Word the findings of figures from their data: exact for any data, and empty where the data support no claim."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leaderboard.insight.analysis.data import ScoreRow

_MOST_NAMED: Final = 3
_LEVEL: Final = 0.05
"""The level that belongs to 95 % intervals."""


class Share(NamedTuple):
    """``part`` of ``whole`` things with a name; fractional with several trials."""

    name: str
    part: float
    whole: int

    @property
    def words(self) -> str:
        """The share as a sentence has it."""
        return f"{f'{self.part:,.1f}'.removesuffix('.0')} of {self.whole:,}"


def joined(names: Iterable[str], things: str) -> str:
    """List up to three names; more are counted as ``things``."""
    unique = list(dict.fromkeys(names))
    if len(unique) > _MOST_NAMED:
        return f"{len(unique)} {things}"
    return " and ".join(filter(None, (", ".join(unique[:-1]), unique[-1])))


def leader(rows: Sequence[ScoreRow]) -> str:
    """Name the best of ``rows`` with tests, and count the others whose intervals overlap with its own."""
    tested = [row for row in rows if row.tests is not None]
    if not tested:
        return ""
    highest = max(row.tests or 0 for row in tested)
    best = [row for row in tested if row.tests == highest]
    others = [row for row in tested if row.tests != highest]
    first = best[0]
    if len(best) > 1:
        names = joined((row.system for row in best), "systems")
        who = names if len({row.system for row in best}) == len(best) else f"{len(best)} runs of {names}"
        score = _score(first) if len({row.tasks for row in best}) == 1 else f"{first.tests:.0f} % of the tasks"
        return f"{who} pass the most, {score} each"
    if not others:
        return f"{first.system} passes {_score(first)} tasks; there is no other run to compare it with"
    found = f"{first.system} passes the most, {_score(first)}"
    known = [row for row in others if row.high is not None]
    if first.low is None or not known:
        return found
    overlapping = sum((row.high or 0) >= first.low for row in known)
    return f"{found}; {_overlaps(overlapping, len(known))}"


def _overlaps(overlapping: int, others: int) -> str:
    if others == 1:
        return f"the interval of the other run {'overlaps' if overlapping else 'does not overlap'} with its own"
    if overlapping == 1:
        return f"the interval of 1 of {others} other runs overlaps with its own"
    number = {0: f"none of {others}", others: f"all {others}"}.get(overlapping, f"{overlapping} of {others}")
    return f"the intervals of {number} other runs overlap with its own"


def _score(row: ScoreRow) -> str:
    return f"{row.tests:.1f} % of the" if row.passed is None else Share("", row.passed, row.tasks).words


def pass_rates(shares: Sequence[Share]) -> str:
    """Compare categories by the share of answers that pass."""
    known = [share for share in shares if share.whole]
    if len(known) == 1:
        return f"{known[0].words} answers pass, all in {known[0].name}"
    return _range(
        known, "The pass rate is lowest in {}, highest in {}", "The pass rate is the same in all {} categories: {}"
    )


def contradictions(shares: Sequence[Share]) -> str:
    """Compare categories by how often judge and tests contradict each other."""
    known = [share for share in shares if share.whole]
    if len(known) == 1:
        return f"Judge and tests contradict each other on {known[0].words} answers, all in {known[0].name}"
    return _range(
        known,
        "Judge and tests contradict each other least in {}, most in {}",
        "Judge and tests contradict each other equally often in all {} categories: on {}",
    )


def _range(known: Sequence[Share], differing: str, equal: str) -> str:
    if not known:
        return ""
    rates = [share.part / share.whole for share in known]
    low, high = min(rates), max(rates)
    if low == high:
        return equal.format(len(known), f"{100 * low:.0f} % of the answers")
    return differing.format(_those(known, low), _those(known, high))


def _those(known: Sequence[Share], rate: float) -> str:
    found = [share for share in known if share.part / share.whole == rate]
    names = joined((share.name for share in found), "categories")
    return f"{names} ({found[0].words if len(found) == 1 else f'{100 * rate:.0f} % each'})"


class Reduced(NamedTuple):
    """A system's best run with reduced inputs and its best run with full inputs."""

    reduced: ScoreRow
    full: ScoreRow


def reduced_inputs(pairs: Sequence[Reduced]) -> str:
    """Count the systems that pass fewer, or more, tasks with the paper alone."""
    if not pairs:
        return ""
    fewer = sum((pair.reduced.tests or 0) < (pair.full.tests or 0) for pair in pairs)
    more = sum((pair.reduced.tests or 0) > (pair.full.tests or 0) for pair in pairs)
    overlapping = sum(_overlap(pair.reduced, pair.full) for pair in pairs)
    if len(pairs) == 1:
        (pair,) = pairs
        return (
            f"Given the paper alone, {pair.full.system} passes {_score(pair.reduced)} tasks; with everything, "
            f"{_score(pair.full)}; the intervals {'overlap' if overlapping else 'do not overlap'}"
        )
    number = {0: "none", len(pairs): "all"}.get(overlapping, f"{overlapping} of {len(pairs)}")
    verb = "passes" if fewer == 1 else "pass"
    return (
        f"Given the paper alone, {fewer} of {len(pairs)} systems {verb} fewer tasks than with everything, {more} more; "
        f"the intervals of {number} overlap"
    )


def _overlap(one: ScoreRow, other: ScoreRow) -> bool:
    return (one.high or 0) >= (other.low or 0) and (other.high or 0) >= (one.low or 0)


def stricter(rows: Sequence[ScoreRow]) -> str:
    """Count the runs in which judge and annotators label fewer answers CC than pass their tests."""
    found: list[tuple[str, str]] = []
    for rater, shares in (
        ("the judge labels", [(row.tests, row.judge) for row in rows]),
        ("annotators label", [(row.tests, row.human) for row in rows]),
    ):
        known = [(tests, labels[0]) for tests, labels in shares if tests is not None and labels is not None]
        fewer = sum(round(correct, 1) < round(tests, 1) for tests, correct in known)
        if known:
            runs = "" if found else " run" if len(known) == 1 else " runs"
            found.append((rater, f"{fewer} of {len(known)}{runs}"))
    if not found:
        return ""
    (rater, number), *others = found
    text = f"{rater[0].upper()}{rater[1:]} fewer answers CC (correct) than pass their tests in {number}"
    return text + "".join(f", {other.rsplit(' ', 1)[0]} in {count}" for other, count in others)


def agreeing(pairs: Sequence[Mapping[str, Any]]) -> str:
    """Describe the two raters that share the most answers: on how many they agree, and who gives the lower labels."""
    if not pairs:
        return ""
    pair = max(pairs, key=lambda each: each["n"])
    cells = [(row, column, count) for row, line in enumerate(pair["matrix"]) for column, count in enumerate(line)]
    agreed = sum(count for row, column, count in cells if row == column)
    by_second = sum(count for row, column, count in cells if column > row)
    by_first = pair["n"] - agreed - by_second
    first, second = (
        f"the {inside(each)}" if each.startswith("Reported") else inside(each)
        for each in (pair["first"], pair["second"])
    )
    text = f"{first[0].upper()}{first[1:]} and {second} agree on {agreed:,} of {pair['n']:,} answers"
    if agreed == pair["n"]:
        return text
    rest = pair["n"] - agreed
    if by_first == by_second:
        return f"{text}; of the other {rest:,}, each rates {by_first:,} lower than the other does"
    who, lower = (second, by_second) if by_second > by_first else (first, by_first)
    if rest == 1:
        return f"{text}; the other one is rated lower by {who}"
    return f"{text}; of the other {rest:,}, {lower:,} {'is' if lower == 1 else 'are'} rated lower by {who}"


def inside(rater: str) -> str:
    """Return a rater's name as it is written inside a sentence; judges of this site have names of their own."""
    return rater[0].lower() + rater[1:] if rater.startswith(("Reported", "Decisions", "Annotators", "Unit")) else rater


def tests_against_labels(pairs: Sequence[Mapping[str, Any]]) -> str:
    """Count the answers that pass and are labelled wrong, and those that fail and are labelled correct.

    Of the pairs, that of annotators with the most answers is described, else that of a judge.
    """
    if not pairs:
        return ""
    pair = max(pairs, key=lambda each: (each["kind"] == "annotators", sum(map(sum, each["matrix"]))))
    who = "annotators label" if pair["kind"] == "annotators" else "the judge labels"
    (passed, failed), found = pair["matrix"], []
    if sum(passed):
        found.append(f"of {sum(passed):,} answers that pass their tests, {who} {_number(passed[2])} wrong (LI)")
    if sum(failed):
        of = f"of {sum(failed):,} that fail," if found else f"of {sum(failed):,} answers that fail their tests, {who}"
        found.append(f"{of} {_number(failed[0])} correct (CC)")
    return (text := "; ".join(found))[:1].upper() + text[1:]


def _number(count: int) -> str:
    return f"{count:,}" if count else "none"


def best_for_their_cost(front: Sequence[str], known: int) -> str:
    """Name the runs that no cheaper run equals or beats."""
    verb = "is" if len(front) == 1 else "are"
    return f"{joined(front, 'runs')} {verb} the best for the cost, of {known} runs with a known cost"


def later_is_better(points: Iterable[tuple[int, float]]) -> str:
    """Count the pairs of runs in which the later knowledge cutoff has the higher score. ``points``: (month, score)."""
    by_month: dict[int, list[float]] = {}
    for month, score in points:
        by_month.setdefault(month, []).append(score)
    if len(by_month) < 2:
        return ""
    earlier: list[float] = []
    pairs = higher = equal = 0
    for _, scores in sorted(by_month.items()):
        for score in scores:
            below, up_to = bisect_left(earlier, score), bisect_right(earlier, score)
            pairs, higher, equal = pairs + len(earlier), higher + below, equal + up_to - below
        for score in scores:
            insort(earlier, score)
    of = f"{pairs:,} pair{'' if pairs == 1 else 's'} of runs"
    text = f"The model with the later knowledge cutoff passes more in {higher:,} of {of}"
    return text + (f", equally many in {equal:,}" if equal else "")


def record(days: Sequence[str], best: Sequence[float]) -> str:
    """Describe how the best score changed from the first day to the last."""
    if not days:
        return ""
    number = len(set(best)) - 1
    if not number:
        return f"The best score has been {best[0]:.1f} % since {days[0]}"
    reached = days[list(best).index(best[-1])]
    steps = f"{number} step{'' if number == 1 else 's'}"
    return f"The best score rose from {best[0]:.1f} % to {best[-1]:.1f} % by {reached}, in {steps}"


def most(counts: Sequence[tuple[str, int]], *, has: str, have: str, things: str) -> str:
    """Name what has the highest count, with its share of all."""
    total = sum(count for _, count in counts)
    if not total:
        return ""
    highest = max(count for _, count in counts)
    names = [name for name, count in counts if count == highest]
    if len(names) == len(counts) > 1:
        return f"All {len(names)} {things} have the same share, {highest:,} of {total:,}"
    if len(names) == 1:
        return f"{names[0]} {has}, {highest:,} of {total:,}"
    return f"{joined(names, things)} {have}, {highest:,} of {total:,} each"


def largest_category(counts: Sequence[tuple[str, int]]) -> str:
    """Name the category with the most tasks."""
    numbers = {count for _, count in counts}
    if len(numbers) == 1 and len(counts) > 1:
        (each,) = numbers
        return f"Each of {len(counts)} categories has {each} task{'' if each == 1 else 's'}"
    if len(counts) == 1:
        return f"The category of all tasks is {counts[0][0]}"
    return most(counts, has="has the most tasks", have="have the most tasks", things="categories")


def difficulty(shares: Sequence[Share]) -> str:
    """Count the tasks that no run passes, and those that every run passes."""
    known = [share for share in shares if share.whole]
    if not known:
        return ""
    if all(share.whole == 1 for share in known):
        return f"{Share('', sum(share.part for share in known), len(known)).words} tasks are passed, by one run each"
    none, every = sum(share.part == 0 for share in known), sum(share.part == share.whole for share in known)
    numbers = {share.whole for share in known}
    runs = f"of {known[0].whole:,} runs" if len(numbers) == 1 else "of the runs with a result"
    if not none:
        return f"Each of {len(known)} tasks is passed by at least one {runs}, {every or 'none'} by all of them"
    verb = "is" if none == 1 else "are"
    return f"{none} of {len(known)} tasks {verb} passed by none {runs}, {every or 'none'} by all of them"


def effects(source: str, terms: Sequence[tuple[str, float | None]]) -> str:
    """Name the terms of a fit whose p is below .05; ``terms`` have a name and p."""
    known = [(name, p) for name, p in terms if p is not None]
    if not known:
        return ""
    found = [name for name, p in known if p < _LEVEL]
    fit = f"In {source}, "
    if not found:
        return f"{fit}none of {len(known)} terms differs from 0 at the 5 % level"
    differs = "differs" if len(found) == 1 else "differ"
    return f"{fit}{len(found)} of {len(known)} terms {differs} from 0 at the 5 % level: {joined(found, 'terms')}"


def actions(bars: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Name the most frequent action of all agents. ``numbers`` of a bar are percentages of its total."""
    counts = Counter[str]()
    for bar in bars:
        for name, percent in zip(names, bar["numbers"], strict=True):
            counts[name] += round(percent * bar["total"] / 100)
    return most(
        [(f"\N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}", counts[name]) for name in names],
        has="is the agents' most frequent action",
        have="are the agents' most frequent actions",
        things="kinds",
    )


def actions_by_outcome(bars: Sequence[Mapping[str, Any]]) -> str:
    """Compare the mean numbers of actions of answers that passed and failed."""
    found = [f"nswers that {bar['name']} took {bar['total'] / bar['answers']:.1f}" for bar in bars if bar["answers"]]
    return f"A{', a'.join(found)} actions on average" if found else ""
