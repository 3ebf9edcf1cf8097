"""``manage.py agreement``: the figures of upstream's 168 pairs, and what it says of wrong arguments."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.core.management import CommandError, call_command

from tests.benchmark_tasks.factories import SuiteFactory

pytestmark = pytest.mark.django_db


def output(*arguments: str) -> str:
    stream = io.StringIO()
    call_command("agreement", *arguments, stdout=stream)
    return stream.getvalue()


@pytest.mark.usefixtures("shipped")
class TestShipped:
    def test_as_text(self) -> None:
        text = output("--suite", "lmr-bench")
        assert text.splitlines()[:7] == [
            "Reported annotators (reported-annotators, rows) and Reported judge (reported-judge, columns)",
            "n = 168 in 23 papers, 16 direct conflicts",
            "          CC     LC     LI    all",
            "   CC     23     15     14     52",
            "   LC      5     10     24     39",
            "   LI      2      3     72     77",
            "  all     30     28    110    168",
        ]
        numbers = dict(
            re.findall(r"^(\D+(?:AC\d)?) +([\d.]+(?: %)?)  \S", "\n".join(text.splitlines()[7:]), re.MULTILINE)
        )
        assert {name.strip(): value for name, value in numbers.items()} == {
            "Percent agreement": "62.5 %",
            "Direct conflicts": "9.5 %",
            "Cohen's kappa": "0.381",
            "Quadratic kappa": "0.547",
            "Krippendorff's ordinal alpha": "0.531",
            "Gwet's AC1": "0.468",
            "Gwet's quadratic AC2": "0.596",
            "Bowker's test": "30.33",
            "Stuart-Maxwell test": "28.47",
        }


@pytest.mark.usefixtures("shipped")
def test_json_has_each_pair_of_what_is_asked_for() -> None:
    asked = ("--system", "reported-openhands-gpt-4o", "--category", "evaluation-metrics")
    found = json.loads(output("--suite", "lmr-bench", "--json", *asked))
    (pair,) = found["pairs"]
    assert (found["system"], found["category"]) == ("reported-openhands-gpt-4o", "evaluation-metrics")
    assert (pair["first"]["slug"], pair["second"]["slug"]) == ("reported-annotators", "reported-judge")
    assert pair["kappa"]["value"] is None
    assert pair["kappa"]["why"] == f"too few shared items ({pair['n']} of at least 10)"
    with pytest.raises(CommandError, match=r"There is no category 'absent' here\. Known: feature-learning"):
        output("--suite", "lmr-bench", "--category", "absent")


def test_an_unknown_suite() -> None:
    with pytest.raises(CommandError, match=r"There is no suite 'absent'\. Known: none; run manage\.py load_catalogue"):
        output("--suite", "absent")


def test_nothing_to_compare() -> None:
    SuiteFactory(slug="small")
    expected = "No two raters labelled the same published answer here."
    assert output("--suite", "small", "--binary") == f"{expected}\n"
    assert "compared with --binary" in output("--suite", "small")
