"""The short round that the live system is tried with, and when it is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from benchmark_tasks.domain.queries import goal_of
from benchmark_tasks.models import TaskRevision
from evaluator.attacks import goals
from evaluator.auditing import self_checks
from evaluator.enums import SelfCheckKind
from evaluator.models import SelfCheck
from evaluator.queue.queueing import opened
from evaluator.sandbox.types import SandboxError
from evaluator.testing import graders
from evaluator.testing.types import Outcome, Verdict
from submissions.answers.splice import splice
from tests.evaluator.processes import PATIENCE_SECONDS, PROJECT_ROOT, environment, running, wait_until

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox


def checked(kind: str = SelfCheckKind.SHORT, *, hours_ago: float = 0.0) -> SelfCheck:
    moment = timezone.now() - timedelta(hours=hours_ago)
    return SelfCheck.objects.create(kind=kind, evaluator_version="2", started=moment, finished=moment)


def verdict(outcome: Outcome, log: str = "") -> Verdict:
    return Verdict(outcome=outcome, cases=(), log=log, seconds=0.0)


@pytest.mark.django_db
@pytest.mark.bubblewrap
@pytest.mark.parametrize("index", [1, 2])
def test_the_short_round_tries_a_scored_task(index: int, small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    TaskRevision.objects.exclude(task__index=index).update(not_runnable_reasons=["left out of this test"])
    check = self_checks.run_short()
    assert (check.error, check.ok, check.sandbox) == ("", True, real_sandbox.name)
    task = f"(small alpha/{index})"
    assert [(row["attack"], row["outcome"], row["expected"]) for row in check.results] == [
        (f"golden answer {task}", "passed", "passed"),
        (f"stub {task}", "raised", "any failure"),
        (f"forged report {task}", "tampering", "any failure"),
        (f"golden search {task}", "wrong_output", "any failure"),
    ]
    assert SelfCheck.objects.get() == check


@pytest.mark.django_db
@pytest.mark.bubblewrap
def test_a_golden_file_in_a_box_would_be_found(small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    revision = small_version.revisions.get(task__index=1)
    grader = graders.Grader(revision, small_version.seed_epoch)
    source = goals.with_body(revision.masked_source, goals.golden_search({"golden_own.py"}))
    with graders.writable_copy(grader.masked_tree) as tree:
        for name in ("golden_own.py", "core_golden_1.py", "cases.py"):
            (tree / name).write_text("x = 1\n")
        goal_file = tree / revision.goal_file
        goal_file.write_bytes(splice(goal_file.read_bytes(), goal_of(revision), source.encode()))
        log = grader.grade(tree, label="job-1", private=False).log
    assert {line for line in log.splitlines() if line.startswith("attack")} == {
        "attack: ESCAPED /box/repository/core_golden_1.py",
        "attack: ESCAPED /box/repository/cases.py",
    }


@pytest.mark.django_db
@pytest.mark.bubblewrap
def test_without_a_scored_task_the_corpus_has_one(real_sandbox: Sandbox) -> None:
    check = self_checks.run_short()
    assert [row["attack"] for row in check.results] == ["right answer", "stub", "golden search", "forged log"]
    assert check.ok


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("answer", "repelled"),
    [
        (verdict(Outcome.PASSED), [True, False, False, False]),
        (verdict(Outcome.WRONG_OUTPUT), [False, True, True, True]),
        (verdict(Outcome.WRONG_OUTPUT, "attack: ESCAPED /box/golden.py\n"), [False, False, False, False]),
    ],
)
def test_an_evaluator_that_misjudges_is_found_out(
    answer: Verdict, repelled: list[bool], small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graders.Grader, "grade", lambda *_args, **_options: answer)
    check = self_checks.run_short()
    assert [row["repelled"] for row in check.results] == repelled
    assert not check.ok


@pytest.mark.django_db
def test_a_fault_of_ours_is_kept_as_an_error(small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Verdict:
        raise SandboxError("the engine is gone")

    monkeypatch.setattr(graders.Grader, "grade", fail)
    check = self_checks.run_short()
    assert (check.error, check.results, check.ok) == ("the engine is gone", [], False)


@pytest.mark.django_db
def test_only_so_many_rounds_of_a_kind_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_checks, "KEPT", 2)
    other = checked(SelfCheckKind.FULL, hours_ago=99)
    checked(hours_ago=3)
    middle = checked(hours_ago=2)
    check = self_checks.run_short()
    assert set(SelfCheck.objects.values_list("pk", flat=True)) == {other.pk, middle.pk, check.pk}


@pytest.mark.django_db
@pytest.mark.parametrize(("hours_ago", "expected"), [(None, True), (1, False), (5.9, False), (6.1, True)])
def test_a_round_is_due_after_some_hours(hours_ago: float | None, expected: bool) -> None:
    checked(SelfCheckKind.FULL)
    if hours_ago is not None:
        checked(hours_ago=hours_ago)
        checked(hours_ago=hours_ago + 20)
    assert self_checks.due() is expected


@pytest.mark.django_db
@pytest.mark.parametrize(("hours_ago", "expected"), [(0.1, False), (0.2, True)])
def test_a_round_that_could_not_be_made_is_tried_again_soon(hours_ago: float, expected: bool) -> None:
    check = checked(hours_ago=hours_ago)
    SelfCheck.objects.filter(pk=check.pk).update(error="the engine is gone")
    assert self_checks.due() is expected


@pytest.mark.django_db
@pytest.mark.redis
def test_it_is_asked_for_once(redis_url: str) -> None:
    assert [self_checks.push_when_due(), self_checks.push_when_due()] == [True, False]
    with opened() as queue:
        assert [job.func_name for job in queue.jobs] == [self_checks.SELF_CHECK_JOB]


@pytest.mark.django_db
@pytest.mark.redis
def test_after_the_start_it_is_asked_for_in_any_case(redis_url: str) -> None:
    checked()
    assert [self_checks.push_when_due(), self_checks.push_when_due(started=True)] == [False, True]


@pytest.mark.django_db
def test_a_queue_that_does_not_answer_is_no_fault(settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues
    assert self_checks.push_when_due() is False


@pytest.mark.django_db(transaction=True)
@pytest.mark.bubblewrap
@pytest.mark.redis
def test_a_worker_makes_it(small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str) -> None:
    assert self_checks.push_when_due()
    subprocess.run(
        [sys.executable, "manage.py", "worker", "--burst"],
        cwd=PROJECT_ROOT, env=environment(), check=True, timeout=PATIENCE_SECONDS, capture_output=True,
    )  # fmt: skip
    assert {check.kind: check.ok for check in SelfCheck.objects.all()} == {"canary": True, "short": True}


@pytest.mark.django_db(transaction=True)
@pytest.mark.redis
def test_the_periodic_sweep_asks_for_it_after_the_start(redis_url: str) -> None:
    checked()

    def asked() -> bool:
        with opened() as queue:
            return [job.func_name for job in queue.jobs] == [self_checks.SELF_CHECK_JOB]

    with running("reconcile", "--every", "60"):
        wait_until(asked, "the sweep to ask for a round")


def test_a_hostile_body_fits_every_kind_of_goal() -> None:
    assert goals.with_body("def f(x):\n    raise NotImplementedError\n", "return 1") == "def f(x):\n    return 1\n"
    method = '    @staticmethod\n    def f(x):\n        """Says\n  little."""\n        pass\n'
    assert goals.with_body(method, "return 1") == "@staticmethod\ndef f(x):\n    return 1\n"
    whole = "class C:\n    n = 1\n\n    def f(self): ...\n    async def g(self): ...\n"
    assert goals.with_body(whole, "return 1") == (
        "class C:\n    n = 1\n\n    def f(self):\n        return 1\n\n    async def g(self):\n        return 1\n"
    )
    compile(goals.with_body(whole, goals.golden_search(())), "x", "exec")
    compile(goals.with_body(whole, goals.FORGED_REPORT), "x", "exec")
