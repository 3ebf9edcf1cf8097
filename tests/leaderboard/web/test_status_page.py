"""Endpoints for monitoring, and the status page: good and bad states, and hidden details."""

from __future__ import annotations

import json
import re
import socket
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, connection
from django.utils import timezone
from rq import Worker
from rq.serializers import JSONSerializer
from rq.utils import utcformat

from benchmark_tasks.domain import garbage
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.enums import AttemptState, BuildState, GenerationState, RunState, SelfCheckKind, WorkState
from evaluator.management.commands.worker import MONITORING_SECONDS, WORKER_TTL_SECONDS
from evaluator.models import Attempt, EnvironmentBuild, Host, SelfCheck, TestRun
from evaluator.queue.listening import LISTENING
from evaluator.queue.pushing import MODELS, RUNS, opened
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from leaderboard.health import status as domain
from leaderboard.health.queues import infra_summary, queue_state
from leaderboard.settings.releases import version
from submissions.enums import SubmissionState
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.leaderboard.showing import words_of
from tests.submissions.factories import SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings
    from rq import Queue

pytestmark = pytest.mark.django_db


def no_database(*_arguments: object) -> None:
    raise DatabaseError("gone")


def test_healthz_needs_no_other_service(client: Client) -> None:
    with connection.execute_wrapper(no_database):
        response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"process": "up"})
    assert "no-store" in response["Cache-Control"]


@pytest.mark.redis
def test_ready_when_database_and_queue_answer(client: Client, redis_url: str) -> None:
    response = client.get("/readyz")
    parts = {"database": "reachable", "queue": "reachable", "storage": "reachable"}
    assert (response.status_code, response.json()) == (200, parts)


def test_not_ready_without_queue(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url=f"unix://{tmp_path}/none.sock").rq_queues
    response = client.get("/readyz")
    parts = {"database": "reachable", "queue": "unreachable", "storage": "reachable"}
    assert (response.status_code, response.json()) == (503, parts)


@pytest.mark.redis
def test_not_ready_without_database(client: Client, redis_url: str) -> None:
    with connection.execute_wrapper(no_database):
        response = client.get("/readyz")
    parts = {"database": "unreachable", "queue": "reachable", "storage": "reachable"}
    assert (response.status_code, response.json()) == (503, parts)


@pytest.mark.redis
def test_ready_while_the_bucket_answers(
    client: Client, redis_url: str, storage_url: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (client.get("/readyz").status_code, client.get("/readyz").json()["storage"]) == (200, "reachable")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url="s3+http://k:s@127.0.0.1:1/b")
    response = client.get("/readyz")
    # Most pages need no file: the host stays in service.
    assert (response.status_code, response.json()["storage"]) == (200, "unreachable")


def test_hosts_are_listed_with_what_is_wrong(client: Client) -> None:
    facts: dict[str, Any] = {"pools": ["tests"], "sandbox": "bubblewrap", "environments": {"numpy": "sha256:n"}}
    now = timezone.now()
    known = {**facts, "version": version()}
    Host.objects.create(name=f"{SECRET}-a", seen=now, clock_off=600.0, memory_mb=2048, disk_mb=10_240, **known)
    Host.objects.create(name=f"{SECRET}-b", seen=now - timedelta(minutes=3), **facts | {"version": "0.1.0"})
    Host.objects.create(name=f"{SECRET}-c", seen=now, pools=["tests"], problem=SECRET, unready={"torch": SECRET})
    page, data = client.get("/status/").content.decode(), client.get("/status.json").json()
    wrong = [
        "Host 1 has a clock that is +600 s off.",
        "Host 2 has been silent for more than 100 seconds.",
        "Host 3 cannot run boxes.",
    ]
    assert [each for each in data["troubles"] if each.startswith("Host")] == wrong
    assert "No host that is up does this work, so it waits: model_calls, builds, site." in data["troubles"]
    assert all(each.replace("+", "+") in page for each in wrong)
    assert re.findall(r"badge warning\">(version [^<]+)", page) == ["version 0.1.0", "version unknown"]
    assert [each["version"] for each in data["hosts"]] == [version(), "0.1.0", ""]
    assert SECRET not in page + json.dumps(data)
    assert [(each["number"], each["live"], each["environments"]) for each in data["hosts"]] == [
        (1, True, ["numpy"]),
        (2, False, ["numpy"]),
        (3, True, []),
    ]
    assert "2.0 GB memory, 10.0 GB disk" in words_of(client.get("/status/")).replace("\xa0", " ")
    client.force_login(UserFactory(is_staff=True))
    shown = words_of(client.get("/status/"))
    assert (f"1 {SECRET}-a" in shown, f"{SECRET}-c, torch: {SECRET}" in shown) == (True, True)


def test_missing_files_are_a_problem(client: Client) -> None:
    assert client.get("/status.json").json()["missing_files"] == 0
    SubmissionFactory(bundle="0" * 64, suite_version__suite__slug="x")
    garbage.compare()
    try:
        found = client.get("/status.json").json()
        assert (found["missing_files"], found["ok"]) == (1, False)
        assert "Stored files are missing: 1." in found["troubles"]
        page = client.get("/status/").content.decode()
        assert "Stored files are missing: 1." in page
        assert "0000" not in page
    finally:
        cache.clear()


# Two seconds per connection; the rest is for a busy machine. The probe once took 30 seconds.
SOON_SECONDS = 15.0


def test_the_probe_does_not_wait_for_a_queue_that_never_answers(client: Client, settings: Settings) -> None:
    # The kernel accepts connections, and no process reads them.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url=f"redis://127.0.0.1:{port}/0").rq_queues
        begun = time.monotonic()
        response = client.get("/readyz")
        assert (response.status_code, response.json()["queue"]) == (503, "unreachable")
        assert time.monotonic() - begun < SOON_SECONDS
        mute.accept()[0].close()
        mute.setblocking(False)
        with pytest.raises(BlockingIOError):  # no second connection
            mute.accept()


def worker(listens: Queue, name: str) -> Worker:
    made = Worker(
        [listens], connection=listens.connection, name=name, serializer=JSONSerializer, worker_ttl=WORKER_TTL_SECONDS
    )
    made.register_birth()  # type: ignore[no-untyped-call]
    return made


@pytest.mark.redis
def test_a_killed_worker_is_not_counted_for_long(redis_url: str) -> None:
    assert queue_state().registered == 0
    with opened() as queue:
        worker(queue, "alive")
        killed = worker(queue, "killed")
        assert queue_state().registered == 2
        long_ago = timezone.now() - LISTENING - timedelta(seconds=1)
        queue.connection.hset(killed.key, "last_heartbeat", utcformat(long_ago))
        assert queue_state().registered == 1


@pytest.mark.redis
def test_workers_that_call_models_are_counted_separately(redis_url: str) -> None:
    with opened(RUNS) as runs, opened(MODELS) as models:
        worker(runs, "evaluates")
        assert (queue_state().registered, queue_state().model_workers) == (1, 0)
        worker(models, "asks")
        assert (queue_state().registered, queue_state().model_workers) == (1, 1)


@pytest.mark.redis
def test_requests_of_paused_runs_are_not_counted_as_waiting(redis_url: str) -> None:
    endpoint_run(UserFactory(), WorkState.QUEUED, WorkState.RUNNING, WorkState.DONE)
    endpoint_run(UserFactory(), WorkState.QUEUED, state=GenerationState.PAUSED)
    assert (queue_state().questions, queue_state().questions_running) == (1, 1)


@pytest.mark.redis
def test_heartbeats_are_more_frequent_than_their_limit(redis_url: str) -> None:
    with opened() as queue:
        waits = worker(queue, "alive").dequeue_timeout
    assert 2 * max(waits, MONITORING_SECONDS) < LISTENING.total_seconds()


def test_the_public_summary_counts_runs_by_cause_without_details() -> None:
    full, gone = "waiting for the sandbox: the host's disk is full", "the host failed"
    runs = [TestRunFactory(reason=full), TestRunFactory(reason=full), TestRunFactory(state=RunState.HELD, reason=gone)]
    TestRunFactory()
    TestRunFactory(done="raised", reason="ValueError")
    TestRunFactory(state=RunState.CANCELLED, reason="the host failed")
    now = timezone.now()
    for run in runs:
        for number in (1, 2):
            Attempt.objects.create(
                run=run, number=number, token=uuid4(), worker="w", state=AttemptState.INFRA, reason="/srv/x", ended=now
            )
    assert infra_summary() == [{"cause": full, "runs": 2, "newest": now}, {"cause": gone, "runs": 1, "newest": now}]


SECRET = "/srv/instance/secret"


@pytest.fixture(autouse=True)
def _two_workers_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report two workers of each kind by default; tests of the queue's state query the server itself."""
    monkeypatch.setattr(domain, "queue_state", lambda: replace(queue_state(), registered=2, model_workers=2))


def row(attack: str = "NaN", *, repelled: bool = True, group: str = "tampering", way: str = "sealed") -> dict[str, Any]:
    return {
        "attack": attack, "group": group, "protocol": way, "expected": "wrong_output",
        "outcome": "wrong_output" if repelled else "passed", "repelled": repelled, "reason": SECRET, "seconds": 0.1,
    }  # fmt: skip


def checked(kind: str = SelfCheckKind.FULL, *rows: dict[str, Any], minutes_ago: int = 5, error: str = "") -> SelfCheck:
    moment = timezone.now() - timedelta(minutes=minutes_ago)
    return SelfCheck.objects.create(
        kind=kind, sandbox="bubblewrap", environment_digest="sha256:0123456789abcdef",
        evaluator_version=EVALUATOR_VERSION,
        results=list(rows), error=error, started=moment, finished=moment,
    )  # fmt: skip


def stuck_run(reason: str = "the environment's image is missing") -> None:
    """A held run of a private submission."""
    submission = SubmissionFactory(
        system__name="Unpublished Solver",
        state=SubmissionState.HELD,
        held_reason=reason,
        owner__username="hidden-owner",
    )
    (answer,) = with_answers(submission, 1)
    run = TestRunFactory(implementation=answer, state=RunState.HELD, infra_count=3, reason=reason)
    Attempt.objects.create(
        run=run, number=1, token="6a1f5a1c-7e0e-4f2e-9c3f-1f6a1c7e0e4f", worker="secret-machine:12", sandbox="docker",
        state=AttemptState.INFRA, reason=f"{SECRET}/image is missing", ended=timezone.now(),
    )  # fmt: skip


def built(name: str = "torch-cpu", *, state: str = BuildState.BUILT) -> None:
    EnvironmentBuild.objects.create(
        name=name, sandbox="docker", source_digest="fedcba9876543210", state=state, image=f"{SECRET}/image", log=SECRET
    )


def data_of(client: Client) -> Any:
    return client.get("/status.json").json()


def as_expected(check: SelfCheck, number: int, protocols: dict[str, int]) -> dict[str, Any]:
    """The data of a round whose ``number`` attacks and controls all ended as expected."""
    return {
        "kind": check.kind, "made": DjangoJSONEncoder().default(check.finished), "ok": True, "sandbox": "bubblewrap",
        "as_expected": number, "of": number, "unexpected": [],
        "protocols": {way: {"repelled": fired, "fired": fired} for way, fired in protocols.items()},
    }  # fmt: skip


def test_without_problems_all_is_well(client: Client) -> None:
    full = checked(
        SelfCheckKind.FULL, row("right answer", group="control"), row(), row(way="upstream remote"), row("RTL")
    )
    short = checked(SelfCheckKind.SHORT, row())
    canary = checked(SelfCheckKind.CANARY, row("stub", group="control"))
    page = words_of(client.get("/status/"))
    assert ("Everything works" in page, "problem" in page) == (True, False)
    assert "4 of 4 ended as expected, in boxes of bubblewrap" in page
    assert "Attacks repelled: sealed 2 of 2, upstream remote 1 of 1" in page
    assert data_of(client) == {
        "version": version(),
        "ok": True,
        "troubles": [],
        "evaluator": {
            "version": EVALUATOR_VERSION, "sandbox": "bubblewrap", "environment_digest": "0123456789ab",
            "without_resource_limits": False,
        },
        "queue": {
            "reachable": True, "workers": 2, "waiting": 0, "running": 0, "held_runs": 0, "oldest_waiting": None,
            "model_workers": 2, "questions_waiting": 0, "questions_running": 0,
        },
        "held_submissions": 0,
        "audits_waiting": 0,
        "missing_files": 0,
        "hosts": [],
        "causes": [],
        "environments": [],
        "self_checks": [
            as_expected(full, 4, {"sealed": 2, "upstream remote": 1}),
            as_expected(short, 1, {"sealed": 1}),
            as_expected(canary, 1, {}),
        ],
    }  # fmt: skip


def test_an_attack_that_was_not_repelled_is_named(client: Client) -> None:
    checked(SelfCheckKind.FULL, row(), row("golden search", repelled=False))
    page = words_of(client.get("/status/"))
    assert "1 problem:" in page
    assert "golden search (sealed) ended with passed, must be wrong_output" in page
    check, *_ = data_of(client)["self_checks"]
    assert (data_of(client)["ok"], check["ok"]) == (False, False)
    expected = {"group": "tampering", "protocol": "sealed", "expected": "wrong_output", "outcome": "passed"}
    assert check["unexpected"] == [{"attack": "golden search", **expected}]


def test_the_reason_why_nothing_can_be_evaluated_is_shown(client: Client) -> None:
    check = checked(SelfCheckKind.CANARY, error=f"{SECRET}/index does not answer")
    SelfCheck.objects.filter(pk=check.pk).update(cause="the packages of the boxes' environment could not be installed")
    trouble = "Nothing can be evaluated here: the packages of the boxes' environment could not be installed."
    assert data_of(client)["troubles"] == [trouble]
    assert SECRET not in words_of(client.get("/status/"))
    checked(SelfCheckKind.CANARY, row(), minutes_ago=1)
    assert data_of(client)["troubles"] == []


def test_runs_that_wait_while_none_is_running_are_reported(client: Client) -> None:
    run = TestRunFactory()
    assert data_of(client)["troubles"] == []
    TestRun.objects.filter(pk=run.pk).update(created=timezone.now() - timedelta(minutes=4))
    assert data_of(client)["troubles"] == ["Runs have been waiting for minutes, and none is under way."]


@pytest.mark.parametrize(
    ("registered", "trouble"),
    [
        (None, "The queue's server does not answer: submissions wait."),
        (0, "No worker is running: submissions wait."),
    ],
)
def test_a_missing_queue_or_worker_is_reported(
    registered: int | None, trouble: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "queue_state", lambda: replace(queue_state(), registered=registered))
    assert trouble in words_of(client.get("/status/"))
    assert data_of(client)["troubles"] == [trouble]


def test_shows_each_environment_s_newest_build_and_waiting_audits(client: Client) -> None:
    built(state=BuildState.FAILED)
    built()
    built("paper-0123456789ab", state=BuildState.FAILED)
    version = SuiteVersionFactory(tasks=3)
    TaskRevision.objects.update(audit_state=AuditState.UNAUDITED)
    first, second, _ = version.revisions.order_by("pk")
    TaskRevision.objects.filter(pk=first.pk).update(audit_state=AuditState.PASSED)
    TaskRevision.objects.filter(pk=second.pk).update(not_runnable_reasons=["no unit test"])
    data = data_of(client)
    assert [(build["name"], build["state"], build["source"]) for build in data["environments"]] == [
        ("paper-0123456789ab", "failed", "fedcba987654"),
        ("torch-cpu", "built", "fedcba987654"),
    ]
    assert data["audits_waiting"] == 1


def test_private_details_are_hidden(client: Client) -> None:
    """Paths, machines, images, reasons of attacks and unpublished systems: for maintainers, or hidden from all."""
    stuck_run()
    built()
    checked(SelfCheckKind.FULL, row(repelled=False))
    checked(SelfCheckKind.CANARY, error=f"{SECRET}/python is missing")
    client.force_login(UserFactory(username="alice"))
    data = data_of(client)
    assert [(cause["cause"], cause["runs"]) for cause in data["causes"]] == [("the environment's image is missing", 1)]
    assert (data["held_submissions"], data["queue"]["held_runs"]) == (1, 1)
    shown = client.get("/status/").content.decode() + client.get("/status.json").content.decode()
    for secret in (SECRET, "secret-machine", "Unpublished Solver", "hidden-owner"):
        assert secret not in shown
    client.force_login(UserFactory(username="carol", is_staff=True))
    assert f"{SECRET}/image" in client.get("/status/").content.decode()
    assert SECRET not in client.get("/status.json").content.decode()


def test_a_missing_database_is_reported(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise DatabaseError(SECRET)

    monkeypatch.setattr(domain, "queue_state", gone)
    response = client.get("/status.json")
    assert (response.status_code, json.loads(response.content)) == (
        503,
        {"ok": False, "troubles": ["The database does not answer."]},
    )
