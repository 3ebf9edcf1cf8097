"""The tables of ``make load``, and what the database must hold afterwards."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.load.plan import Report, Stored

P95_GOAL: Final = 0.5
"""Seconds, for all requests together and for each kind."""


def lost_work(report: Report, stored: Stored, expected: Mapping[str, str]) -> list[str]:
    """Return a sentence for each piece of work that was lost, doubled or decided wrongly."""
    return [
        *_differences("upload", report.uploads, stored.uploads),
        *_differences("submission", report.submissions, map(int, stored.states)),
        *(f"Submission {pk} is {state}, not scored." for pk, state in stored.states.items() if state != "scored"),
        *(
            f"Submission {pk} has the outcomes {found}, not {dict(expected)}."
            for pk, state in stored.states.items()
            if state == "scored" and (found := stored.outcomes.get(pk, {})) != expected
        ),
        *(f"A test run has {number} accepted results." for number in stored.accepted if number != 1),
        *_differences("label of assignment", report.labels, stored.labels),
    ]


def _differences(what: str, sent: Iterable[int], kept: Iterable[int]) -> list[str]:
    before, after = Counter(sent), Counter(kept)
    return [
        f"The {what} {pk} was accepted {n} times and stored {after[pk]} times." for pk, n in (before - after).items()
    ] + [f"The {what} {pk} is stored {n} times more than it was accepted." for pk, n in (after - before).items()]


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the smallest of the times that ``share`` of them do not exceed, also of few ones."""
    return sorted(seconds)[max(math.ceil(share * len(seconds)), 1) - 1]


def request_table(report: Report) -> list[str]:
    """Return the lines of the first table: how quickly the site answered each kind of request, once all had arrived."""
    kinds: dict[str, list[float]] = defaultdict(list)
    failed = Counter(kind for kind, _, error in report.requests if error)
    for kind, seconds, _ in report.requests:
        kinds[kind].append(seconds)
    rows = [(kind, kinds[kind], failed[kind]) for kind in sorted(kinds)]
    rows.append(("**all**", [seconds for _, seconds, _ in report.requests], failed.total()))
    return [
        "| request | number | failed | median | p95 | longest |",
        "|---|---|---|---|---|---|",
        *(
            f"| {kind} | {len(times)} | {errors} | {_ms(percentile(times, 0.5))} | {_ms(percentile(times, 0.95))}"
            f" | {_ms(max(times))} |"
            for kind, times, errors in rows
            if times
        ),
    ]


def total_table(report: Report, stored: Stored, disturbances: Sequence[str], lost: Sequence[str]) -> list[str]:
    """Return the lines of the second table: the whole run, with the goals."""
    times = [seconds for _, seconds, _ in report.requests]
    p95 = percentile(times, 0.95)
    arriving = [seconds for _, seconds, _ in report.arriving]
    errors = sum(bool(error) for _, _, error in _all(report)) + len(report.errors)
    scored = sum(state == "scored" for state in stored.states.values())
    rows = [
        ("requests a second", f"{len(times) / report.seconds:.1f}", "", ""),
        ("requests, p95", _ms(p95), f"< {_ms(P95_GOAL)}", _reached(p95 < P95_GOAL)),
        ("before that, while the users arrived, p95", _ms(percentile(arriving, 0.95)) if arriving else "", "", ""),
        ("errors", str(errors), "0", _reached(errors == 0)),
        _compared("files received, stored", len(report.uploads), len(stored.uploads)),
        _compared("submissions accepted, scored", len(report.submissions), scored),
        ("last one scored after the end", f"{stored.scored_after:.0f} s", "", ""),
        _compared("labels accepted, stored", len(report.labels), len(stored.labels)),
        ("work lost, doubled or decided wrongly", str(len(lost)), "0", _reached(not lost)),
        ("in between", "; ".join(disturbances) or "nothing", "", ""),
    ]
    return ["| measured | figure | goal | reached |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]


def errors_of(report: Report) -> list[str]:
    """Return each error once, with the number of times that it occurred."""
    found = Counter([f"{kind}: {error}" for kind, _, error in _all(report) if error] + report.errors)
    return [f"{number} × {error}" for error, number in found.most_common()]


def _all(report: Report) -> list[tuple[str, float, str]]:
    return report.arriving + report.requests


def _compared(what: str, sent: int, kept: int) -> tuple[str, str, str, str]:
    return what, f"{sent:,}, {kept:,}", "equal", _reached(sent == kept)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms"


def _reached(reached: bool) -> str:
    return "yes" if reached else "no"
