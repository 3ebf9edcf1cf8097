"""Planning runs, and the queue as a hint."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from rq import Queue
from rq.exceptions import DeserializationError
from rq.results import Result
from structlog.testing import capture_logs

from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import TaskRevision
from evaluator.auditing.auditing import push_audit
from evaluator.enums import RunState
from evaluator.jobs import check_next_upload
from evaluator.models import TestRun
from evaluator.queue import pushing
from evaluator.testing import planning
from submissions.domain import uploads
from submissions.enums import SubmissionState
from submissions.models import Upload
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import QueuedSubmissionFactory
from tests.submissions.factories import ImplementationFactory, UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

    from submissions.models import Submission

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def submission_with_every_kind() -> Submission:
    submission = QueuedSubmissionFactory(suite_version=SuiteVersionFactory(tasks=3), answers=False)
    first, second, third = submission.suite_version.revisions.order_by("pk")
    ImplementationFactory(submission=submission, revision=first)
    ImplementationFactory(submission=submission, revision=second, files=None, answer_error={"message": "line 3: no"})
    ImplementationFactory(submission=submission, revision=third, files=None, attempted=False)
    return submission


def test_only_answers_that_need_a_box_are_queued(redis_url: str) -> None:
    submission = submission_with_every_kind()
    (queued,) = planning.plan(submission.pk)
    rows = TestRun.objects.order_by("implementation__revision_id").values_list("pk", "state", "outcome", "reason")
    assert [row[1:] for row in rows] == [
        (RunState.QUEUED, "", ""),
        (RunState.DONE, "bad_patch", "line 3: no"),
        (RunState.DONE, "not_attempted", ""),
    ]
    assert rows[0][0] == queued
    with pushing.opened() as queue:
        (job,) = queue.jobs
    # The run that the job will claim is not known yet, and so neither is its duration.
    assert (job.func_name, job.args, job.kwargs, job.timeout) == ("evaluator.jobs.evaluate_next", [], {}, -1)


def test_the_queue_is_topped_up_to_the_number_of_waiting_runs(redis_url: str) -> None:
    assert pushing.push(2) == 2
    assert pushing.top_up(5) == 3
    assert pushing.top_up(5) == 0
    assert pushing.top_up(1) == 0
    with pushing.opened() as queue:
        assert len(queue) == 5


@pytest.mark.parametrize(
    ("options", "queues"),
    [
        ({}, ["site", "default", "audits"]),
        ({"audits": False}, ["default", "site"]),
        ({"models": True}, ["models", "site"]),
    ],
)
def test_the_order_of_a_workers_queues(options: dict[str, bool], queues: list[str]) -> None:
    """docs/commands.md, ``worker``: without audits, answers come first; workers of every kind check uploaded files."""
    assert pushing.queues_of(**options) == queues


def test_a_cancelled_submission_is_not_planned() -> None:
    submission = QueuedSubmissionFactory(state=SubmissionState.CANCELLED)
    assert planning.plan(submission.pk) == []
    assert not TestRun.objects.exists()


def test_a_queue_that_is_away_is_no_error(settings: Settings) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues
    submission = QueuedSubmissionFactory()
    assert len(planning.plan(submission.pk)) == 2
    assert (pushing.push(3), pushing.top_up(3), pushing.top_up(3, pushing.SITE)) == (0, 0, 0)
    assert TestRun.objects.filter(state=RunState.QUEUED).count() == 2


def _hang_up(server: socket.socket) -> None:
    """Close every connection at once, until ``server`` is shut down."""
    with suppress(OSError):
        while True:
            server.accept()[0].close()


@pytest.mark.parametrize(
    ("redis_url", "left", "logged"),
    [("", "nothing", 0), ("", "stale socket", 0), ("", "server", 3), ("redis://127.0.0.1:1/0", "nothing", 3)],
)
def test_a_queue_that_is_away_is_logged_where_one_should_be(
    settings: Settings, tmp_path: Path, redis_url: str, left: str, logged: int
) -> None:
    """Commands that do their work themselves run without the instance, and so without its own Redis."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, redis_url=redis_url, data_dir=tmp_path)
    settings.RQ_QUEUES = settings.ENVIRONMENT.rq_queues
    address = settings.ENVIRONMENT.embedded_redis_socket
    address.parent.mkdir()
    with ThreadPoolExecutor(1) as pool, socket.socket(socket.AF_UNIX) as server, capture_logs() as logs:
        if left != "nothing":
            server.bind(str(address))  # left behind by a killed Redis
        if left == "server":
            server.listen()
            pool.submit(_hang_up, server)
        assert (pushing.push(3), pushing.top_up(3), pushing.push_check(1)) == (0, 0, False)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
    assert [(each["event"], each["jobs"]) for each in logs] == [("queue_unreachable", n) for n in (3, 3, 1)][:logged]


def test_a_stored_file_is_queued_for_its_check_after_commit(
    redis_url: str, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        uploads.receive(owner=UserFactory(), file=SimpleUploadedFile("a.zip", b"no archive"), described=None, fields={})
        assert jobs_of_uploads() == []
    assert jobs_of_uploads() == [("evaluator.jobs.check_next_upload", [])]
    assert pushing.top_up(1, pushing.SITE) == 0
    check_next_upload()
    assert Upload.objects.get().checked


def jobs_of_uploads() -> list[tuple[Any, list[Any]]]:
    with pushing.opened(pushing.SITE) as queue:
        return [(job.func_name, list(job.args)) for job in queue.jobs]


def test_an_audit_is_enqueued_once_for_each_task_that_has_an_environment(redis_url: str) -> None:
    version = SuiteVersionFactory(tasks=4)
    first, second, third, _ = version.revisions.order_by("pk")
    TaskRevision.objects.filter(pk__in=[first.pk, second.pk, third.pk]).update(audit_state=AuditState.UNAUDITED)
    TaskRevision.objects.filter(pk=third.pk).update(protocol=Protocol.UPSTREAM, environment="")
    assert [push_audit(), push_audit()] == [2, 0]
    with pushing.opened(pushing.AUDITS) as queue:
        jobs = queue.jobs
    with pushing.opened() as queue:
        assert queue.jobs == []
    assert {job.func_name for job in jobs} == {"evaluator.jobs.audit_revision"}
    assert [(job.args, job.timeout) for job in jobs] == [([first.pk], -1), ([second.pk], -1)]
    noted = [revision.audit for revision in version.revisions.order_by("pk")]
    assert noted == [{}, {}, {"obstacle": "the task names no environment that this site has"}, {}]


@pytest.mark.django_db(transaction=True)
def test_planning_twice_at_the_same_moment_plans_once(redis_url: str) -> None:
    submissions = [QueuedSubmissionFactory().pk for _ in range(6)]

    def plan_all(_: int) -> None:
        try:
            for pk in submissions:
                planning.plan(pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(plan_all, range(4)))
    assert TestRun.objects.count() == 12


def test_after_a_check_the_next_file_of_the_same_owner_is_queued(redis_url: str) -> None:
    owner = UserFactory()
    for _ in range(2):
        uploads.receive(owner=owner, file=SimpleUploadedFile("a.zip", b"no archive"), described=None, fields={})
    check_next_upload()
    assert jobs_of_uploads() == [("evaluator.jobs.check_next_upload", [])]
    check_next_upload()
    check_next_upload()
    assert len(jobs_of_uploads()) == 1
    assert Upload.objects.filter(checked=True).count() == 2


@pytest.mark.redis
@pytest.mark.parametrize("name", ["os.mkdir", "evaluator.jobs.missing", "evaluator.jobs.top_up"])
def test_a_foreign_job_in_redis_calls_nothing(redis_url: str, tmp_path: Path, name: str) -> None:
    made = tmp_path / "made"
    with pushing.opened() as queue:
        foreign = Queue(queue.name, connection=queue.connection, serializer="json").enqueue(name, str(made))
        job = queue.fetch_job(foreign.id)
        assert job is not None
        with pytest.raises(LookupError, match="is not a job of this site"):
            job.perform()
    assert not made.exists()


class MakesFolder:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.redis
def test_neither_a_job_nor_a_stored_result_is_unpickled(redis_url: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pushing.opened() as queue:
        pickling = Queue(queue.name, connection=queue.connection, serializer="pickle")
        foreign = pickling.enqueue("evaluator.jobs.check_next_upload", MakesFolder(made))
        Result.create(foreign, Result.Type.SUCCESSFUL, ttl=60, return_value=MakesFolder(made))
        job = queue.fetch_job(foreign.id)
        assert job is not None
        with pytest.raises(DeserializationError):
            job.perform()
        with pytest.raises(ValueError, match="decode"):
            job.return_value()
    assert not made.exists()
