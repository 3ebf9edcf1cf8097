"""Attacks on the evaluator itself: ``manage.py attack``, a worker's check before its first run, periodic rounds."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchmark_tasks.domain.queries import goal_of
from benchmark_tasks.models import TaskRevision
from evaluator.auditing import canary_round, self_checks
from evaluator.enums import SelfCheckKind
from evaluator.models import SelfCheck
from evaluator.outcomes import Outcome
from evaluator.queue.pushing import opened
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.sandbox.interface import SandboxError
from evaluator.testing import graders
from evaluator.testing.verdicts import Verdict
from tests.attacks.sending import left_behind
from tests.evaluator.processes import PATIENCE_SECONDS, PROJECT_ROOT, environment, running, wait_until

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox

pytestmark = pytest.mark.django_db


def checked(kind: str = SelfCheckKind.SHORT, *, hours_ago: float = 0.0) -> SelfCheck:
    moment = timezone.now() - timedelta(hours=hours_ago)
    return SelfCheck.objects.create(kind=kind, evaluator_version="2", started=moment, finished=moment)


def verdict(outcome: Outcome, log: str = "") -> Verdict:
    return Verdict(outcome=outcome, cases=(), log=log, seconds=0.0)


def attack(*arguments: str) -> tuple[int, str]:
    """Exit code and output of the command."""
    out = io.StringIO()
    try:
        call_command("attack", *arguments, stdout=out)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def no_sandbox(settings: Any) -> None:
    settings.ENVIRONMENT = replace(
        settings.ENVIRONMENT, evaluator_sandbox="bubblewrap", sandbox_python=Path("/nowhere/python3")
    )


class TestCommand:
    # tests/attacks fires the same attacks, and the worker's test keeps a round.
    @pytest.mark.in_full
    @pytest.mark.bubblewrap
    def test_every_attack_is_repelled_and_the_round_is_kept(self, real_sandbox: Sandbox) -> None:
        code, printed = attack()
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        assert (code, lines[:2], lines[-1]) == (
            0,
            ["sealed control right answer passed as expected", "sealed control stub raised as expected"],
            "12 of 12 repelled",
        )
        assert "sealed resources fork bomb timeout repelled" in lines
        kept = SelfCheck.objects.get()
        assert (kept.kind, kept.ok, kept.repelled, len(kept.results)) == (SelfCheckKind.FULL, True, 14, 14)
        assert (kept.sandbox, kept.evaluator_version, kept.error) == (real_sandbox.name, EVALUATOR_VERSION, "")
        assert left_behind() == []

    @pytest.mark.bubblewrap
    def test_a_part_of_the_attacks_is_not_kept_as_a_whole_round(self, real_sandbox: Sandbox) -> None:
        code, printed = attack("--group", "tampering", "--name", "early exit", "--json")
        found = json.loads(printed)
        assert (code, found["ok"], found["attacks"], found["repelled"]) == (0, True, 1, 1)
        assert (found["sandbox"], found["environment"]) == (real_sandbox.name, real_sandbox.environment_digest("numpy"))
        assert [row["attack"] for row in found["results"]] == ["right answer", "stub", "early exit"]
        assert not SelfCheck.objects.exists()

    @pytest.mark.parametrize(
        ("outcome", "log", "line", "last"),
        [
            (Outcome.PASSED, "", "UNEXPECTED, must be any failure.", "stub ended with passed."),
            (Outcome.RAISED, "", "repelled", "right answer ended with raised."),
            (Outcome.RAISED, "attack: ESCAPED /golden.py\n", "UNEXPECTED, must be any failure. /golden.py", ""),
            (
                Outcome.RAISED,
                "attack: held one ()\n",
                "UNEXPECTED, must be any failure. fewer than 6 tries were made",
                "",
            ),
        ],
    )
    def test_a_misjudged_or_successful_attack_exits_with_1(
        self, outcome: Outcome, log: str, line: str, last: str, real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(self_checks, "grade", lambda **_: verdict(outcome, log))
        name = "network" if "held" in log else "golden search"
        code, printed = attack("--name", name)
        assert code == 1
        assert next(row for row in printed.splitlines() if name in row).rstrip().endswith(line)
        assert printed.rstrip().endswith(last)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--name", "Mercury"], "There is no attack 'Mercury'. Known: sleep, fork bomb, "),
            (["--group", "escape", "--name", "sleep"], "The group escape has no attack of that name."),
            (["--short", "--group", "escape"], "--short is a fixed round"),
            (["--short", "--suite", "lmr-mini"], "--short is a fixed round"),
            (["--suite", "nothing"], "There is no suite 'nothing'"),
        ],
    )
    def test_wrong_arguments_are_explained(self, arguments: list[str], message: str) -> None:
        with pytest.raises(CommandError, match=message):
            attack(*arguments)

    @pytest.mark.usefixtures("no_sandbox")
    def test_without_a_sandbox_nothing_is_attacked(self) -> None:
        with pytest.raises(CommandError, match=r"The attacks stopped, because the sandbox failed: .*/python3"):
            attack("--name", "sleep")
        with pytest.raises(
            CommandError, match=r"could not be run, so they show nothing about the evaluator: .*/nowhere/python3"
        ):
            attack("--short")


class TestBeforeTheFirstRun:
    @pytest.mark.redis
    @pytest.mark.bubblewrap
    def test_a_worker_refuses_an_evaluator_that_misjudges(
        self, real_sandbox: Sandbox, redis_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(self_checks, "grade", lambda **_: verdict(Outcome.PASSED))
        with pytest.raises(CommandError) as caught:
            call_command("worker", "--burst")
        assert str(caught.value) == (
            "No worker was started, because the evaluator failed its own check: "
            "stub must end with any failure and ended with passed: "
        )
        kept = SelfCheck.objects.get()
        assert (kept.kind, kept.ok, kept.error, kept.repelled) == (SelfCheckKind.CANARY, False, "", 1)

    @pytest.mark.usefixtures("no_sandbox")
    def test_a_sandbox_that_fails_is_kept_as_the_reason(self) -> None:
        with pytest.raises(self_checks.CanaryError, match="/nowhere/python3"):
            self_checks.run_canary()
        kept = SelfCheck.objects.get()
        assert (kept.kind, kept.ok, kept.sandbox, kept.results) == (SelfCheckKind.CANARY, False, "", [])
        assert "/nowhere/python3" in kept.error


class TestShortRound:
    @pytest.mark.bubblewrap
    @pytest.mark.parametrize("index", [1, 2])
    def test_it_tries_a_scored_task(self, index: int, small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
        TaskRevision.objects.exclude(task__index=index).update(not_runnable_reasons=["left out of this test"])
        check = self_checks.run_short()
        assert (check.error, check.ok, check.sandbox) == ("", True, real_sandbox.name)
        task = f"(small alpha/{index})"
        assert [(row["attack"], row["outcome"], row["expected"]) for row in check.results] == [
            (f"right answer {task}", "passed", "passed"),
            (f"stub {task}", "raised", "any failure"),
            (f"forged report {task}", "tampering", "any failure"),
            (f"golden search {task}", "wrong_output", "any failure"),
        ]
        assert SelfCheck.objects.get() == check

    @pytest.mark.bubblewrap
    def test_a_golden_file_in_a_box_would_be_found(self, small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
        revision = small_version.revisions.get(task__index=1)
        grader = graders.Grader(revision, small_version.seed_epoch)
        with graders.writable_copy(grader.masked_tree) as tree:
            goal_file = tree / revision.goal_file
            goal_file.write_bytes(
                canary_round.hostile_file(
                    canary_round.GOLDEN_SEARCH,
                    goal_file.read_bytes(),
                    goal_of(revision),
                    revision.masked_source,
                    own={"golden_own.py"},
                )
            )
            for name in ("golden_own.py", "core_golden_1.py", "cases.py"):
                (tree / name).write_text("x = 1\n")
            log = grader.grade(tree, label="job-1", private=False).log
        assert {line for line in log.splitlines() if line.startswith("attack")} == {
            "attack: ESCAPED /box/repository/core_golden_1.py",
            "attack: ESCAPED /box/repository/cases.py",
        }

    @pytest.mark.bubblewrap
    def test_without_a_scored_task_the_sites_own_is_used(self, real_sandbox: Sandbox) -> None:
        code, printed = attack("--short")
        assert (code, printed.splitlines()[-1]) == (0, "2 of 2 repelled")
        check = SelfCheck.objects.get()
        assert [row["attack"] for row in check.results] == ["right answer", "stub", "forged report", "golden search"]
        assert check.kind == SelfCheckKind.SHORT

    def test_an_infrastructure_error_is_kept_as_an_error(
        self, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> Verdict:
            raise SandboxError("the engine is gone")

        monkeypatch.setattr(graders.Grader, "grade", fail)
        check = self_checks.run_short()
        assert (check.error, check.results, check.ok) == ("the engine is gone", [], False)

    def test_the_number_of_kept_rounds_per_kind_is_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(self_checks, "KEPT", 2)
        other = checked(SelfCheckKind.FULL, hours_ago=99)
        checked(hours_ago=3)
        middle = checked(hours_ago=2)
        check = self_checks.run_short()
        assert set(SelfCheck.objects.values_list("pk", flat=True)) == {other.pk, middle.pk, check.pk}


class TestWhenItIsDue:
    @pytest.mark.parametrize(("hours_ago", "expected"), [(None, True), (1, False), (5.9, False), (6.1, True)])
    def test_a_round_is_due_after_some_hours(self, hours_ago: float | None, expected: bool) -> None:
        checked(SelfCheckKind.FULL)
        if hours_ago is not None:
            checked(hours_ago=hours_ago)
            checked(hours_ago=hours_ago + 20)
        assert self_checks.due() is expected

    @pytest.mark.parametrize(("hours_ago", "expected"), [(0.1, False), (0.2, True)])
    def test_a_round_that_could_not_be_made_is_tried_again_soon(self, hours_ago: float, expected: bool) -> None:
        check = checked(hours_ago=hours_ago)
        SelfCheck.objects.filter(pk=check.pk).update(error="the engine is gone")
        assert self_checks.due() is expected

    @pytest.mark.redis
    def test_it_is_enqueued_once_and_always_after_the_start(self, redis_url: str) -> None:
        assert [self_checks.push_when_due(), self_checks.push_when_due()] == [True, False]
        with opened() as queue:
            assert [job.func_name for job in queue.jobs] == [self_checks.SELF_CHECK_JOB]
            queue.connection.flushall()
        checked()
        assert [self_checks.push_when_due(), self_checks.push_when_due(started=True)] == [False, True]

    def test_a_queue_that_does_not_answer_is_no_error(self, settings: Any) -> None:
        settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues
        assert self_checks.push_when_due() is False


@pytest.mark.django_db(transaction=True)
@pytest.mark.bubblewrap
@pytest.mark.redis
def test_a_worker_makes_both_rounds(small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str) -> None:
    assert self_checks.push_when_due()
    subprocess.run(
        [sys.executable, "manage.py", "worker", "--burst"],
        cwd=PROJECT_ROOT, env=environment(), check=True, timeout=PATIENCE_SECONDS, capture_output=True,
    )  # fmt: skip
    assert {check.kind: check.ok for check in SelfCheck.objects.all()} == {"canary": True, "short": True}


@pytest.mark.django_db(transaction=True)
@pytest.mark.redis
def test_the_periodic_sweep_enqueues_it_after_the_start(redis_url: str) -> None:
    checked()

    def enqueued() -> bool:
        with opened() as queue:
            return [job.func_name for job in queue.jobs] == [self_checks.SELF_CHECK_JOB]

    with running("reconcile", "--every", "60"):
        wait_until(enqueued, "the sweep to enqueue a round")


def test_a_hostile_body_fits_every_kind_of_goal() -> None:
    with_body = canary_round.with_body
    assert with_body("def f(x):\n    raise NotImplementedError\n", "return 1") == "def f(x):\n    return 1\n"
    method = '    @staticmethod\n    def f(x):\n        """Says\n  little."""\n        pass\n'
    assert with_body(method, "return 1") == "@staticmethod\ndef f(x):\n    return 1\n"
    whole = "class C:\n    n = 1\n\n    def f(self): ...\n    async def g(self): ...\n"
    assert with_body(whole, "return 1") == (
        "class C:\n    n = 1\n\n    def f(self):\n        return 1\n\n    async def g(self):\n        return 1\n"
    )
    for each in canary_round.ATTACKS:
        compile(with_body(whole, each.body), "x", "exec")
