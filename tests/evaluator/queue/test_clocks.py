"""Leases follow the database's clock: a host whose own clock is wrong neither takes nor loses work."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone

from benchmark_tasks.domain.clock import seconds_ahead
from evaluator.models import TestRun
from evaluator.queue import leases
from evaluator.queue.processes import Owner
from tests.evaluator.factories import TestRunFactory


@pytest.mark.django_db
@pytest.mark.postgres
@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="needs DATABASE_URL of a PostgreSQL server")
@pytest.mark.parametrize("minutes", [10, -10])
def test_a_clock_that_is_ten_minutes_off_changes_nothing(minutes: int) -> None:
    mine, other, later = TestRunFactory(), TestRunFactory(), TestRunFactory(not_before=None)
    assert leases.claim(TestRun, other.pk)
    with time_machine.travel(timezone.now() + timedelta(minutes=minutes)):
        assert abs(seconds_ahead() - 60 * minutes) < 30
        assert leases.expire(TestRun) == []
        token = leases.claim(TestRun, mine.pk)
        assert token
        assert leases.release(TestRun, mine.pk, token)
        token = leases.claim(TestRun, later.pk)
        assert token
        assert leases.record_error(TestRun, later.pk, token, reason="x")
    assert leases.expire(TestRun) == []
    later.refresh_from_db()
    assert timedelta() < later.not_before - timezone.now() < timedelta(minutes=1)
    assert leases.claim(TestRun, mine.pk)
    mine.refresh_from_db()
    assert timedelta() < mine.lease_until - timezone.now() < timedelta(minutes=2)


@pytest.mark.django_db
def test_sqlite_has_no_clock_of_its_own() -> None:
    with time_machine.travel(timezone.now() + timedelta(minutes=10)):
        assert abs(seconds_ahead()) < 600 * ("DATABASE_URL" in os.environ) + 1


def test_processes_of_two_machines_are_never_confused() -> None:
    """The first pid namespace has the same number on every machine."""
    here = Owner.current()
    assert not here.is_dead()
    assert Owner(here.namespace, here.pid, here.started + 1).is_dead()
    assert not Owner(here.namespace + 1, here.pid, here.started + 1).is_dead()
    assert here.namespace != Path("/proc/self/ns/pid").stat().st_ino
    assert Owner.parse(str(here)) == here
