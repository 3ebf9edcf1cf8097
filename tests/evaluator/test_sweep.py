"""The sweep resumes what is unfinished in the database."""

from __future__ import annotations

import io
import os
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.utils import timezone
from structlog.testing import capture_logs

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.models import SeedEpoch
from evaluator.enums import GenerationState, RunState, WorkState
from evaluator.models import AnswerRequest, TestRun
from evaluator.queue import leases, pushing
from evaluator.sandbox.interface import SandboxUnavailableError
from evaluator.signals import reconciled
from evaluator.sweep import Sweep, expire_leases, reconcile, sweep_host
from evaluator.testing import claims
from evaluator.testing.golden import UNUSED_DAYS, GoldenFolder
from leaderboard.models import Entry
from submissions.enums import SubmissionState
from submissions.models import Upload
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.measures import counted
from tests.submissions.factories import UploadFactory, UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_django import Settings

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_a_submission_whose_planning_was_lost_is_planned(redis_url: str) -> None:
    QueuedSubmissionFactory()
    assert reconcile().planned == 2
    assert TestRun.objects.filter(state=RunState.QUEUED).count() == 2


def test_a_dead_workers_run_waits_again(redis_url: str) -> None:
    runs_of(QueuedSubmissionFactory(suite_version=SuiteVersionFactory(tasks=1)))
    claims.claim_next(worker="dead")
    TestRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    names = (("leases_expired_total", "TestRun"), ("infrastructure_errors_total", "queued", "TestRun"))
    before = [counted(*name) for name in names]
    sweep = reconcile()
    assert (sweep.expired, sweep.pushed) == (1, 0)
    assert [counted(*name) - old for name, old in zip(names, before, strict=True)] == [1, 1]
    # It waits a while, as after any infrastructure error.
    TestRun.objects.update(not_before=timezone.now() - timedelta(seconds=1))
    assert reconcile().pushed == 1


def test_a_generation_whose_request_killed_three_workers_is_held(redis_url: str) -> None:
    generation = endpoint_run(UserFactory(), WorkState.QUEUED)
    names = [("infrastructure_errors_total", then, "AnswerRequest") for then in ("queued", "held")]
    before = [counted(*name) for name in names]
    for _ in range(3):
        assert leases.claim(AnswerRequest, generation.requests.get().pk)
        AnswerRequest.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert expire_leases() == 1
    generation.refresh_from_db()
    assert (generation.state, generation.reason) == (GenerationState.HELD, leases.LEASE_LOST)
    assert [counted(*name) - old for name, old in zip(names, before, strict=True)] == [2, 1]


def test_reference_outputs_that_are_no_longer_used_are_removed(redis_url: str, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    store = GoldenFolder(tmp_path / "golden")
    for key in ("old", "used", "new"):
        store.put(key, b"outputs")
    long_ago = time.time() - (UNUSED_DAYS + 1) * 24 * 3600
    for key in ("old", "used"):
        os.utime(tmp_path / "golden" / key, (long_ago, long_ago))
    assert store.get("used") == b"outputs"
    reconcile()
    assert [key for key in ("old", "used", "new") if store.get(key)] == ["used", "new"]


def test_a_submission_whose_last_event_was_lost_is_finalised_and_gets_its_row(redis_url: str) -> None:
    submission = QueuedSubmissionFactory(state=SubmissionState.RUNNING)
    runs_of(submission, "passed", "raised")
    reconcile()
    submission.refresh_from_db()
    assert submission.state == SubmissionState.SCORED
    assert Entry.objects.get().submission == submission


def test_uploads_that_were_not_submitted_are_discarded_after_a_day(redis_url: str) -> None:
    old, young = UploadFactory(), UploadFactory()
    Upload.objects.filter(pk=old.pk).update(created=timezone.now() - timedelta(hours=25))
    Upload.objects.filter(pk=young.pk).update(created=timezone.now() - timedelta(hours=23))
    reconcile()
    assert list(Upload.objects.values_list("pk", flat=True)) == [young.pk]


def test_files_that_wait_for_their_check_are_pushed_again(redis_url: str) -> None:
    UploadFactory(checked=False)
    lost = UploadFactory(checked=False, checking_since=timezone.now() - timedelta(minutes=6), tries=3)
    reconcile()
    reconcile()
    with pushing.opened(pushing.SITE) as queue:
        assert [job.func_name for job in queue.jobs] == ["evaluator.jobs.check_next_upload"]
    lost.refresh_from_db()
    assert (lost.checked, lost.report["infrastructure_error"]) == (True, True)


def test_stored_files_without_a_row_are_removed(
    redis_url: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(garbage, "GRACE", timedelta(seconds=-1))
    cache.clear()
    SeedEpoch.objects.create(suite=SuiteFactory(), number=1)
    orphan = content.file_path(content.put_file(b"orphan"))
    reconcile()
    assert not orphan.exists()


def test_the_sweep_does_the_rest_while_the_storage_does_not_answer(
    redis_url: str, storage_away: Callable[[], AbstractContextManager[None]], caplog: pytest.LogCaptureFixture
) -> None:
    cache.clear()
    submission = QueuedSubmissionFactory(state=SubmissionState.RUNNING)
    runs_of(submission, "passed", "raised")
    with storage_away():
        assert isinstance(reconcile(), Sweep)
    submission.refresh_from_db()
    assert submission.state == SubmissionState.SCORED
    assert cache.add("content-swept", True)  # it is still due


def test_a_failing_receiver_does_not_stop_the_sweep(redis_url: str) -> None:
    def fails(**_: object) -> None:
        raise RuntimeError("a receiver's fault")

    reconciled.connect(fails)
    try:
        assert isinstance(reconcile(), Sweep)
    finally:
        reconciled.disconnect(fails)


def test_the_command_prints_its_counts(redis_url: str) -> None:
    runs_of(QueuedSubmissionFactory())
    out = io.StringIO()
    call_command("reconcile", stdout=out)
    assert out.getvalue() == "leases expired: 0, runs planned: 0, runs pushed: 2, boxes removed: 0\n"
    assert reconcile().pushed == 0


@pytest.mark.parametrize(("pools", "level"), [(["tests"], "warning"), (["model_calls"], "debug")])
def test_only_a_host_that_evaluates_warns_of_a_missing_sandbox(
    pools: list[str], level: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise SandboxUnavailableError("no sandbox works here")

    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, pools=pools)
    monkeypatch.setattr("evaluator.sweep.configured_sandbox", refuse)
    with capture_logs() as logs:
        assert sweep_host() == 0
    assert logs == [{"event": "reap_failed", "error": "no sandbox works here", "log_level": level}]
