"""What others published about LMR-BENCH: the shipped numbers, the reader of the raw files, and both together."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.facts.strict_json import ShippedDataError
from evaluator.judging.labels import Label
from leaderboard.published.compact_json import compact_json
from leaderboard.published.extract import extract, main
from leaderboard.published.labels import LabelCounts, LabelShares, RaterAxis, TestCount, percentage
from leaderboard.published.paper_tables import REPORTED_RUNS
from leaderboard.published.records import (
    NEVER_RAN_NOTE,
    SHIPPED_FILE,
    Inputs,
    PublishedRun,
    published_results,
    read_published_results,
)
from leaderboard.published.upstream import read_upstream
from leaderboard.published.upstream_texts import Agent, TestOutcome, UpstreamFormatError

UPSTREAM = Path(__file__).parents[3] / "shared" / "lmr-bench"

# DESIGN, section 6: run, tests, judge CC/LC/LI, human CC/LC/LI, as counted from the files.
DESIGN_TABLE: list[tuple[str, float, tuple[float, ...] | None, tuple[float, ...] | None]] = [
    ("no-agent-gpt-4o", 39.3, (17.9, 10.7, 71.4), (25.0, 14.3, 60.7)),
    ("no-agent-gpt-4.1", 42.9, (7.1, 28.6, 64.3), (35.7, 32.1, 32.1)),
    ("no-agent-o4-mini", 42.9, (25.0, 21.4, 53.6), (32.1, 28.6, 39.3)),
    ("openhands-gpt-4o", 25.0, (3.6, 10.7, 85.7), (21.4, 17.9, 60.7)),
    ("openhands-gpt-4.1", 35.7, (17.9, 14.3, 67.9), (32.1, 25.0, 42.9)),
    ("openhands-o4-mini", 35.7, (35.7, 14.3, 50.0), (39.3, 21.4, 39.3)),
    ("openhands-claude-3.7", 50.0, None, None),
    # The paper's Table 3.
    ("openhands-gpt-4o-paper-only", 21.4, (10.7, 7.1, 82.1), None),
    ("openhands-gpt-4.1-paper-only", 32.1, (28.6, 14.3, 57.1), None),
    ("openhands-o4-mini-paper-only", 39.3, (46.4, 3.6, 50.0), None),
    ("openhands-gpt-4o-paper-goal-file", 25.0, (3.6, 7.1, 89.3), None),
    ("openhands-gpt-4.1-paper-goal-file", 28.6, (7.1, 14.3, 78.6), None),
    ("openhands-o4-mini-paper-goal-file", 39.3, (42.9, 17.9, 39.3), None),
]


@pytest.fixture
def upstream_folder() -> Path:
    if not UPSTREAM.is_dir():
        pytest.skip("no ../shared here")
    return UPSTREAM


@pytest.fixture
def damaged(tmp_path: Path) -> Any:
    """Write the shipped results after a change to them; returns the new file."""

    def write(change: Any) -> Path:
        content = json.loads(SHIPPED_FILE.read_text(encoding="utf-8"))
        change(content)
        path = tmp_path / "results.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


def run(slug: str) -> PublishedRun:
    return published_results().run(slug)


class TestShippedNumbers:
    def test_the_table_of_the_design_counted_over_28(self) -> None:
        rows: list[tuple[str, float, tuple[float, ...] | None, tuple[float, ...] | None]] = []
        for published in published_results().runs:
            tests, judge, human = published.totals.tests, published.totals.judge, published.totals.human
            assert tests is not None
            assert {count.total for count in (tests, judge, human) if count} == {28}
            judge_row = (judge.shares.cc, judge.shares.lc, judge.shares.li) if judge else None
            human_row = (human.shares.cc, human.shares.lc, human.shares.li) if human else None
            rows.append((published.slug, tests.share, judge_row, human_row))
        assert rows == DESIGN_TABLE

    def test_168_judge_human_pairs(self) -> None:
        pairs = Counter(
            (result.human, result.judge)
            for published in published_results().runs
            for result in published.per_task.values()
            if result.human and result.judge
        )
        order = (Label.LI, Label.LC, Label.CC)
        assert [[pairs[human, judge] for judge in order] for human in order] == [[72, 3, 2], [24, 10, 5], [14, 15, 23]]
        assert percentage(sum(pairs[label, label] for label in order), 168) == 62.5
        assert percentage(pairs[Label.LI, Label.CC] + pairs[Label.CC, Label.LI], 168) == 9.5

    def test_where_files_and_paper_differ(self) -> None:
        assert {p.slug: p.axes_that_differ for p in published_results().runs if p.axes_that_differ} == {
            "no-agent-gpt-4.1": (RaterAxis.HUMAN,),
            "no-agent-o4-mini": (RaterAxis.HUMAN,),
            "openhands-gpt-4o": (RaterAxis.JUDGE,),
            "openhands-gpt-4.1": (RaterAxis.TESTS,),
        }

    def test_what_the_paper_prints_instead(self) -> None:
        gpt, o4, agent_4o, agent_41 = (
            run(slug).printed
            for slug in ("no-agent-gpt-4.1", "no-agent-o4-mini", "openhands-gpt-4o", "openhands-gpt-4.1")
        )
        assert gpt
        assert o4
        assert agent_4o
        assert agent_41
        assert gpt.human == LabelShares(32.1, 28.6, 39.3)
        assert o4.human == LabelShares(35.7, 32.1, 32.1)
        assert agent_4o.judge == LabelShares(7.1, 7.1, 85.7)
        assert agent_41.tests == 32.1

    def test_human_rows_of_two_runs_are_exactly_exchanged_in_the_paper(self) -> None:
        first, second = run("no-agent-gpt-4.1"), run("no-agent-o4-mini")
        assert first.totals.human
        assert second.totals.human
        assert first.printed
        assert second.printed
        assert first.totals.human.shares == second.printed.human
        assert second.totals.human.shares == first.printed.human

    def test_remarks_say_both_numbers(self) -> None:
        exchanged = "the paper's rows of GPT-4.1 and o4-mini without agent are exchanged."
        assert run("no-agent-gpt-4.1").remarks_on(RaterAxis.HUMAN) == (
            f"Humans: the paper prints 32.1 / 28.6 / 39.3, the files give 35.7 / 32.1 / 32.1; {exchanged}",
        )
        assert run("no-agent-o4-mini").remarks_on(RaterAxis.HUMAN) == (
            f"Humans: the paper prints 35.7 / 32.1 / 32.1, the files give 32.1 / 28.6 / 39.3; {exchanged}",
        )
        assert run("openhands-gpt-4o").remarks_on(RaterAxis.JUDGE) == (
            "Judge: the paper prints 7.1 / 7.1 / 85.7, the files give 3.6 / 10.7 / 85.7.",
        )
        assert run("openhands-gpt-4.1").remarks_on(RaterAxis.TESTS) == (
            "Unit tests: the paper prints 32.1, the files give 35.7.",
            "Unit tests: 2 tasks count as failed although their tests never ran.",
        )

    def test_tests_that_never_ran_count_as_failed_with_a_note(self) -> None:
        notes = {
            p.slug: [task for task, result in p.per_task.items() if result.test_note]
            for p in published_results().runs
            if any(result.test_note for result in p.per_task.values())
        }
        assert notes == {
            "openhands-gpt-4.1": ["repe/1", "adalora/1"],
            "openhands-o4-mini": ["dpo/1", "dola/1", "simpo/1", "gdpzero/1", "decbound/1", "native-sparse-attention/1"],
        }
        first = run("openhands-o4-mini").per_task["dpo/1"]
        assert (first.tests, first.test_note) == (False, NEVER_RAN_NOTE)
        assert run("openhands-o4-mini").totals.tests == TestCount(passed=10, total=28, never_ran=6)

    def test_totals_only(self) -> None:
        both = {RaterAxis.TESTS, RaterAxis.JUDGE}
        assert {p.slug: set(p.totals.from_paper) for p in published_results().runs if p.totals.from_paper} == {
            "no-agent-gpt-4o": {RaterAxis.TESTS},
            "no-agent-o4-mini": {RaterAxis.TESTS},
        } | {slug: both for slug, *_ in DESIGN_TABLE if "-paper-" in slug}
        assert run("no-agent-gpt-4o").totals.tests == TestCount(passed=11, total=28)
        assert {result.tests for result in run("no-agent-gpt-4o").per_task.values()} == {None}
        assert run("openhands-gpt-4o-paper-only").per_task == {}

    def test_systems(self) -> None:
        rows = [(p.system_name, p.backbone, p.vendor, p.scaffold, p.inputs) for p in published_results().runs]
        assert rows[0] == ("GPT-4o", "GPT-4o", "OpenAI", "none", Inputs.FULL)
        assert rows[6] == ("OpenHands (Claude 3.7)", "Claude 3.7", "Anthropic", "OpenHands", Inputs.FULL)
        assert rows[7] == ("OpenHands (GPT-4o)", "GPT-4o", "OpenAI", "OpenHands", Inputs.PAPER_ONLY)
        assert rows[12] == ("OpenHands (o4-mini)", "o4-mini", "OpenAI", "OpenHands", Inputs.PAPER_GOAL_FILE)
        assert {p.organisation for p in published_results().runs} == {"University of Texas at Dallas"}
        assert run("openhands-claude-3.7").source_address == "https://github.com/du-nlp-lab/LMR-Bench"
        assert run("no-agent-gpt-4o").source_address == "https://arxiv.org/abs/2506.17335"
        assert run("openhands-claude-3.7").printed is None

    def test_one_annotator_a_task_and_no_name(self) -> None:
        sizes = Counter(result.human_annotator for result in run("no-agent-gpt-4o").per_task.values())
        assert sizes == {1: 6, 2: 6, 3: 10, 4: 6}
        assert {result.human_annotator for result in run("openhands-claude-3.7").per_task.values()} == {None}

    def test_single_results(self) -> None:
        dpo = run("no-agent-gpt-4.1").per_task["dpo/1"]
        assert (dpo.tests, dpo.judge, dpo.human) == (True, Label.LI, Label.LC)
        # From the file whose codes run from 0 to 2: read as 1 to 3, these would be LI, no label at all, and LC.
        codes = [run("openhands-o4-mini").per_task[task].human for task in ("cad/1", "tokendpo/1", "adalora/1")]
        assert codes == [Label.LC, Label.LI, Label.CC]

    def test_unknown_run(self) -> None:
        with pytest.raises(KeyError, match="gpt-5"):
            published_results().run("gpt-5")


class TestDamagedResults:
    def test_round_trip(self, damaged: Any) -> None:
        assert read_published_results(damaged(lambda _content: None)) == published_results()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda c: c.update(runs=[{}]), r"results\.json, runs\[0\]: 'slug' is missing"),
            (lambda c: c.update(extra=1), r"results\.json: unknown key 'extra'"),
            (lambda c: c["runs"].append(c["runs"][0]), r"run slug no-agent-gpt-4o is used more than once"),
            (lambda c: c["runs"][0].update(inputs="none"), r"'none' is not one of full, paper_only, paper_goal_file"),
            (lambda c: c["runs"][0]["tasks"]["dpo/1"].update(judge="OK"), r"dpo/1: 'OK' is not one of CC, LC, LI"),
            (
                lambda c: c["runs"][1]["tasks"]["dpo/1"].update(tests="pass"),
                r"'pass' is not one of passed, failed, never",
            ),
            (lambda c: c["runs"][0]["tasks"].pop("dpo/1"), r"each task of the benchmark once; .*: dpo/1"),
            (lambda c: c["runs"][0]["tasks"]["dpo/1"].pop("judge"), r"judge is given for some tasks only"),
            (lambda c: c["runs"][1].update(totals_from_paper={"tests": 3}), r"totals_from_paper repeats"),
            (lambda c: c["runs"][0].update(totals_from_paper={"tests": 29}), r"counts must fit the benchmark's 28"),
            (lambda c: c["runs"][7]["totals_from_paper"]["judge"].update(CC=4), r"counts must fit the benchmark's 28"),
            (lambda c: c["runs"][3].update(remarks=[]), r"differ for judge; add a remark that begins 'Judge: '"),
            (lambda c: c["human_annotators"].update({"9": []}), r"expected the key '5', found '9'"),
            (lambda c: c["human_annotators"]["1"].append("dpo/2"), r"'dpo/2' is no task of the benchmark"),
            (
                lambda c: c["human_annotators"]["2"].append("dpo/1"),
                r"'dpo/1' is no task of the benchmark, or listed twice",
            ),
            (lambda c: c["human_annotators"]["1"].remove("dpo/1"), r"dpo/1: has a human label, but"),
            (
                lambda c: c["runs"][0]["printed"].update(tests="39.3"),
                r"printed: 'tests' is \"39.3\", expected int or float",
            ),
        ],
    )
    def test_damage_is_named(self, damaged: Any, change: Any, message: str) -> None:
        with pytest.raises(ShippedDataError, match=message):
            read_published_results(damaged(change))


class TestReadingTheFolder:
    @pytest.mark.upstream
    def test_shipped_file_is_what_the_command_writes(
        self, upstream_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        output = tmp_path / "again.json"
        assert main([str(upstream_folder), "--output", str(output)]) == 0
        assert output.read_bytes() == SHIPPED_FILE.read_bytes()
        assert capsys.readouterr().out == "Wrote again.json: 13 runs.\n"

    @pytest.mark.upstream
    def test_shipped_results_are_the_files_results(self, upstream_folder: Path) -> None:
        upstream = read_upstream(upstream_folder, lmr_bench())
        full = [published for published in published_results().runs if published.per_task]
        names = {"gpt4o": "GPT-4o", "gpt4.1": "GPT-4.1", "o4mini": "o4-mini", "claude3.7": "Claude 3.7"}
        scaffolds = {Agent.NONE: "none", Agent.OPENHANDS: "OpenHands"}
        assert len(upstream.runs) == len(full) == 7
        for raw in upstream.runs:
            (published,) = [p for p in full if (p.backbone, p.scaffold) == (names[raw.model], scaffolds[raw.agent])]
            for slug, result in published.per_task.items():
                assert (result.judge, result.human) == (raw.judge.get(slug), raw.human.get(slug))
                passed = raw.tests[slug] is TestOutcome.PASSED if raw.tests else None
                assert result.tests is passed
                assert bool(result.test_note) is (raw.tests.get(slug) is TestOutcome.NEVER_RAN)

    @pytest.mark.upstream
    def test_no_name_no_comment_no_path_is_shipped(self, upstream_folder: Path) -> None:
        shipped = SHIPPED_FILE.read_text(encoding="utf-8").lower()
        files = sorted((upstream_folder / "results" / "human_evaluation").glob("*.json"))
        comments = {e["comment"].lower() for path in files for e in json.loads(path.read_text(encoding="utf-8"))}
        assert len(files) == 4
        assert not [path.stem for path in files if path.stem in shipped]
        assert not [comment for comment in comments if comment and comment in shipped]
        assert "/home/" not in shipped

    def test_absent_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(tmp_path), "--output", str(tmp_path / "x.json")]) == 1
        assert capsys.readouterr().err.endswith("give the folder of upstream's result files.\n")
        assert not (tmp_path / "x.json").exists()


class TestSmallParts:
    def test_a_share_that_no_count_gives_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "results").mkdir()
        reported = REPORTED_RUNS[0]
        assert reported.printed
        wrong = replace(reported, printed=replace(reported.printed, tests=39.4))
        with pytest.raises(UpstreamFormatError, match=r"39\.4 % is not the share of a whole number of 28 tasks"):
            extract(tmp_path, (wrong,))

    def test_totals_are_worked_back_from_the_paper(self, tmp_path: Path) -> None:
        (tmp_path / "results").mkdir()
        shipped = json.loads(SHIPPED_FILE.read_text(encoding="utf-8"))["runs"]
        assert json.loads(extract(tmp_path, REPORTED_RUNS[7:]))["runs"] == shipped[7:]

    def test_counts_and_shares(self) -> None:
        counts = LabelCounts.of([Label.CC, Label.LI, Label.LI])
        assert counts == LabelCounts(cc=1, lc=0, li=2)
        assert (counts.total, counts.shares) == (3, LabelShares(33.3, 0.0, 66.7))
        assert TestCount(passed=10, total=28).share == 35.7

    def test_compact_json(self) -> None:
        long = ["x" * 60, "y" * 60]
        value = {"a": {"b": [1, 2.5]}, "c": [], "d": long, "e": "ä"}
        text = compact_json(value)
        assert json.loads(text) == value
        assert text == (
            '{\n  "a": {\n    "b": [1, 2.5]\n  },\n  "c": [],\n'
            f'  "d": [\n    "{long[0]}",\n    "{long[1]}"\n  ],\n  "e": "ä"\n}}\n'
        )
