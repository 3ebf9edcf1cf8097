"""Infrastructure errors with real sandboxes: the run waits or is held with a reason, and is never a failed answer."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.utils import InterfaceError, OperationalError

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from evaluator.queue import database
from evaluator.sandbox import configuration
from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError
from evaluator.testing import evaluate, results
from evaluator.testing.golden import GoldenError
from evaluator.testing.infrastructure_errors import infrastructure_error_of
from leaderboard.health.queues import infra_causes, infra_summary
from submissions.enums import SubmissionState
from tests.benchmark_tasks.factories import GOLDEN_1
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def fresh(settings: Any) -> Iterator[Any]:
    """The site's settings, to be changed; the cache of checked sandboxes is cleared before and afterwards."""
    configuration._checked.cache_clear()
    yield settings
    configuration._checked.cache_clear()


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A data folder of half a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=0711", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(file: Path) -> None:
    """Write until the disk has no block left."""
    with file.open("wb", buffering=0) as ballast, suppress(OSError):
        while ballast.write(bytes(4096)):
            pass


def queued(version: SuiteVersion) -> TestRun:
    """A queued run of a right answer to ``alpha/1``."""
    submission = QueuedSubmissionFactory(suite_version=version, answers=False)
    revision = version.revisions.get(task__index=1)
    answer = ImplementationFactory(submission=submission, revision=revision, files={"scoring/core.py": GOLDEN_1})
    made: TestRun = TestRunFactory(implementation=answer)
    return made


def waits(run: TestRun, cause: str) -> str:
    """Evaluate ``run``, check that it waits because of ``cause``, and return the reason that maintainers see."""
    assert evaluate.evaluate_next()
    run.refresh_from_db()
    assert (run.state, run.outcome, run.infra_count) == (RunState.QUEUED, "", 0)
    assert run.reason == f"waiting: {cause}"
    assert [(each["cause"], each["runs"]) for each in infra_summary()] == [(run.reason, 1)]
    (row,) = infra_causes()
    assert (row.runs, row.submissions) == (1, (run.implementation.submission_id,))
    assert Attempt.objects.get().reason == row.reason
    return row.reason


def test_a_full_disk(small_version: SuiteVersion, fresh: Any, real_sandbox: Sandbox, full_disk: Path) -> None:
    run = queued(small_version)
    data = fresh.DATA_DIR
    for there in data.iterdir():
        (full_disk / there.name).symlink_to(there)
    (full_disk / "work").unlink(missing_ok=True)
    (full_disk / "work").mkdir()
    fill(full_disk / "ballast")
    fresh.DATA_DIR = full_disk
    reason = waits(run, "the host's disk is full")
    assert reason.startswith("The disk of DATA_DIR is full, or its quota is used up: free some space on it.")
    # With free space again, the run continues by itself.
    (full_disk / "ballast").unlink()
    TestRun.objects.update(not_before=None)
    assert evaluate.evaluate_next()
    run.refresh_from_db()
    assert (run.outcome, run.reason, infra_summary()) == ("passed", "", [])


@pytest.mark.bubblewrap
def test_bubblewrap_that_is_missing(
    small_version: SuiteVersion, fresh: Any, bubblewrap: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = queued(small_version)
    for name in ("python3", "setpriv"):
        found = shutil.which(name)
        if found:
            (tmp_path / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    fresh.ENVIRONMENT = replace(fresh.ENVIRONMENT, evaluator_sandbox="bubblewrap")
    reason = waits(run, "no sandbox works on the evaluator's machine")
    assert "bwrap is not on PATH: install it (Debian: apt-get install bubblewrap)" in reason
    with pytest.raises(CommandError, match="bwrap is not on PATH"):
        call_command("worker", "--burst")


def test_each_error_has_a_public_and_an_internal_reason() -> None:
    full = OSError(28, "No space left on device", "/srv/x")
    cases = [
        (full, "the host's disk is full", True),
        (shutil.Error([("a", "b", str(full))]), "the host's disk is full", True),
        (PermissionError(13, "Permission denied", "/srv/x"), "the host failed", False),
        (SandboxError("/srv/x"), "an error of the evaluator", False),
        (SandboxUnavailableError("/srv/x", public="no engine"), "no engine", True),
        (GoldenError("seed 12: /srv/x"), "the task's reference could not be run", False),
        (OperationalError("/srv/x"), "the database did not answer", True),
        (InterfaceError("/srv/x"), "the database did not answer", True),
        (KeyError("/srv/x"), "an error of the evaluator", False),
    ]
    copied = infrastructure_error_of(shutil.Error([("a", "b", str(full)), ("c", "d", "further texts")]))
    assert copied.reason.endswith("free some space on it. ([Errno 28] No space left on device: '/srv/x')")
    for error, public, everywhere in cases:
        infra = infrastructure_error_of(error)
        assert (infra.public, infra.everywhere) == (public, everywhere), error
        assert ("/srv/x" in infra.reason) is (not isinstance(error, GoldenError)), error


# The database is away for a moment


def test_a_result_is_stored_although_the_database_is_away_for_a_moment(
    small_version: SuiteVersion, real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queued(small_version)
    accept, away = results.accept, iter([OperationalError("terminated"), InterfaceError("closed"), None])

    def sometimes(*arguments: Any, **named: Any) -> bool:
        if error := next(away):
            raise error
        return accept(*arguments, **named)

    monkeypatch.setattr(results, "accept", sometimes)
    assert evaluate.evaluate_next()
    run.refresh_from_db()
    assert (run.state, run.outcome) == (RunState.DONE, "passed")
    assert Attempt.objects.get().state == AttemptState.ACCEPTED


def test_a_verdict_whose_commit_was_not_confirmed_counts_once(
    small_version: SuiteVersion, real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queued(small_version)
    accept, calls = results.accept, []

    def unconfirmed(*arguments: Any, **named: Any) -> bool:
        calls.append(accept(*arguments, **named))
        if len(calls) == 1:
            raise OperationalError("terminated")
        return calls[-1]

    monkeypatch.setattr(results, "accept", unconfirmed)
    assert evaluate.evaluate_next()
    run.refresh_from_db()
    assert (run.outcome, calls, Attempt.objects.get().state) == ("passed", [True, False], AttemptState.ACCEPTED)
    assert run.implementation.submission.state == SubmissionState.SCORED


def test_retries_end() -> None:
    calls = []

    def never() -> None:
        calls.append(1)
        raise OperationalError("gone for good")

    with pytest.raises(OperationalError):
        database.retry(never, seconds=0.5)
    assert 2 <= len(calls) <= 4
    with pytest.raises(ZeroDivisionError):
        database.retry(lambda: 1 // 0)
