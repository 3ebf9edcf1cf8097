"""Read the metrics that this process, and those with the same data folder, have counted."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from benchmark_tasks.domain import metrics


def values_in(text: str) -> dict[tuple[str, ...], float]:
    """Name without prefix, and the values of its labels in the order of their names -> value."""
    return {
        (each.name.removeprefix(metrics.PREFIX), *(each.labels[name] for name in sorted(each.labels))): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def counted(name: str, *labels: str) -> float:
    """The present value of one metric; the labels are in the order of their names."""
    return values_in(metrics.exposition().decode()).get((name, *labels), 0.0)
