"""Labels as the database counts them for agreement, as plain values that tests can compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaderboard.insight.agreement.label_counts import Labels, count_labels
from leaderboard.insight.agreement.raters import Selection, raters, selected_entries

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion


def labels_on(version: SuiteVersion, **filters: Any) -> Labels:
    """The labels on the selected answers of a suite."""
    selected = Selection(**filters)
    entries = selected_entries(suite=version.suite, selection=selected)
    return count_labels(entries=entries, category=selected.category, raters=raters())


def labels_of(labels: Labels) -> dict[str, list[str]]:
    """Rater's slug -> all labels of the rater, sorted. Raters without labels are missing."""
    found: dict[str, list[str]] = {}
    for rater in raters():
        counts = labels.with_both(rater, rater)
        assert counts is not None
        given = [label for _, label, number in counts.of(rater.column) if label is not None for _ in range(number)]
        if given:
            found[rater.slug] = sorted(given)
    return found


def column(labels: Labels, name: str) -> list[Any]:
    """The values of one column of the reviewed answers, without those that have none."""
    values = [value for _, value, number in labels.reviewed.of(name) for _ in range(number)]
    return sorted(value for value in values if value is not None)
