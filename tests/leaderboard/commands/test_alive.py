"""``manage.py alive``."""

from __future__ import annotations

import io
import socket
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from evaluator.hosts.rows import SILENT_AFTER
from evaluator.models import Host
from evaluator.queue.pushing import AUDITS, RUNS, opened
from tests.leaderboard.web.test_status_page import worker

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = [pytest.mark.django_db, pytest.mark.redis]


@pytest.fixture
def host(settings: Settings, redis_url: str) -> Host:
    """This host, which runs tests and reports."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, host_name="here", pools=["tests", "builds"])
    return Host.objects.create(name="here", pools=["tests", "builds"], seen=timezone.now())


def add_worker(queue_name: str, machine: str = "") -> None:
    with opened(queue_name) as queue:
        made = worker(queue, f"{machine}-{queue_name}")
        queue.connection.hset(made.key, "hostname", machine or socket.gethostname())


def printed() -> str:
    out = io.StringIO()
    call_command("alive", stdout=out)
    return out.getvalue()


def test_a_host_that_reports_and_whose_workers_listen_is_alive(host: Host) -> None:
    add_worker(RUNS)
    add_worker(AUDITS)
    assert printed() == "Host here reports, and its workers listen to: default, audits\n"


def test_workers_of_other_machines_do_not_count(host: Host) -> None:
    add_worker(RUNS)
    add_worker(AUDITS, "elsewhere")
    with pytest.raises(CommandError, match=r"^No worker of this machine listens to: audits$"):
        printed()


def test_a_host_that_stopped_to_report_is_not_alive(host: Host) -> None:
    Host.objects.update(seen=timezone.now() - SILENT_AFTER - timedelta(seconds=1))
    Host.objects.create(name="another", pools=["tests"], seen=timezone.now())
    with pytest.raises(CommandError, match=r"^Host here has not reported lately: its reconciler does not run\.$"):
        printed()


def test_a_host_without_a_sandbox_is_not_alive(host: Host) -> None:
    Host.objects.update(problem="no sandbox works here")
    with pytest.raises(CommandError, match=r"^Host here cannot evaluate: no sandbox works here$"):
        printed()


def test_without_the_queue_it_is_not_alive(host: Host, settings: Settings) -> None:
    settings.RQ_QUEUES = {name: {**queue, "URL": "redis://127.0.0.1:1/0"} for name, queue in settings.RQ_QUEUES.items()}
    with pytest.raises(CommandError, match=r"^The queue's server does not answer\.$"):
        printed()
