"""``/metrics``: who may read it, and what it says of requests, queues, hosts, checks and files."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from benchmark_tasks.domain import garbage
from benchmark_tasks.domain.content import put_file
from benchmark_tasks.enums import AuditState
from evaluator.enums import RunState, SelfCheckKind, WorkState
from evaluator.models import AnswerRequest, Host, Judgement, TestRun
from evaluator.queue.pushing import MODELS, RUNS, opened
from submissions.enums import SubmissionState
from submissions.models import Submission, Upload
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.leaderboard.judging import JudgeFactory
from tests.leaderboard.web.test_status_page import checked, no_database, row, worker
from tests.measures import values_in
from tests.submissions.factories import SubmissionFactory, UploadFactory, UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import DjangoAssertNumQueries, Settings

pytestmark = pytest.mark.django_db
TOKEN = "a-token-of-prometheus"


def configure(settings: Settings, **values: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **values)


def read(client: Client) -> dict[tuple[str, ...], float]:
    response = client.get("/metrics")
    assert response.status_code == 200
    return values_in(response.content.decode())


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("::ffff:127.0.0.1", {}, 200),
        ("10.1.2.3", {}, 403),
        ("", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("127.0.0.1", {"X-Forwarded-Proto": "https"}, 403),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}, 403),
        ("127.0.0.1", {"Via": "1.1 proxy"}, 403),
        ("127.0.0.1", {"X-Real-IP": "127.0.0.1"}, 403),
        ("10.1.2.3", {"Authorization": f"Bearer {TOKEN}"}, 403),
    ],
)
@pytest.mark.parametrize("trust_proxy", [False, True])
def test_without_a_token_only_this_machine_reads_it(
    client: Client, settings: Settings, address: str, headers: dict[str, str], status: int, trust_proxy: bool
) -> None:
    configure(settings, trust_proxy=trust_proxy)
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = int(trust_proxy)
    response = client.get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert (response.status_code, b"lmr_board_" in response.content) == (status, status == 200)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 403),
        (f"Basic {TOKEN}", 403),
        ("Bearer", 403),
        ("Bearer ", 403),
        ("Bearer \u00e9", 403),
        ("", 403),
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3"])
def test_with_a_token_only_the_token_counts(
    client: Client, settings: Settings, address: str, header: str, status: int
) -> None:
    configure(settings, metrics_token=TOKEN)
    response = client.get("/metrics", headers={"Authorization": header}, REMOTE_ADDR=address)
    assert (response.status_code, b"lmr_board_" in response.content) == (status, status == 200)
    assert TOKEN.encode() not in response.content


def test_a_maintainer_s_session_opens_nothing(as_maintainer: Client) -> None:
    assert as_maintainer.get("/metrics", REMOTE_ADDR="10.1.2.3").status_code == 403


def test_requests_count_by_the_name_of_their_view(client: Client) -> None:
    client.get("/metrics")
    before = read(client)
    for path in ("/healthz", "/healthz?one", "/no/such/page/1", "/no/such/page/2"):
        client.get(path)
    client.post("/healthz")
    client.generic("BREW", "/healthz")
    client.get("/api/v1/me")
    after = read(client)
    new = {key: value - before.get(key, 0) for key, value in after.items() if key[0] == "requests_total"}
    assert {key[1:]: value for key, value in new.items() if value} == {
        # In the order of the labels' names: method, status, view.
        ("GET", "200", "healthz"): 2,
        ("GET", "404", "none"): 2,
        ("POST", "405", "healthz"): 1,
        ("other", "405", "healthz"): 1,
        ("GET", "401", "api:get_me"): 1,
        ("GET", "200", "metrics"): 1,
    }
    assert after["request_seconds_count", "healthz"] - before.get(("request_seconds_count", "healthz"), 0) == 4


def test_a_database_that_does_not_answer_is_reported(client: Client) -> None:
    with connection.execute_wrapper(no_database):
        found = read(client)
    assert found["state_readable",] == 0
    assert not [key for key in found if key[0] in {"queue_depth", "hosts", "held"}]


def test_an_empty_instance_has_every_gauge_that_alerts_need(client: Client) -> None:
    found = read(client)
    assert found["state_readable",] == 1
    for pool in ("tests", "model_calls", "builds", "site"):
        assert (found["queue_depth", pool], found["queue_oldest_seconds", pool]) == (0, 0)
    assert (found["missing_files",], found["hosts", "live"]) == (0, 0)
    assert (found["judge_dollars_left",], found["judge_tokens_left",]) == (10, 5_000_000)


def test_queues_and_what_is_held(client: Client) -> None:
    ago = timezone.now() - timedelta(minutes=5)
    waiting, held = TestRunFactory(), TestRunFactory(state=RunState.HELD)
    Submission.objects.filter(pk=held.implementation.submission_id).update(state=SubmissionState.HELD)
    generation = endpoint_run(UserFactory(), WorkState.QUEUED, WorkState.QUEUED)
    upload = UploadFactory(checked=False)
    TestRun.objects.filter(pk=waiting.pk).update(created=ago)
    Upload.objects.filter(pk=upload.pk).update(created=ago + timedelta(minutes=1))
    AnswerRequest.objects.filter(generation=generation).update(created=ago + timedelta(minutes=2))
    verdict = Judgement.objects.create(implementation=waiting.implementation, config=JudgeFactory())
    Judgement.objects.filter(pk=verdict.pk).update(created=ago + timedelta(minutes=3))
    Judgement.objects.create(
        implementation=held.implementation, config=verdict.config, state=WorkState.HELD, created=ago
    )
    found = read(client)
    assert labelled(found, "test_runs") == {"queued": 1, "running": 0, "held": 1, "done": 0}
    assert labelled(found, "held") == {"submissions": 1, "test_runs": 1, "judgements": 1}
    depths, ages = labelled(found, "queue_depth"), labelled(found, "queue_oldest_seconds")
    assert (depths["tests"], depths["site"], depths["model_calls"]) == (1, 1, 3)
    assert (round(ages["tests"] / 60), round(ages["site"] / 60), round(ages["model_calls"] / 60)) == (5, 4, 3)


def test_tasks_that_wait_for_their_audit_are_the_queue_of_builds(client: Client) -> None:
    version = SuiteVersionFactory(tasks=2)
    version.revisions.update(audit_state=AuditState.UNAUDITED, created=timezone.now() - timedelta(hours=1))
    SuiteVersionFactory(tasks=1)
    found = read(client)
    assert {state: number for state, number in labelled(found, "tasks").items() if number} == {
        "unaudited": 2, "passed": 1,
    }  # fmt: skip
    assert found["queue_depth", "builds"] == 2
    assert round(found["queue_oldest_seconds", "builds"] / 60) == 60


def test_hosts_and_their_disks(client: Client) -> None:
    now = timezone.now()
    Host.objects.create(name="near", seen=now, disk_mb=2048, clock_off=1.5)
    Host.objects.create(name="far", seen=now - timedelta(minutes=3), disk_mb=1)
    found = read(client)
    assert labelled(found, "hosts") == {"live": 1, "silent": 1}
    assert labelled(found, "host_free_disk_bytes") == {"near": 2048 * 1024 * 1024}
    assert labelled(found, "host_clock_off_seconds") == {"near": 1.5}


def test_the_newest_round_of_attacks_of_each_kind(client: Client) -> None:
    checked(SelfCheckKind.FULL, row(repelled=False), minutes_ago=9)
    checked(SelfCheckKind.SHORT, row(), minutes_ago=20)
    checked(SelfCheckKind.SHORT, row(), minutes_ago=10)
    found = read(client)
    assert labelled(found, "self_check_ok") == {"full": 0, "short": 1}
    ages = labelled(found, "self_check_age_seconds")
    assert {kind: round(seconds / 60) for kind, seconds in ages.items()} == {"full": 9, "short": 10}


def test_stored_and_missing_files_are_those_of_the_last_sweep(client: Client) -> None:
    SubmissionFactory(bundle="0" * 64)
    kept = put_file(b"seven by")
    SubmissionFactory(bundle=kept)
    garbage.compare()
    try:
        found = read(client)
    finally:
        cache.clear()
    assert found["missing_files",] == 1
    assert labelled(found, "storage_bytes")["Submission.bundle"] == 8


def test_the_age_of_the_newest_backup(client: Client, settings: Settings, tmp_path: Path) -> None:
    assert "backup_age_seconds" not in {name for name, *_ in read(client)}
    configure(settings, backups=tmp_path)
    assert read(client)["backup_age_seconds",] > 1e9
    cache.clear()
    made = timezone.now() - timedelta(hours=5)
    (tmp_path / f"lmr-board-{made:%Y%m%dT%H%M%SZ}.tar").touch()
    assert round(read(client)["backup_age_seconds",] / 3600) == 5
    cache.clear()


@pytest.mark.redis
def test_workers_by_pool(client: Client, redis_url: str) -> None:
    with opened(RUNS) as runs, opened(MODELS) as models:
        worker(runs, "evaluates")
        worker(models, "asks")
        worker(models, "asks-too")
        found = read(client)
    assert found["queue_reachable",] == 1
    assert labelled(found, "workers") == {"tests": 1, "builds": 0, "model_calls": 2, "site": 0}


@pytest.mark.parametrize("number", [1, 3])
def test_the_number_of_queries_is_constant(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries, number: int
) -> None:
    for each in range(number):
        TestRunFactory.create_batch(number)
        Host.objects.create(name=f"host-{each}", seen=timezone.now())
        SuiteVersionFactory(tasks=2).revisions.update(audit_state=AuditState.UNAUDITED)
        UploadFactory(checked=False)
        endpoint_run(UserFactory(), WorkState.QUEUED)
        checked(SelfCheckKind.FULL, row())
    with django_assert_num_queries(25):  # one of them only every five minutes: the runs that ended
        read(client)


def labelled(found: dict[tuple[str, ...], float], name: str) -> dict[str, float]:
    """The values of a metric with one label."""
    return {key[1]: value for key, value in found.items() if key[0] == name}
