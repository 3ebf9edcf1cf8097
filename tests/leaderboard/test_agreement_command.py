"""``manage.py agreement``: the figures of upstream's 168 pairs, and what it says of wrong arguments."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.benchmark_tasks.factories import SuiteFactory

pytestmark = pytest.mark.django_db


def output(*arguments: str) -> str:
    stream = io.StringIO()
    call_command("agreement", *arguments, stdout=stream)
    return stream.getvalue()


def report(*arguments: str) -> Any:
    return json.loads(output("--suite", "lmr-bench", "--json", *arguments))


@pytest.mark.usefixtures("shipped")
class TestShipped:
    def test_the_168_pairs(self) -> None:
        (pair,) = report()["pairs"]
        assert (pair["first"]["slug"], pair["second"]["slug"]) == ("reported-humans", "reported-judge")
        assert (pair["n"], pair["clusters"], pair["conflicts"], pair["abstained"]) == (168, 23, 16, 0)
        assert pair["labels"] == ["LI", "LC", "CC"]
        assert pair["matrix"] == [[72, 3, 2], [24, 10, 5], [14, 15, 23]]
        assert pair["marginals"] == [[77, 39, 52], [110, 28, 30]]
        shares = {name: round(100 * pair[name]["value"], 1) for name in ("agreement", "conflict_share")}
        assert shares == {"agreement": 62.5, "conflict_share": 9.5}
        names = ("kappa", "quadratic_kappa", "alpha", "ac1")
        assert {name: round(pair[name]["value"], 3) for name in names} == {
            "kappa": 0.381,
            "quadratic_kappa": 0.547,
            "alpha": 0.531,
            "ac1": 0.468,
        }
        assert all(
            pair[name]["interval"]["low"] < pair[name]["value"] < pair[name]["interval"]["high"] for name in names
        )
        assert (round(pair["bowker"]["statistic"], 2), pair["bowker"]["df"]) == (30.33, 3)
        assert pair["stuart_maxwell"]["df"] == 2

    def test_as_text(self) -> None:
        text = output("--suite", "lmr-bench")
        assert text.splitlines()[:7] == [
            "Reported humans (reported-humans, rows) and Reported judge (reported-judge, columns)",
            "n = 168 in 23 papers, 16 direct conflicts",
            "          LI     LC     CC    all",
            "   LI     72      3      2     77",
            "   LC     24     10      5     39",
            "   CC     14     15     23     52",
            "  all    110     28     30    168",
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

    def test_the_binary_view_has_the_tests(self) -> None:
        pairs = {(pair["first"]["slug"], pair["second"]["slug"]): pair for pair in report("--binary")["pairs"]}
        judged = pairs["reported-humans", "reported-judge"]
        assert (judged["labels"], judged["matrix"]) == (["rest", "CC"], [[109, 7], [29, 23]])
        # Of the six runs with human labels, upstream's tests of four are published.
        assert {names: pair["n"] for names, pair in pairs.items()} == {
            ("reported-humans", "reported-tests"): 112,
            ("reported-humans", "reported-judge"): 168,
            ("reported-tests", "reported-judge"): 112,
        }

    def test_filters_and_the_order_of_raters(self) -> None:
        whole = report("--first", "reported-judge", "--second", "reported-humans")
        assert whole["pairs"][0]["matrix"] == [[72, 24, 14], [3, 10, 15], [2, 5, 23]]
        one = report("--system", "reported-openhands-gpt-4o", "--inputs", "full")
        assert (one["system"], one["inputs"], one["pairs"][0]["n"]) == ("reported-openhands-gpt-4o", "full", 28)
        assert report("--inputs", "paper_only")["pairs"] == []
        assert report("--samples")["pairs"] == []
        few = report("--system", "reported-openhands-gpt-4o", "--category", "evaluation-metrics")["pairs"][0]
        assert (few["n"] < 10, few["kappa"]["value"]) == (True, None)
        assert few["kappa"]["why"] == f"too few shared items ({few['n']} of at least 10)"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--category", "absent"], "There is no category 'absent' here. Known: feature-learning"),
            (["--system", "absent"], "There is no system 'absent' here. Known: reported-"),
            (["--inputs", "absent"], "There is no kind of inputs 'absent' here. Known: full, paper_only"),
            (["--first", "absent"], "There is no rater 'absent' here. Known: reported-humans"),
            (["--first", "tests", "--second", "tests"], "The rater 'tests' is named twice"),
        ],
    )
    def test_says_what_is_wrong(self, arguments: list[str], message: str) -> None:
        with pytest.raises(CommandError, match=message):
            report(*arguments)


def test_an_unknown_suite() -> None:
    with pytest.raises(CommandError, match=r"There is no suite 'absent'\. Known: none; run manage\.py load_catalogue"):
        output("--suite", "absent")


def test_nothing_to_compare() -> None:
    SuiteFactory(slug="small")
    expected = "No two raters labelled the same published answer here."
    assert output("--suite", "small", "--binary") == f"{expected}\n"
    assert "compared with --binary" in output("--suite", "small")
