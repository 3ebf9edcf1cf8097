"""What unfinished submissions wait for: each reason, the place, the expected time, and nothing about others."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluator import waiting
from evaluator.enums import AttemptState, GenerationState, RunState, WaitsFor, WorkState
from evaluator.hosts.able import NO_HOST
from evaluator.models import AnswerRequest, Attempt, Host, TestRun
from evaluator.queue.pushing import MODELS, RUNS
from evaluator.testing import claims
from evaluator.waiting import Wait, wait_of, waits_of
from submissions.enums import SubmissionState
from submissions.models import Endpoint, Implementation, Submission
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db

NOT_MEASURED = "no test of this suite was measured here"


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Two workers of each kind listen; the returned function sets other numbers, or None."""

    def listen(runs: int | None, models: int = 2) -> None:
        found = None if runs is None else Counter({RUNS: runs, MODELS: models})
        monkeypatch.setattr(waiting, "listening", lambda: found)

    listen(2)
    return listen


def queued(*outcomes: str, version: SuiteVersion | None = None, trials: int = 1, **fields: Any) -> Submission:
    """A queued submission with its runs; those of ``outcomes`` are decided."""
    if version:
        fields["suite_version"] = version
    submission: Submission = QueuedSubmissionFactory(trials=trials, **fields)
    Implementation.objects.filter(submission=submission).update(attempted=True)
    runs_of(submission, *outcomes)
    return submission


def measured(submission: Submission, seconds: float) -> None:
    """Let every decided run of ``submission`` have taken ``seconds``."""
    now = timezone.now()
    for run in TestRun.objects.filter(implementation__submission=submission, state=RunState.DONE):
        attempt = Attempt.objects.create(
            run=run, number=1, token=uuid4(), worker="w", sandbox="bubblewrap", state=AttemptState.ACCEPTED, ended=now
        )
        Attempt.objects.filter(pk=attempt.pk).update(started=now - timedelta(seconds=seconds))


def finished(**fields: Any) -> Submission:
    """A scored submission of two passed answers."""
    submission = queued("passed", "passed", **fields)
    Submission.objects.filter(pk=submission.pk).update(state=SubmissionState.SCORED)
    return submission


def start(run: TestRun) -> None:
    """Let a worker hold ``run``."""
    lease = timezone.now() + timedelta(minutes=1)
    TestRun.objects.filter(pk=run.pk).update(state=RunState.RUNNING, token=uuid4(), lease_until=lease)


def test_finished_submissions_wait_for_nothing_and_cost_no_query() -> None:
    done = finished()
    done.refresh_from_db()
    with CaptureQueriesContext(connection) as queries:
        assert waits_of([done]) == {}
    assert len(queries) == 0


def test_a_queued_submission_waits_for_a_worker() -> None:
    assert wait_of(queued()) == Wait(
        WaitsFor.WORKER, "0 of 2 tests done. The next one waits for a free worker.", 0, None, NOT_MEASURED
    )


def test_running_tests_are_counted() -> None:
    submission = queued("passed", trials=2)
    start(TestRun.objects.filter(state=RunState.QUEUED).earliest("pk"))
    wait = wait_of(submission)
    assert wait == Wait(WaitsFor.TESTS, "1 of 4 tests done, 1 running.", 0, None, NOT_MEASURED)


@pytest.mark.parametrize(
    ("runs", "obstacle"), [(0, "No worker is running."), (None, "The queue's server does not answer.")]
)
def test_without_workers_nothing_runs(workers: Callable[..., None], runs: int | None, obstacle: str) -> None:
    workers(runs)
    wait = wait_of(queued())
    expected = Wait(WaitsFor.WORKER, f"{obstacle} 0 of 2 tests done.", None, None, "nothing is tested now")
    assert wait == expected
    assert expected.sentence == f"{obstacle} 0 of 2 tests done. No expected time: nothing is tested now."


def test_hosts_that_cannot_run_tests_are_an_obstacle() -> None:
    submission = queued()
    host = Host.objects.create(name="far", seen=timezone.now() - timedelta(hours=1), pools=["tests"])
    silent = wait_of(submission)
    assert silent is not None
    assert silent.waits_for == WaitsFor.HOST
    assert silent.text == "No host that is up can run tests. 0 of 2 tests done."
    Host.objects.filter(pk=host.pk).update(seen=timezone.now())
    live = wait_of(submission)
    assert live is not None
    assert live.text == "0 of 2 tests done. The next one waits for a free worker."


def test_the_next_try_after_an_infrastructure_error_is_named() -> None:
    submission = queued()
    later = timezone.now() + timedelta(minutes=5)
    TestRun.objects.update(reason="the disk is full", not_before=later)
    wait = wait_of(submission)
    when = f"{timezone.localtime(later):%H:%M:%S %Z}"
    again = "2 tests to be repeated after an infrastructure error (the disk is full)"
    text = f"0 of 2 tests done. {again}; next try at {when}."
    assert wait == Wait(WaitsFor.RETRY, text, None, None, NOT_MEASURED)


def test_the_environment_that_no_host_offers_is_named() -> None:
    submission = queued()
    TestRun.objects.update(reason=NO_HOST)
    submission.suite_version.revisions.update(environment="torch-9")
    wait = wait_of(submission)
    text = "0 of 2 tests done. No host that is up offers the environment torch-9."
    assert wait == Wait(WaitsFor.HOST, text, None, None, "a host with that environment must start")


def test_a_held_submission_has_its_reason() -> None:
    submission = queued(state=SubmissionState.HELD, held_reason="No image.")
    expected = Wait(WaitsFor.MAINTAINER, "Held: No image.", None, None, "a maintainer must retry it")
    assert wait_of(submission) == expected


def test_questions_to_a_model_are_counted_and_their_end_is_expected(workers: Callable[..., None]) -> None:
    generation = endpoint_run(UserFactory(), *[WorkState.DONE] * 2, *[WorkState.QUEUED] * 6)
    model = generation.endpoint.model
    text = f"Waits for answers of the model {model}: 2 of 8 arrived."
    unknown = wait_of(generation.submission)
    assert unknown == Wait(WaitsFor.MODEL, text, None, None, "no answer of this run was measured yet")
    AnswerRequest.objects.filter(state=WorkState.DONE).update(seconds=30.0)
    Endpoint.objects.update(requests_at_once=4)
    # Six answers of half a minute, two at once.
    assert wait_of(generation.submission) == Wait(WaitsFor.MODEL, text, None, 90.0)
    workers(2, models=0)
    wait = wait_of(generation.submission)
    obstacle = f"No worker for requests to models is running. {text}"
    assert wait == Wait(WaitsFor.WORKER, obstacle, None, None, "nothing is sent now")


def test_the_pause_of_a_provider_is_named() -> None:
    generation = endpoint_run(UserFactory(), WorkState.QUEUED)
    until = timezone.now() + timedelta(minutes=3)
    Endpoint.objects.update(not_before=until)
    wait = wait_of(generation.submission)
    assert wait is not None
    when = f"{timezone.localtime(until):%H:%M:%S %Z}"
    assert wait.text.endswith(f"0 of 1 arrived. The provider limits requests: the next is sent at {when}.")


@pytest.mark.parametrize(("state", "word"), [(GenerationState.PAUSED, "Paused"), (GenerationState.HELD, "Held")])
def test_a_stopped_run_has_its_reason(state: GenerationState, word: str) -> None:
    generation = endpoint_run(UserFactory(), WorkState.QUEUED, state=state, reason="The limit of dollars is reached.")
    expected = Wait(
        WaitsFor.RESUMING, f"{word}: The limit of dollars is reached.", no_estimate="it goes on when it is resumed"
    )
    assert wait_of(generation.submission) == expected


def test_the_place_is_the_number_of_claims_before_the_next_test() -> None:
    """Claims are made as workers make them, so that both keep to one order."""
    version = queued("passed").suite_version
    owners = [UserFactory() for _ in range(3)]
    listed = [queued(version=version, owner=owner, trials=2) for owner in (*owners, owners[0], owners[2])]
    start(TestRun.objects.filter(implementation__submission=listed[1]).earliest("pk"))
    predicted = {pk: wait.place for pk, wait in waits_of(listed).items()}
    first: dict[int, int] = {}
    number = 0
    while (claim := claims.claim_next(worker="w")) is not None:
        first.setdefault(claim.run.implementation.submission_id, number)
        number += 1
    assert predicted == {each.pk: first[each.pk] for each in listed}
    assert len(set(predicted.values())) == len(listed)


def test_the_expected_time_is_the_work_before_the_last_test_by_the_workers() -> None:
    done = finished()
    measured(done, 60)
    first = queued(version=done.suite_version)
    second = queued(version=done.suite_version, owner=first.owner)
    # Two tests of a minute on two workers, and four.
    waits = waits_of([first, second])
    assert {pk: (wait.place, wait.seconds) for pk, wait in waits.items()} == {
        first.pk: (0, pytest.approx(60)),
        second.pk: (2, pytest.approx(120)),
    }
    # Another submitter takes turns: as many of its tests come before, but not more.
    queued(version=done.suite_version, trials=5)
    wait = wait_of(second)
    assert wait is not None
    assert (wait.place, wait.seconds) == (4, pytest.approx(60 * (4 + 3) / 2))
    assert wait.sentence == (
        "0 of 2 tests done. The next one waits for a free worker. "
        "Tests of all submitters before its next one: 4. Expected end: about 4 minutes."
    )


def test_nothing_is_expected_of_a_suite_that_was_not_measured() -> None:
    measured(finished(), 60)
    assert wait_of(queued()) == Wait(
        WaitsFor.WORKER, "0 of 2 tests done. The next one waits for a free worker.", 0, None, NOT_MEASURED
    )


def test_a_retry_ends_after_its_pause() -> None:
    done = finished()
    measured(done, 60)
    submission = queued(version=done.suite_version)
    later = timezone.now() + timedelta(minutes=10)
    TestRun.objects.filter(state=RunState.QUEUED).update(not_before=later, reason="x")
    wait = wait_of(submission)
    assert wait is not None
    assert wait.seconds == pytest.approx(660, abs=2)


def test_other_submitters_are_counted_but_not_named() -> None:
    secret = UserFactory(username="secretive")
    other = queued(owner=secret, system__name="Hidden System", trials=2)
    TestRun.objects.update(reason="a private reason")
    wait = wait_of(queued(version=other.suite_version))
    assert wait is not None
    assert wait.place == 1
    for text in ("secretive", "Hidden System", "a private reason"):
        assert text not in wait.text


@pytest.mark.parametrize("number", [1, 3])
def test_queries_do_not_grow(number: int) -> None:
    owner = UserFactory()
    done = finished()
    measured(done, 60)
    listed = [queued(version=done.suite_version, owner=owner) for _ in range(number)]
    listed += [endpoint_run(owner, WorkState.QUEUED).submission for _ in range(number)]
    TestRun.objects.filter(pk=TestRun.objects.latest("pk").pk).update(reason=NO_HOST)
    with CaptureQueriesContext(connection) as queries:
        assert len(waits_of(listed)) == 2 * number
    assert len(queries) == 8


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(59, "less than a minute"), (60, "about 1 minute"), (1800, "about 30 minutes"), (3 * 3600, "about 3 hours")],
)
def test_durations_are_in_words(seconds: float, words: str) -> None:
    wait = Wait(WaitsFor.TESTS, "1 of 2 tests done.", seconds=seconds)
    assert wait.sentence == f"1 of 2 tests done. Expected end: {words}."
