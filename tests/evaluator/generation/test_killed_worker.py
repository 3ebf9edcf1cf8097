"""A model worker that is killed while its request is under way: the call is in doubt, and repeated once."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connections
from django.utils import timezone

from evaluator.enums import AnswerTaken, CallState, GenerationState, WorkState
from evaluator.generation.asking import ask_next
from evaluator.generation.generation_progress import progress
from evaluator.models import AnswerRequest, ModelCall
from evaluator.queue import leases

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from tests.evaluator.generation.conftest import StartRun
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)


def worker_killed_in_mid_call(provider: ProviderServer, *, after: int) -> None:
    """Ask in a process of its own, and kill it with SIGKILL once ``after`` requests have arrived."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            ask_next()
        finally:
            os._exit(0)
    deadline = time.monotonic() + 60
    while len(provider.asked) < after:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def lease_runs_out() -> None:
    AnswerRequest.objects.filter(state=WorkState.RUNNING).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert len(leases.expire(AnswerRequest)) == 1


def test_the_call_is_in_doubt_and_repeated_once(
    lmr_mini: SuiteVersion, start_run: StartRun, provider: ProviderServer
) -> None:
    generation = start_run(lmr_mini, "right+slow-3", tasks=["dpo/1"])
    worker_killed_in_mid_call(provider, after=1)
    assert [call.state for call in ModelCall.objects.all()] == [CallState.SENDING]
    lease_runs_out()
    assert ask_next()
    assert [call.state for call in ModelCall.objects.order_by("number")] == [CallState.IN_DOUBT, CallState.ANSWERED]
    first, second = provider.asked
    assert first.body == second.body
    assert progress(generation).in_doubt == 1
    generation.refresh_from_db()
    assert generation.state == GenerationState.DONE
    assert generation.requests.get().taken == AnswerTaken.CODE
