"""The shipped published results as typed records. No Django here.

The data lie beside this file in ``lmr_bench_results.json``, which ``python -m leaderboard.published.extract`` writes.
They are shown as "reported upstream, not re-run here" and never enter the site's own state machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.facts.strict_json import ShippedDataError, read_object
from evaluator.judging.labels import Label
from leaderboard.published.labels import LabelCounts, LabelShares, RaterAxis, TestCount
from leaderboard.published.upstream_texts import TestOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmark_tasks.facts.strict_json import Fields

SHIPPED_FILE: Final = Path(__file__).with_name("lmr_bench_results.json")

NEVER_RAN_NOTE: Final = "The tests never ran; upstream counts the task as failed."

_Choice = TypeVar("_Choice", bound=StrEnum)


class Inputs(StrEnum):
    """What a system was given beside the instruction."""

    FULL = "full"
    PAPER_ONLY = "paper_only"
    PAPER_GOAL_FILE = "paper_goal_file"


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """One task of one run. None where that rater published nothing for it.

    ``test_note`` is a sentence to show beside a failed test, else empty. ``human_annotator`` numbers the one
    person who labelled the task, from 1.
    """

    tests: bool | None
    test_note: str
    judge: Label | None
    human: Label | None
    human_annotator: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers to show, counted from the tasks, or for the raters in ``from_paper`` from the paper's percentages."""

    tests: TestCount | None
    judge: LabelCounts | None
    human: LabelCounts | None
    from_paper: frozenset[RaterAxis]


@dataclass(frozen=True, slots=True)
class Printed:
    """Percentages as the paper prints them in ``table`` ("Table 2", "Table 3")."""

    table: str
    tests: float
    judge: LabelShares
    human: LabelShares | None


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One system on LMR-BENCH as others reported it.

    ``scaffold`` is ``none`` without an agent. ``vendor`` makes the backbone, ``organisation`` ran it. ``per_task``
    is empty where only totals were published. A remark that is about one rater begins with that rater's prefix.
    """

    slug: str
    system_name: str
    backbone: str
    vendor: str
    scaffold: str
    inputs: Inputs
    organisation: str
    source_address: str
    per_task: Mapping[str, PublishedResult]
    totals: Totals
    printed: Printed | None
    remarks: tuple[str, ...]

    @property
    def axes_that_differ(self) -> tuple[RaterAxis, ...]:
        """The raters for whom the paper prints another number than the files give."""
        if self.printed is None:
            return ()
        tests, judge, human = self.totals.tests, self.totals.judge, self.totals.human
        pairs = (
            (RaterAxis.TESTS, tests and tests.share, self.printed.tests),
            (RaterAxis.JUDGE, judge and judge.shares, self.printed.judge),
            (RaterAxis.HUMAN, human and human.shares, self.printed.human),
        )
        return tuple(axis for axis, ours, printed in pairs if ours != printed)

    def remarks_on(self, axis: RaterAxis) -> tuple[str, ...]:
        """The remarks about one rater, prefix included."""
        return tuple(remark for remark in self.remarks if remark.startswith(axis.remark_prefix))


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """Everything published about one benchmark; ``remarks`` hold for all runs."""

    benchmark: str
    judge_model: str
    remarks: tuple[str, ...]
    runs: tuple[PublishedRun, ...]

    def run(self, slug: str) -> PublishedRun:
        """The run with this slug. Raises KeyError."""
        return {run.slug: run for run in self.runs}[slug]


@cache
def published_results() -> PublishedResults:
    """The shipped results, read once. Raises ShippedDataError if the file was damaged."""
    return read_published_results(SHIPPED_FILE)


def read_published_results(path: Path) -> PublishedResults:
    """Results from a file of the shape of ``lmr_bench_results.json``. Raises ShippedDataError, saying where."""
    fields = read_object(path)
    organisation = fields.text("organisation")
    annotators = _read_annotators(fields.object("human_annotators"))
    results = PublishedResults(
        benchmark=fields.text("benchmark"),
        judge_model=fields.text("judge_model"),
        remarks=fields.texts("remarks"),
        runs=tuple(_read_run(run, organisation, annotators) for run in fields.objects("runs")),
    )
    fields.finish()
    slugs = [run.slug for run in results.runs]
    if repeated := sorted({slug for slug in slugs if slugs.count(slug) > 1}):
        raise ShippedDataError(f"{path.name}: run slug {', '.join(repeated)} is used more than once.")
    return results


def _read_run(fields: Fields, organisation: str, annotators: Mapping[str, int]) -> PublishedRun:
    per_task = _read_tasks(fields.object("tasks"), annotators) if fields.has("tasks") else {}
    run = PublishedRun(
        slug=fields.text("slug"),
        system_name=fields.text("system_name"),
        backbone=fields.text("backbone"),
        vendor=fields.text("vendor"),
        scaffold=fields.text("scaffold"),
        inputs=_choice(Inputs, fields.text("inputs"), where=fields.where),
        organisation=organisation,
        source_address=fields.text("source_address"),
        per_task=per_task,
        totals=_read_totals(fields, per_task),
        printed=_read_printed(fields.object("printed")) if fields.has("printed") else None,
        remarks=fields.texts("remarks"),
    )
    fields.finish()
    for axis in run.axes_that_differ:
        if not run.remarks_on(axis):
            raise ShippedDataError(
                f"{fields.where}: files and paper differ for {axis}; add a remark that begins {axis.remark_prefix!r}."
            )
    return run


def _read_tasks(fields: Fields, annotators: Mapping[str, int]) -> dict[str, PublishedResult]:
    per_task = {
        slug: _read_result(fields.object(slug), annotators.get(slug), where=f"{fields.where}, {slug}")
        for slug in fields.keys_left()
    }
    if per_task.keys() != _task_slugs():
        wrong = ", ".join(sorted(per_task.keys() ^ _task_slugs()))
        raise ShippedDataError(
            f"{fields.where}: expected each task of the benchmark once; missing or unknown: {wrong}."
        )
    for axis in RaterAxis:
        given = {getattr(result, axis) is not None for result in per_task.values()}
        if len(given) > 1:
            raise ShippedDataError(f"{fields.where}: {axis} is given for some tasks only; give all or none.")
    return per_task


def _read_result(fields: Fields, annotator: int | None, *, where: str) -> PublishedResult:
    tests = _choice(TestOutcome, fields.text("tests"), where=where) if fields.has("tests") else None
    human = _choice(Label, fields.text("human"), where=where) if fields.has("human") else None
    result = PublishedResult(
        tests=None if tests is None else tests is TestOutcome.PASSED,
        test_note=NEVER_RAN_NOTE if tests is TestOutcome.NEVER_RAN else "",
        judge=_choice(Label, fields.text("judge"), where=where) if fields.has("judge") else None,
        human=human,
        human_annotator=annotator if human is not None else None,
    )
    fields.finish()
    if human is not None and annotator is None:
        raise ShippedDataError(f"{where}: has a human label, but human_annotators names nobody for it.")
    return result


def _read_totals(fields: Fields, per_task: Mapping[str, PublishedResult]) -> Totals:
    """Totals counted from the tasks, and those that the file states because the tasks were not published."""
    results = per_task.values()
    tests = [result.tests for result in results if result.tests is not None]
    judge = [result.judge for result in results if result.judge is not None]
    human = [result.human for result in results if result.human is not None]
    never_ran = sum(bool(result.test_note) for result in results)
    counted_tests = TestCount(passed=sum(tests), total=len(tests), never_ran=never_ran) if tests else None
    counted_judge = LabelCounts.of(judge) if judge else None
    stated_tests, stated_judge = _read_stated_totals(fields)
    if (counted_tests and stated_tests) or (counted_judge and stated_judge):
        raise ShippedDataError(f"{fields.where}: totals_from_paper repeats what the tasks give; remove it there.")
    stated = ((RaterAxis.TESTS, stated_tests), (RaterAxis.JUDGE, stated_judge))
    return Totals(
        tests=counted_tests or stated_tests,
        judge=counted_judge or stated_judge,
        human=LabelCounts.of(human) if human else None,
        from_paper=frozenset(axis for axis, total in stated if total),
    )


def _read_stated_totals(fields: Fields) -> tuple[TestCount | None, LabelCounts | None]:
    if not fields.has("totals_from_paper"):
        return None, None
    stated = fields.object("totals_from_paper")
    task_count = len(_task_slugs())
    tests = judge = None
    if stated.has("tests"):
        tests = TestCount(passed=stated.whole_number("tests"), total=task_count)
    if stated.has("judge"):
        counts = stated.object("judge")
        judge = LabelCounts(cc=counts.whole_number("CC"), lc=counts.whole_number("LC"), li=counts.whole_number("LI"))
        counts.finish()
    stated.finish()
    if (tests and not 0 <= tests.passed <= task_count) or (judge and judge.total != task_count):
        raise ShippedDataError(f"{stated.where}: counts must fit the benchmark's {task_count} tasks.")
    return tests, judge


def _read_printed(fields: Fields) -> Printed:
    printed = Printed(
        table=fields.text("table"),
        tests=fields.number("tests"),
        judge=_read_shares(fields.object("judge")),
        human=_read_shares(fields.object("human")) if fields.has("human") else None,
    )
    fields.finish()
    return printed


def _read_shares(fields: Fields) -> LabelShares:
    shares = LabelShares(cc=fields.number("CC"), lc=fields.number("LC"), li=fields.number("LI"))
    fields.finish()
    return shares


def _read_annotators(fields: Fields) -> dict[str, int]:
    """Task slug -> number of its annotator; the file lists the tasks of annotator "1", "2", …"""
    annotators: dict[str, int] = {}
    for number, key in enumerate(fields.keys_left(), start=1):
        if key != str(number):
            raise ShippedDataError(f"{fields.where}: expected the key '{number}', found {key!r}.")
        for slug in fields.texts(key):
            if slug not in _task_slugs() or slug in annotators:
                raise ShippedDataError(f"{fields.where}: {slug!r} is no task of the benchmark, or listed twice.")
            annotators[slug] = number
    return annotators


def _choice(kind: type[_Choice], value: str, *, where: str) -> _Choice:
    try:
        return kind(value)
    except ValueError as error:
        allowed = ", ".join(kind)
        raise ShippedDataError(f"{where}: {value!r} is not one of {allowed}.") from error


def _task_slugs() -> set[str]:
    return {task.slug for task in lmr_bench().tasks}
