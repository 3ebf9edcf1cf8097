"""Agreement that a worker computes while the page shows what is known: with a real Redis."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from django.core.cache import cache
from redis import Redis
from rq import SimpleWorker, Worker
from rq.serializers import JSONSerializer

from evaluator.domain.known_jobs import KnownJob
from evaluator.domain.queueing import connect, queue
from evaluator.models import Judgement
from leaderboard.domain import agreement, agreement_queue
from leaderboard.domain.agreement_cache import Question, answered, digest, known
from leaderboard.jobs import compute_agreement
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured, measured_outcome
from tests.leaderboard.judging import JudgeFactory, judged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig

pytestmark = pytest.mark.django_db

SMALL = "/agreement/small/"
WAITS = "Some numbers are being computed."


@pytest.fixture
def version() -> SuiteVersion:
    cache.clear()
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    return made


@pytest.fixture
def judges(version: SuiteVersion) -> tuple[JudgeConfig, JudgeConfig]:
    """Two judges that agree on ten answers and differ on two."""
    pair = JudgeFactory(slug="one"), JudgeFactory(slug="other")
    for says, also in [("CC", "CC")] * 5 + [("LI", "LI")] * 5 + [("LC", "CC")] * 2:
        rated(version, pair, says, also)
    return pair


def rated(version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig], *labels: str) -> None:
    answer = measured_outcome(measured(version), "passed").implementation
    for judge, label in zip(judges, labels, strict=True):
        judged(answer, judge, label)


@pytest.fixture
def listening(redis_url: str) -> Iterator[None]:
    """A worker listens, and has its hands full: nothing is computed unless a test says so (:func:`work`)."""
    with connect() as connection:
        worker = Worker([queue(connection)], connection=connection, serializer=JSONSerializer, job_class=KnownJob)
        worker.register_birth()  # type: ignore[no-untyped-call]
        yield
        worker.register_death()  # type: ignore[no-untyped-call]


def work() -> None:
    """What a worker does until the queue is empty."""
    with connect() as connection:
        SimpleWorker([queue(connection)], connection=connection, serializer=JSONSerializer, job_class=KnownJob).work(
            burst=True
        )


def jobs() -> list[tuple[str, list[Any]]]:
    with connect() as connection:
        return [(str(job.func_name), list(job.args)) for job in queue(connection).jobs]


def words(client: Client, **query: str) -> str:
    response = client.get(SMALL, query)
    assert response.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


@pytest.mark.usefixtures("judges", "listening")
class TestWithAWorker:
    def test_a_page_asks_once_and_shows_the_numbers_when_they_are_there(self, client: Client) -> None:
        first = client.get(SMALL).content.decode()
        assert 'hx-get="?part=1" hx-trigger="every 3s" hx-swap="outerHTML"' in first
        assert re.search(r'<script src="[^"]*htmx[^"]*"', first)
        assert WAITS in first
        assert "n = 12 answers" in first
        assert "The statistics of this pair are not computed yet." in first
        assert "<noscript>" in first.split(WAITS)[1].split("</p>")[0]
        words(client)
        fields = {"category": "", "system": "", "inputs": "", "samples": False, "binary": False}
        asked = {**fields, "first": "", "second": ""}
        assert jobs() == [("leaderboard.jobs.compute_agreement", ["small", asked])]
        work()
        assert jobs() == []
        part = client.get(SMALL, {"part": "1"}).content.decode()
        assert WAITS not in part
        assert "hx-get" not in part
        assert "Percent agreement" in part
        assert "<html" not in part
        assert 'href="?first=' in part
        assert "part=" not in part

    def test_newer_labels_leave_the_last_numbers_until_they_are_computed_anew(self, client: Client) -> None:
        words(client)
        work()
        assert "83.3 %" in words(client)
        with time_machine.travel(datetime.now(UTC) + timedelta(seconds=30)):
            Judgement.objects.filter(label="LC").update(label="CC")
            stale = words(client)
            assert "CC 0 0 7 7" in stale
            assert "83.3 %" in stale
            assert re.search(r"Of 12 answers, as of 3\d seconds ago , being computed anew", stale), stale
            assert WAITS in stale
        words(client)
        work()
        after = words(client)
        assert "100.0 %" in after
        assert WAITS not in after

    def test_a_worker_that_takes_too_long_is_not_waited_for(self, client: Client) -> None:
        words(client)
        with time_machine.travel(datetime.now(UTC) + timedelta(seconds=agreement_queue.PATIENCE_SECONDS + 1)):
            assert "83.3 %" in words(client)

    def test_a_lost_job_is_asked_for_again(self, client: Client) -> None:
        words(client)
        with connect() as connection:
            queue(connection).empty()  # type: ignore[no-untyped-call]
        words(client)
        assert len(jobs()) == 1

    def test_other_filters_are_another_job(self, client: Client) -> None:
        words(client)
        words(client, binary="1")
        assert len(jobs()) == 2

    def test_a_withdrawn_answer_is_in_no_table_at_once(self, client: Client) -> None:
        words(client)
        work()
        Submission.objects.update(visibility=Visibility.WITHDRAWN)
        assert "No two raters labelled the same answer here." in words(client)


@pytest.mark.usefixtures("judges", "redis_url")
class TestWithoutAWorker:
    def test_the_page_computes(self, client: Client) -> None:
        assert "83.3 %" in words(client)
        assert jobs() == []

    def test_a_worker_of_long_ago_is_none(self, client: Client, listening: None) -> None:
        with time_machine.travel(datetime.now(UTC) + timedelta(seconds=60)):
            assert "83.3 %" in words(client)

    def test_a_queue_that_is_away_is_no_error(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(agreement_queue, "connect_briefly", lambda: Redis.from_url("redis://127.0.0.1:1/0"))
        assert "83.3 %" in words(client)

    def test_beyond_its_time_the_page_follows_by_itself(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(agreement_queue, "connect_briefly", lambda: Redis.from_url("redis://127.0.0.1:1/0"))
        monkeypatch.setattr("leaderboard.views.agreement.COMPUTING_SECONDS", -1)
        seen = [WAITS in words(client) for _ in range(6)]
        # One question a view: the pair, the people, the two judges.
        assert seen == [True, True, True, False, False, False]


class TestTheJob:
    def test_what_is_not_there_any_more_is_no_fault(self, version: SuiteVersion) -> None:
        compute_agreement("absent", {})
        compute_agreement("small", {"system": "withdrawn"})
        assert agreement_queue.compute("small", {}) == 1

    def test_it_computes_all_that_the_page_shows(
        self, client: Client, judges: tuple[JudgeConfig, JudgeConfig], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compute_agreement("small", {})

        def refuse(pair: object) -> None:
            pytest.fail(f"the page computed {pair}")

        monkeypatch.setattr(agreement, "_computed", refuse)
        assert "83.3 %" in words(client)


def test_an_answer_is_current_while_its_data_are() -> None:
    cache.clear()
    made: list[str] = []

    def ask(name: str, *data: object) -> Question:
        return Question(name, digest(data), lambda: made.append(name) or len(made))  # type: ignore[func-returns-value]

    assert known([ask("a", 1)]) == [None]
    (first,) = answered([ask("a", 1)])
    assert first is not None
    assert (first.value, first.current, known([ask("a", 1)])) == (1, True, [first])
    (stale,) = known([ask("a", 2)])
    assert stale is not None
    assert (stale.value, stale.current) == (1, False)
    assert known([ask("b", 2)]) == [None]
    (again,) = answered([ask("a", 2)])
    assert again is not None
    assert (again.value, again.current, made) == (2, True, ["a", "a"])
    assert known([ask("a", 1)]) == [first]


def test_after_its_time_nothing_more_is_computed_but_next_time_it_goes_on() -> None:
    cache.clear()
    questions = [Question(name, digest([name]), lambda: 1) for name in "abc"]
    seen = [[each is not None for each in answered(questions, seconds=-1)] for _ in range(3)]
    assert seen == [[True, False, False], [True, True, False], [True, True, True]]
