"""``docs/monitoring.md`` lists every metric that is exposed, with its labels and its meaning."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from benchmark_tasks.domain import metrics
from leaderboard.health.metrics import families
from tests.conftest import PROJECT_ROOT
from tests.test_rooms import ROOMS, dotted, modules

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


def exposed() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name as it is exposed, without prefix -> meaning and labels of every declared metric."""
    for room in ROOMS:
        for file in modules(room):
            if re.search(r"metrics\.(counter|histogram|gauge)\(", file.read_text(encoding="utf-8")):
                import_module(dotted(file))
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    declared: list[Metric] = [*metrics.DECLARED.collect(), *families()]
    labels = {name: each._labelnames for each, names in metrics.DECLARED._collector_to_names.items() for name in names}  # type: ignore[attr-defined]
    for each in declared:
        name = each.name + ("_total" if each.type == "counter" else "")
        known = getattr(each, "_labelnames", None) or labels.get(each.name, ())
        found[name.removeprefix(metrics.PREFIX)] = (each.documentation, tuple(known))
    return found


def test_every_metric_is_documented_and_no_other() -> None:
    text = (PROJECT_ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| ([^|]*?) ?\| (.+) \|$", text, flags=re.MULTILINE)
    documented = {name: (meaning, tuple(re.findall(r"`(\w+)`", labels))) for name, labels, meaning in rows}
    assert documented == exposed()
