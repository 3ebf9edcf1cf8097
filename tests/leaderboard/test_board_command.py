"""``manage.py board``."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from leaderboard.models import Entry
from submissions.enums import Kind
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import MetricFactory, label_counts, measured, reported
from tests.submissions.factories import SystemFactory

pytestmark = pytest.mark.django_db


def output(*arguments: str) -> str:
    stream = StringIO()
    call_command("board", *arguments, stdout=stream)
    return stream.getvalue()


def test_prints_the_rows_that_the_page_shows() -> None:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    reported(
        version,
        system=SystemFactory(name="Reported"),
        metric={"labels": {"judge": label_counts(5, 3, 20, tasks=28)}},
    )
    measured(version, system=SystemFactory(name="Measured"), metric={"tests_passed": 14.0})
    measured(version, published=False, system=SystemFactory(name="Secret"))
    lines = [line.split("  ") for line in output("--suite", "small").splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells == [
        ["system", "inputs", "tests %", "judge CC/LC/LI", "human CC/LC/LI", "source"],
        ["Measured", "full", "50.0 [23.6, 57.6]", "–", "–", "self-declared bundle, evaluated here"],
        ["Reported", "full", "39.3 [23.6, 57.6]", "17.9 / 10.7 / 71.4", "–", "reported upstream, not re-run here"],
    ]


def test_json_is_one_object_with_one_decimal() -> None:
    entry = reported(SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1), remarks=["Setup: x."])
    report = json.loads(output("--suite", "small", "--json"))
    assert {key: report[key] for key in ("suite", "version", "category")} == {
        "suite": "small",
        "version": 1,
        "category": None,
    }
    (row,) = report["rows"]
    assert row["tests"] == {"percent": 39.3, "low": 23.6, "high": 57.6, "passed": 11.0, "tasks": 28}
    assert row["judge"] is None
    assert row["system"] == entry.system.name
    assert row["provenance"] == "reported upstream, not re-run here"
    assert row["remarks"] == ["Setup: x."]


def test_calibration_samples_come_last_and_apart() -> None:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    sample = measured(version, system=SystemFactory(name="Golden"), metric={"tests_passed": 28.0})
    Submission.objects.filter(entry=sample).update(kind=Kind.CALIBRATION)
    Entry.objects.filter(pk=sample.pk).update(kind=Kind.CALIBRATION)
    assert output("--suite", "small").startswith("Nothing is published on this suite yet.\n\nCalibration samples")
    measured(version, system=SystemFactory(name="Measured"), metric={"tests_passed": 14.0})
    ranked, samples = (part.splitlines() for part in output("--suite", "small").split("\n\n"))
    assert [line.split()[0] for line in ranked] == ["system", "Measured"]
    assert samples[0] == "Calibration samples, which check the evaluation itself and are not ranked"
    assert [line.split()[0] for line in samples[1:]] == ["system", "Golden"]
    rows = json.loads(output("--suite", "small", "--json"))["rows"]
    assert [(row["system"], row["calibration"]) for row in rows] == [("Measured", False), ("Golden", True)]


def test_a_category() -> None:
    entry = reported(SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1))
    category = CategoryFactory(slug="evaluation-metrics")
    MetricFactory(entry=entry, category=category, tasks=4, tests_passed=3.0, tests_low=None, tests_high=None)
    report = json.loads(output("--suite", "small", "--category", "evaluation-metrics", "--json"))
    assert report["rows"][0]["tests"] == {"percent": 75.0, "low": None, "high": None, "passed": 3.0, "tasks": 4}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "absent"], "There is no suite 'absent'. Known: bare, small."),
        (["--suite", "small", "--category", "absent"], "There is no category 'absent'. Known: feature-learning"),
        (["--suite", "bare"], "has no version yet"),
    ],
)
def test_says_what_is_wrong(arguments: list[str], message: str) -> None:
    SuiteFactory(slug="bare")
    SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    with pytest.raises(CommandError, match=message):
        output(*arguments)


def test_an_empty_board_says_so() -> None:
    SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    assert output("--suite", "small") == "Nothing is published on this suite yet.\n"
