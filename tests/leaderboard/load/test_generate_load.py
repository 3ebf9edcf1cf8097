"""``manage.py generate_load``."""

from __future__ import annotations

import io
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchmark_tasks.domain.catalogue import load_catalogue
from benchmark_tasks.models import TaskRevision
from evaluator.models import Attempt, Judgement, JudgeVote, TestRun
from leaderboard.board.entries import recompute_submission
from leaderboard.board.folding import represent
from leaderboard.load import generating
from leaderboard.load.facts import drawing, submission_facts, system_facts, system_of
from leaderboard.models import Entry, EntryMetric
from reviews.cases.triggers import consider_submission
from reviews.models import Case, Review
from submissions.enums import Kind
from submissions.models import Implementation, Submission, System, User
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from django.test import Client

_NOW: Final = datetime(2026, 11, 30, tzinfo=UTC)
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def generated(*arguments: str) -> str:
    """Run the command and return what it prints."""
    out = io.StringIO()
    call_command("generate_load", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def catalogue(db: None) -> None:
    load_catalogue()


def numbers(entry: Entry) -> list[dict[str, Any]]:
    """Everything that boards show of a row."""
    rows = entry.metrics.order_by("category").values()
    return [{name: value for name, value in row.items() if name not in {"id", "rank_from", "rank_to"}} for row in rows]


def facts_of(entry: Entry) -> dict[str, Any]:
    """The row's own values, without those of its ranks and its time."""
    unlike = {"_state", "id", "computed", "recounted", "cost", "tokens"}
    return {name: value for name, value in vars(entry).items() if name not in unlike}


def test_rows_are_those_that_the_site_itself_counts(catalogue: None) -> None:
    generated("--submissions", "60")
    before = {each.submission_id: (facts_of(each), numbers(each)) for each in Entry.objects.all()}
    assert len(before) == Submission.objects.filter(state="scored").count() > 50
    for submission in before:
        recompute_submission(submission or 0)
    represent(*System.objects.values_list("pk", flat=True))
    after = {each.submission_id: (facts_of(each), numbers(each)) for each in Entry.objects.all()}
    for submission, row in before.items():
        assert after[submission] == row


def test_the_site_opens_no_further_case(catalogue: None) -> None:
    generated("--submissions", "150")
    judged = Submission.objects.filter(implementations__judgements__isnull=False).distinct()
    assert Case.objects.count() > 0 < Review.objects.count()
    assert sum(consider_submission(each.pk) for each in judged) == 0


def test_every_tenth_is_judged_and_every_answer_has_its_run(catalogue: None) -> None:
    printed = generated("--submissions", "40")
    assert Implementation.objects.count() == TestRun.objects.count() == 40 * 28
    assert JudgeVote.objects.count() == 3 * Judgement.objects.count()
    judged = Judgement.objects.order_by().values_list("implementation__submission", flat=True).distinct()
    assert len(judged) == sum(
        submission_facts(drawing(0, each), each, tasks=28, now=_NOW).state == "scored" for each in (3, 13, 23, 33)
    )
    done = TestRun.objects.filter(state="done").exclude(outcome__in=["not_attempted", "bad_patch"])
    assert Attempt.objects.filter(state="accepted").count() == done.count()
    assert "40 submissions to add to 0" in printed
    assert f"{Attempt.objects.count():>12,}  attempts\n" in printed


def test_a_submission_is_the_same_whatever_the_total(catalogue: None) -> None:
    for total in (11, 30):
        generated("--submissions", str(total), "--seed", "5")
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for number, sent in enumerate(Submission.objects.order_by("pk")):
        drawn = submission_facts(drawing(5, number), number, tasks=28, now=midnight)
        assert (sent.state, sent.visibility, sent.created) == (drawn.state, drawn.visibility, drawn.created)
        assert sent.system.slug == system_facts(system_of(number)).slug
        runs = TestRun.objects.filter(implementation__submission=sent, state="done").order_by("implementation")
        outcomes = [each.value for each in drawn.outcomes] if drawn.state == "scored" else []
        assert list(runs.values_list("outcome", flat=True)) == outcomes
    assert Submission.objects.count() == 30


def test_systems_and_accounts_are_few_and_many() -> None:
    systems = Counter(system_of(each) for each in range(10_000))
    assert max(systems.values()) == 25
    assert Counter(systems.values()) == {25: 40, 1: 4_000, 3: 1_000, 2: 1_000}
    accounts = Counter(system_facts(system_of(each)).account for each in range(10_000))
    assert sorted(accounts.values())[-5:] == [200, 225, 225, 225, 225]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--submissions", "0"), "--submissions must be at least 1."),
        (("--submissions", "1", "--suite", "none"), "There is no suite 'none'. Known: lmr-bench, lmr-mini."),
    ],
)
def test_wrong_arguments(catalogue: None, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError) as refused:
        generated(*arguments)
    assert str(refused.value) == said


def test_an_instance_with_other_submissions_is_refused(catalogue: None) -> None:
    SubmissionFactory(kind=Kind.CALIBRATION)
    generated("--submissions", "1")
    SubmissionFactory(kind=Kind.RANKED)
    with pytest.raises(CommandError, match=r"^This instance has 1 submissions that were not generated\."):
        generated("--submissions", "2")
    assert Submission.objects.count() == 3


def test_fewer_or_another_suite_is_refused(catalogue: None) -> None:
    generated("--submissions", "2")
    with pytest.raises(CommandError, match=r"^There are 2 generated submissions already"):
        generated("--submissions", "1")
    with pytest.raises(CommandError, match=r"^The generated submissions here are to another suite or version"):
        generated("--submissions", "3", "--suite", "lmr-mini")


def test_too_little_disk_is_refused_before_anything_is_stored(catalogue: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generating, "_free_bytes", lambda: 10_000_000)
    with pytest.raises(CommandError, match=r"^1,000 more submissions need about .* MB of disk, and 9\.5 MB are free"):
        generated("--submissions", "1000")
    assert not Submission.objects.exists()
    assert not User.objects.exists()


def test_its_pages_work(catalogue: None, client: Client) -> None:
    generated("--submissions", "30")
    assert TaskRevision.objects.filter(task__suite__slug="lmr-bench", audit_state="passed").count() == 28
    shown = Entry.objects.filter(published=True).first()
    assert shown is not None
    answer = shown.submission.implementations.filter(attempted=True).first() if shown.submission else None
    assert answer is not None
    task = answer.revision.task.get_absolute_url()
    for address in (
        "/board/lmr-bench/",
        shown.get_absolute_url(),
        answer.get_absolute_url(),
        task,
    ):
        assert client.get(address).status_code == 200
    assert client.get("/suites/lmr-bench/kit/").getvalue().startswith(b"PK")
    load_catalogue()
    assert not EntryMetric.objects.exclude(entry__suite_version__number=1).exists()
    assert TaskRevision.objects.filter(task__suite__slug="lmr-bench").count() == 28
