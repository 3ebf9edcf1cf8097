"""Measure pages about many answers.

Fills LMR-Mini of an instance of its own with submissions whose answers are all tested, and labelled by the judge that
the board shows. Then requests pages about them from two web processes, one at a time, each after a change of the data.
"""

from __future__ import annotations

import random
import subprocess
import time
from typing import TYPE_CHECKING

from tests.perf.boards import WARMED, get, instance
from tests.perf.rows import Goal, Row, p95
from tests.perf.suites import MANAGE, PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmark_tasks.models import TaskRevision
    from submissions.models import Submission

SUITE = "lmr-mini"
GOAL = Goal(plus=0.4)
SUBMISSIONS, REQUESTS = 3_000, 8
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


def measure(*, rounds: int, **_: object) -> list[Row]:
    """Return a row for each page: the 95th percentile of :data:`REQUESTS` requests a round."""
    rows = []
    with instance():
        task = fill(SUBMISSIONS)
        subprocess.run([*MANAGE, "analyse", "--suite", SUITE], cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)
        for name, path in PAGES.items():
            address, took = path.format(task=task), list[float]()
            for _round in range(WARMED + REQUESTS * rounds):
                change()
                started = time.perf_counter()
                get(address)
                took.append(time.perf_counter() - started)
            rows.append(Row(f"page {name}, {SUBMISSIONS:,} submissions, p95", p95(took[WARMED:]), goal=GOAL))
    return rows
