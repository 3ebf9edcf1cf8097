"""Measure pages about many answers: ``python -m tests.perf.benchmark_pages [--submissions 3000]``. Not a test.

Fills LMR-Mini of an instance of its own with submissions whose answers are all tested, and labelled by the judge that
the board shows. Then requests pages about them from two web processes, each time after a change of the data. Prints
milliseconds (median and 95th percentile, one request at a time, after a warm-up).
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.perf.benchmark_board import WARMED, get, instance
from tests.perf.benchmark_suite import MANAGE, PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmark_tasks.models import TaskRevision
    from submissions.models import Submission

SUITE = "lmr-mini"
MOST = 400.0
OUTCOMES = ("passed", "wrong_output")
PAGES = {
    "board": f"/board/{SUITE}/",
    "matrix": f"/board/{SUITE}/matrix/",
    "task": f"/suites/{SUITE}/tasks/{{task}}/",
    "system": "/systems/benchmark-7/",
    "agreement": f"/agreement/{SUITE}/?first=tests&second=judge:benchmark",
    "analysis": f"/analysis/{SUITE}/",
    "cases": "/cases/",
}


def fill(number: int) -> str:
    """Make the submissions with their rows; return the address of a task."""
    from django.utils import timezone

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig, ShownJudge
    from leaderboard.board.entries import recompute_submission
    from leaderboard.board.ranks import rank_outdated
    from submissions.models import Submission, System, User

    version = SuiteVersion.objects.get(suite__slug=SUITE)
    owner = User.objects.create(username="benchmark")
    judge = JudgeConfig.objects.create(
        slug="benchmark", name="Benchmark", provider="openai", api="chat", base_url="https://models.example.org/v1",
        model="judge", prompt_version="1", prompt_hash="0" * 64, schema_hash="0" * 64, sdk="none", digest="0" * 64,
    )  # fmt: skip
    ShownJudge.objects.create(suite=version.suite, config=judge)
    now = timezone.now()
    facts = {"owner": owner, "suite_version": version, "state": "scored", "visibility": "published"}
    systems = System.objects.bulk_create(
        System(slug=f"benchmark-{each}", name=f"System {each}", backbone=f"model-{each % 40}", owner=owner)
        for each in range(number)
    )
    submissions = Submission.objects.bulk_create(
        Submission(system=system, published_at=now, bundle_digest=f"{system.pk:064d}", **facts) for system in systems
    )
    revisions = list(version.revisions.select_related("task__paper"))
    for start in range(0, number, 500):
        _measure(submissions[start : start + 500], revisions, judge.pk)
    for submission in submissions:
        recompute_submission(submission.pk)
    rank_outdated()
    task = revisions[0].task
    return f"{task.paper.slug}/{task.index}"


def _measure(submissions: Sequence[Submission], revisions: Sequence[TaskRevision], judge: int) -> None:
    from django.utils import timezone

    from evaluator.models import Judgement, TestRun
    from submissions.models import Implementation

    chance, now = random.Random(submissions[0].pk), timezone.now()  # noqa: S311 - figures to look at
    answers = Implementation.objects.bulk_create(
        Implementation(submission=submission, revision=revision, attempted=True, goal_source="def f():\n    pass\n")
        for submission in submissions
        for revision in revisions
    )
    ended = {"state": "done", "finished": now}
    TestRun.objects.bulk_create(
        TestRun(implementation=answer, outcome=chance.choice(OUTCOMES), evaluator_version="1", **ended)
        for answer in answers
    )
    Judgement.objects.bulk_create(
        Judgement(implementation=answer, config_id=judge, label=chance.choice(("CC", "LC", "LI")), **ended)
        for answer in answers
    )


def change() -> None:
    """Increase the version of the board's data, as any change does."""
    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.states import note_change

    note_change(SuiteVersion.objects.get(suite__slug=SUITE).pk)


def main() -> None:
    """Measure each page and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=3_000, help="default: %(default)s")
    parser.add_argument("--requests", type=int, default=40, help="of each page; default: %(default)s")
    options = parser.parse_args()
    with instance():
        task = fill(options.submissions)
        subprocess.run([*MANAGE, "analyse", "--suite", SUITE], cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)
        sys.stdout.write(
            f"load {os.getloadavg()[0]:.1f}; {options.submissions:,} submissions to {SUITE}; milliseconds; "
            f"target of every 95th percentile: {MOST:.0f}\n| page | median | p95 |\n|---|---|---|\n"
        )
        for name, path in PAGES.items():
            address, took = path.format(task=task), []
            for _ in range(WARMED + options.requests):
                change()
                started = time.perf_counter()
                get(address)
                took.append(1000 * (time.perf_counter() - started))
            took = took[WARMED:]
            p95 = statistics.quantiles(took, n=20)[-1]
            sys.stdout.write(f"| {name} | {statistics.median(took):.0f} | {p95:.0f} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
