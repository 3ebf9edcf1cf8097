"""The dashboard and alert rules in ``deploy``: metrics and headings that they name exist, and promtool accepts them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from benchmark_tasks.domain import metrics
from leaderboard.web.documentation import page_of
from tests.conftest import PROJECT_ROOT
from tests.leaderboard.health.test_metrics_documentation import exposed

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = PROJECT_ROOT / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"


def named(text: str) -> set[str]:
    """The metrics that an expression names, without the endings of a histogram's parts."""
    known = exposed()
    names = set(re.findall(rf"{metrics.PREFIX}(\w+)", text))
    return {name if name in known else re.sub("_(bucket|sum|count)$", "", name) for name in names}


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def panels() -> Iterator[dict[str, Any]]:
    dashboard = json.loads((DEPLOY / "grafana" / "lmr-board.json").read_text(encoding="utf-8"))
    yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    shown = named(" ".join(target["expr"] for panel in panels() for target in panel["targets"]))
    # What only alerts need.
    left_out = {
        "state_readable",
        "queue_reachable",
        "judge_tokens_left",
        "host_clock_off_seconds",
        "backup_age_seconds",
    }
    assert shown == exposed().keys() - left_out


def test_rules_name_metrics_that_exist() -> None:
    assert named(" ".join(rule["expr"] for rule in rules())) - exposed().keys() == set()


def test_every_rule_leads_to_a_heading_of_the_documentation() -> None:
    for rule in rules():
        file, _, anchor = rule["annotations"]["runbook"].partition("#")
        page = page_of((PROJECT_ROOT / file).read_text(encoding="utf-8"), slug="page")
        assert f'id="{anchor}"' in page.body, rule["alert"]


def test_every_rule_is_documented_with_its_severity() -> None:
    text = (PROJECT_ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    for severity in ("critical", "warning"):
        (row,) = re.findall(rf"^\| {severity} \| (.+) \|$", text, flags=re.MULTILINE)
        assert re.findall(r"`(\w+)`", row) == [
            rule["alert"] for rule in rules() if rule["labels"]["severity"] == severity
        ]


def test_every_rule_has_a_test() -> None:
    tests = yaml.safe_load((DEPLOY / "prometheus" / "alerts_test.yaml").read_text(encoding="utf-8"))["tests"]
    fired = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case.get("exp_alerts")}
    assert sorted(fired) == sorted(rule["alert"] for rule in rules())


@pytest.mark.in_full
@pytest.mark.parametrize("arguments", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")])
def test_promtool_accepts_the_rules(arguments: tuple[str, ...]) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("no promtool: install Debian's package prometheus")
    done = subprocess.run(
        [program, *arguments], cwd=ALERTS.parent, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
