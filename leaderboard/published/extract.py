"""Make the shipped published results from upstream's raw files. No Django here.

``python -m leaderboard.published.extract FOLDER [--output FILE]`` reads the folder that holds upstream's ``results``
and writes ``lmr_bench_results.json``; the same folder always gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark_tasks.facts.lmr_bench import lmr_bench
from leaderboard.published.compact_json import compact_json
from leaderboard.published.labels import LabelShares, percentage
from leaderboard.published.paper_tables import GENERAL_REMARKS, JUDGE_MODEL, MODEL_NAMES, REPORTED_RUNS, run_slug
from leaderboard.published.records import SHIPPED_FILE, Inputs, Printed
from leaderboard.published.upstream import UpstreamRun, read_upstream
from leaderboard.published.upstream_texts import Agent, UpstreamFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmark_tasks.facts.lmr_bench import BenchmarkFacts
    from leaderboard.published.paper_tables import ReportedRun


def extract(folder: Path, reported_runs: Sequence[ReportedRun] = REPORTED_RUNS) -> str:
    """The text of the shipped file. Raises UpstreamFormatError or FileNotFoundError as ``read_upstream`` does."""
    facts = lmr_bench()
    upstream = read_upstream(folder, facts)
    runs = {(run.agent, run.model): run for run in upstream.runs}
    reported = {(run.agent, run.model) for run in reported_runs}
    if unknown := runs.keys() - reported:
        raise UpstreamFormatError(
            f"{folder.name}: results of unknown runs {sorted(unknown)}; add them to paper_tables."
        )
    return compact_json(
        {
            "benchmark": "lmr-bench",
            "organisation": facts.organisation,
            "judge_model": JUDGE_MODEL,
            "remarks": list(GENERAL_REMARKS),
            "human_annotators": _tasks_by_annotator(upstream.annotators, facts),
            "runs": [_run(run, _files_of(run, runs), facts) for run in reported_runs],
        }
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: 0 when written, 1 when the folder cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m leaderboard.published.extract", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder that holds upstream's 'results'")
    parser.add_argument(
        "--output", type=Path, default=SHIPPED_FILE, help="the file to write (default: the shipped one)"
    )
    options = parser.parse_args(arguments)
    try:
        text = extract(options.folder)
    except (UpstreamFormatError, FileNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    options.output.write_text(text, encoding="utf-8")
    sys.stdout.write(f"Wrote {options.output.name}: {len(REPORTED_RUNS)} runs.\n")
    return 0


def _files_of(reported: ReportedRun, runs: Mapping[tuple[Agent, str], UpstreamRun]) -> UpstreamRun:
    """The run's files; empty for the reduced inputs, of which the paper gives totals only."""
    nothing = UpstreamRun(agent=reported.agent, model=reported.model, tests={}, judge={}, human={})
    if reported.inputs is not Inputs.FULL:
        return nothing
    return runs.get((reported.agent, reported.model), nothing)


def _run(reported: ReportedRun, files: UpstreamRun, facts: BenchmarkFacts) -> dict[str, Any]:
    backbone, vendor = MODEL_NAMES[reported.model]
    agent = "OpenHands" if reported.agent is Agent.OPENHANDS else "none"
    run: dict[str, Any] = {
        "slug": run_slug(reported.agent, reported.model, reported.inputs),
        "system_name": backbone if agent == "none" else f"{agent} ({backbone})",
        "backbone": backbone,
        "vendor": vendor,
        "scaffold": agent,
        "inputs": reported.inputs.value,
        "source_address": facts.paper_address if reported.printed else facts.repository_address,
        "remarks": list(reported.remarks),
    }
    if reported.printed:
        run["printed"] = _printed(reported.printed)
        run |= _totals_from_paper(reported.printed, files, task_count=len(facts.tasks))
    if tasks := {task.slug: _result(files, task.slug) for task in facts.tasks if _result(files, task.slug)}:
        run["tasks"] = tasks
    return run


def _result(files: UpstreamRun, slug: str) -> dict[str, str]:
    by_rater = {"tests": files.tests, "judge": files.judge, "human": files.human}
    return {rater: str(results[slug]) for rater, results in by_rater.items() if slug in results}


def _totals_from_paper(printed: Printed, files: UpstreamRun, *, task_count: int) -> dict[str, Any]:
    """Counts worked back from the paper's percentages, for the raters without files."""
    totals: dict[str, Any] = {}
    if not files.tests:
        totals["tests"] = _count_of(printed.tests, task_count)
    if not files.judge:
        totals["judge"] = {label: _count_of(share, task_count) for label, share in _shares(printed.judge).items()}
    return {"totals_from_paper": totals} if totals else {}


def _count_of(share: float, task_count: int) -> int:
    """The one count of tasks whose percentage the paper prints as ``share``."""
    counts = [count for count in range(task_count + 1) if percentage(count, task_count) == share]
    if len(counts) != 1:
        raise UpstreamFormatError(f"{share} % is not the share of a whole number of {task_count} tasks.")
    return counts[0]


def _printed(printed: Printed) -> dict[str, Any]:
    values: dict[str, Any] = {"table": printed.table, "tests": printed.tests, "judge": _shares(printed.judge)}
    if printed.human:
        values["human"] = _shares(printed.human)
    return values


def _shares(shares: LabelShares) -> dict[str, float]:
    return {"CC": shares.cc, "LC": shares.lc, "LI": shares.li}


def annotator_numbers(annotators: Mapping[str, int], facts: BenchmarkFacts) -> dict[str, int]:
    """Task slug -> annotator, numbered by first task in the benchmark's order, so that no name can be read off."""
    numbers: dict[int, int] = {}
    rated = [task.slug for task in facts.tasks if task.slug in annotators]
    return {slug: numbers.setdefault(annotators[slug], len(numbers) + 1) for slug in rated}


def _tasks_by_annotator(annotators: Mapping[str, int], facts: BenchmarkFacts) -> dict[str, list[str]]:
    tasks: dict[str, list[str]] = {}
    for slug, number in annotator_numbers(annotators, facts).items():
        tasks.setdefault(str(number), []).append(slug)
    return tasks


if __name__ == "__main__":
    sys.exit(main())
