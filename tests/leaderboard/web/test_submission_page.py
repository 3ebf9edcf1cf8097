"""The page of a submission: access, and its content while it runs and afterwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.testing.progress import summary
from leaderboard.board.entries import recompute_submission
from leaderboard.models import Entry
from submissions.domain import publishing
from submissions.domain.audit import history
from submissions.enums import Source, SubmissionState, Verb, Visibility
from submissions.models import Implementation, Submission, User
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.showing import get, scored, text_of, words_of
from tests.submissions.factories import SubmissionFactory, SystemFactory, UserFactory, with_answers

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.django_db


def test_a_published_submission_is_public_and_offers_visitors_no_action(client: Client, alice: User, bob: User) -> None:
    submission = scored(alice, "passed", published=True)
    submission.bundle.save("some.bundle", ContentFile(b"PK\x03\x04"))
    for user in (None, bob):
        page = get(client, submission, user).content.decode()
        assert ("<form" in page, "/bundle/" in page) == (False, False)
        assert client.get(reverse("submission_bundle", args=[submission.pk])).status_code == 404


def test_a_withdrawn_submission_shows_only_the_reason(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", published=True)
    publishing.withdraw(submission=submission, actor=alice, reason="The wrong model answered.")
    response = get(client, submission)
    assert response.status_code == 404
    page = response.content.decode()
    assert "This submission was withdrawn by its owner." in page
    assert "The wrong model answered." in page
    assert "Alpha Solver" not in page


def test_shows_each_task_s_outcome_and_the_totals(client: Client, alice: User) -> None:
    submission = scored(
        alice, "passed", "wrong_output", "not_attempted", published=True, environment_digest="sha256:" + "ab" * 32
    )
    response = get(client, submission)
    rows = [(row.badge.text, row.badge.css) for row in response.context["rows"]]  # type: ignore[attr-defined]
    assert rows == [("passed", "passed"), ("wrong output", "failed"), ("not attempted", "failed")]
    text = text_of(response)
    assert "because wrong_output" in text
    assert "because passed" not in text
    assert "33.3 % [6.1, 79.2]" in text
    assert "1 of 3 tasks pass their unit tests" in text
    assert "evaluator 1, environment abababababab" in text
    assert "graded here" in text


def test_only_maintainers_see_the_full_reason_of_a_hold(client: Client, alice: User, maintainer: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.HELD, held_reason="The image is missing.")
    run = TestRunFactory(implementation=with_answers(submission, 1)[0], state=RunState.HELD)
    for number, reason in enumerate(("older: db.internal is down", "no image at registry.internal:5000/box"), start=1):
        run.attempts.create(
            number=number, token=f"{number:032}", worker="w", state="infra", reason=reason, ended=timezone.now()
        )
    Submission.objects.filter(pk=submission.pk).update(visibility=Visibility.PUBLISHED)
    addresses = [submission.get_absolute_url(), reverse("submission_progress", args=[submission.pk])]
    for person in (None, alice, UserFactory(), maintainer):
        if person:
            client.force_login(person)
        for address in addresses:
            page = client.get(address).content.decode()
            assert "The image is missing." in page
            assert ("registry.internal:5000/box" in page) is (person is maintainer)
            assert "db.internal" not in page


def test_only_an_unfinished_submission_is_polled(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    TestRunFactory(implementation=with_answers(submission, 1)[0], running=True)
    page = get(client, submission, alice).content.decode()
    address = reverse("submission_progress", args=[submission.pk])
    # The number represents what it waits for.
    polled = re.search(rf'hx-get="({address}\?seen=running-private-False-\d+-1-1-0-1)"', page)
    assert polled is not None
    assert 'hx-trigger="every 2s"' in page
    assert "1 of 2 answers decided, 1 running" in page
    assert "htmx" in page
    same = client.get(polled[1])
    assert (same.status_code, same.content) == (204, b"")
    TestRun.objects.filter(state=RunState.RUNNING).update(state=RunState.DONE, outcome="raised", token=None)
    Submission.objects.update(state=SubmissionState.SCORED)
    recompute_submission(submission.pk)
    partial = client.get(polled[1]).content.decode()
    assert "hx-get" not in partial
    assert '<div id="announcement" hx-swap-oob="innerHTML">scored, 2 of 2 answers decided</div>' in partial
    assert "<html" not in partial
    assert "hx-get" not in get(client, submission, alice).content.decode()


def test_tasks_without_an_answer_are_counted_apart(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    Implementation.objects.filter(submission=submission).update(attempted=False)
    text = words_of(get(client, submission, alice))
    assert "0 of 0 answers decided; 1 task not attempted" in text


def test_the_page_is_polled_until_the_board_has_counted(client: Client, alice: User) -> None:
    """A worker counts the row shortly after the last answer is decided; the page shows it without a reload."""
    submission = scored(alice, "passed")
    polls = f'hx-get="{reverse("submission_progress", args=[submission.pk])}?seen='
    assert polls not in get(client, submission, alice).content.decode()
    Entry.objects.all().delete()
    page = get(client, submission, alice).content.decode()
    assert "The board’s numbers are being computed and will appear here." in page
    assert polls in page
    assert re.search(r'<script src="[^"]*htmx[^"]*"', page)
    seen = client.get(reverse("submission_progress", args=[submission.pk])).context["fingerprint"]
    recompute_submission(submission.pk)
    part = client.get(reverse("submission_progress", args=[submission.pk]), {"seen": seen}).content.decode()
    assert "1 of 1 tasks pass their unit tests" in " ".join(part.split())
    assert "hx-get" not in part


def test_withdrawing_is_offered_as_soon_as_it_is_published(
    client: Client, alice: User, bob: User, maintainer: User
) -> None:
    """The submission is published automatically when it is scored, while its page is open."""
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    form = f'action="/submissions/{submission.pk}/withdraw/#withdraw"'
    assert form not in get(client, submission, alice).content.decode()
    Submission.objects.update(state=SubmissionState.SCORED, visibility=Visibility.PUBLISHED)
    recompute_submission(submission.pk)
    address = reverse("submission_progress", args=[submission.pk])
    for user, offered, measured_again in ((alice, True, False), (maintainer, True, True), (bob, False, False)):
        client.force_login(user)
        part = client.get(address).content.decode()
        swapped = part.partition('<div id="visibility" hx-swap-oob="true">')[2]
        assert (form in swapped, "Measure again" in swapped) == (offered, measured_again)
        page = client.get(submission.get_absolute_url()).content.decode()
        assert (page.count('id="visibility"'), form in page) == (int(offered), offered)
    assert Program(alice).get(f"/submissions/{submission.pk}")["may"] == ["withdraw"]
    assert Program(bob).get(f"/submissions/{submission.pk}")["may"] == []


def test_passed_answers_are_counted_while_tasks_are_audited(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", "raised", "passed")
    first, _, last = (answer.revision for answer in submission.implementations.all())
    sentence = "2 of 3 answers passed; {} audited so far and count"
    for waiting, revisions, tasks in ((0, [], ""), (1, [first], "2 tasks are"), (2, [last], "1 task is")):
        for revision in revisions:
            revision.audit_state = AuditState.UNAUDITED
            revision.save()
        recompute_submission(submission.pk)
        text = " ".join(text_of(get(client, submission, alice)).split())
        assert (sentence.format(tasks) in text) is bool(tasks)
        assert ("tasks pass their unit tests" in text) is not bool(tasks)
        shown = Program(alice).get(f"/submissions/{submission.pk}")
        assert (shown["audited_later"], shown["progress"]["passed"]) == (waiting, 2)
        found = summary(submission)
        assert (found["audited_later"], found["answers_passed"]) == (waiting, 2)


@pytest.mark.parametrize(
    ("start", "ending"), [(b"PK\x03\x04", "zip"), (b"\x1f\x8b\x08", "tar.gz"), (b'{"instance_id"', "jsonl")]
)
def test_the_bundle_is_a_download(client: Client, alice: User, maintainer: User, start: bytes, ending: str) -> None:
    submission = scored(alice)
    submission.bundle.save("some.bundle", ContentFile(start))
    for user in (alice, maintainer):
        client.force_login(user)
        response = client.get(reverse("submission_bundle", args=[submission.pk]))
        assert response.getvalue() == start
        assert response["Content-Disposition"] == f'attachment; filename="submission-{submission.pk}.{ending}"'
        assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")


@pytest.mark.parametrize("outcomes", [("wrong_output", "bad_patch"), ("passed", "raised")])
def test_publishing_a_submission_without_a_passing_answer_has_a_warning(
    client: Client, alice: User, outcomes: tuple[str, str]
) -> None:
    words = words_of(get(client, scored(alice, *outcomes), alice))
    warning = "No answer passes. Look at the reasons in the table before you publish."
    assert (warning in words) is ("passed" not in outcomes)
    assert "Every answer, its log and its code become public." in words


def test_a_submission_whose_first_run_was_just_claimed_is_running(client: Client, alice: User) -> None:
    """The worker claims it between the queries of the submission and of its runs."""
    submission = scored(alice, "passed", state=SubmissionState.QUEUED)
    TestRunFactory(implementation=with_answers(submission, 1)[0], running=True)
    page = get(client, submission, alice)
    assert page.context["submission"].get_state_display() == "running"  # type: ignore[attr-defined]
    assert "1 of 2 answers decided, 1 running" in words_of(page)


def test_the_owner_publishes_corrects_and_withdraws(client: Client, alice: User) -> None:
    submission = scored(alice, "passed")
    client.force_login(alice)

    def act(action: str, **typed: str) -> str:
        response = client.post(reverse(f"submission_{action}", args=[submission.pk]), typed, follow=True)
        submission.refresh_from_db()
        return text_of(response)  # type: ignore[arg-type]

    effect = "The board then shows this submission. Every answer, its log and its code"
    assert f"{effect} become public." in text_of(get(client, submission))
    Submission.objects.update(source=Source.ENDPOINT)
    assert f"{effect}, and every prompt and reply, become public." in text_of(get(client, submission))
    Submission.objects.update(source=Source.BUNDLE)
    assert "Published: it is on the board now." in act("publish", consent="on", licence="MIT")
    assert submission.visibility == Visibility.PUBLISHED
    corrected = {"name": "Alpha Solver", "backbone": "alpha-3", "scaffold": "none", "reason": "It was alpha-3."}
    assert "alice (its owner) corrected it: It was alpha-3. backbone: alpha-2 alpha-3" in act("correct", **corrected)
    act("withdraw", reason="")
    assert submission.visibility == Visibility.PUBLISHED
    trace = act("withdraw", reason="The wrong model answered.")
    assert "alice (its owner) withdrew it: The wrong model answered." in trace
    assert submission.visibility == Visibility.WITHDRAWN


def test_cancelling_needs_confirmation(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    client.force_login(alice)
    address = reverse("submission_cancel", args=[submission.pk])
    errors = client.post(address).context["cancel"].errors
    assert errors == {"confirm": ["Tick the box to confirm: running work is lost."]}
    client.post(address, {"confirm": "on"})
    submission.refresh_from_db()
    assert submission.state == SubmissionState.CANCELLED


def test_the_public_trace_names_no_address(client: Client, alice: User, maintainer: User) -> None:
    owner = UserFactory(username="dave@mail.example", email="dave@mail.example")
    submission = scored(owner, "passed")
    publishing.publish(submission=submission, actor=owner, code_licence="MIT", consent=True)
    publishing.hide(submission=submission, actor=maintainer, reason="under review")
    publishing.unhide(submission=submission, actor=maintainer, reason="reviewed")
    response = get(client, submission)
    assert [event.verb for event in history(submission)] == [Verb.UNHIDDEN, Verb.HIDDEN, Verb.PUBLISHED]
    assert [(line.who, line.reason) for line in response.context["trace"]] == [  # type: ignore[attr-defined]
        ("carol (maintainer)", "reviewed"),
        ("carol (maintainer)", "under review"),
        ("dave (its owner)", ""),
    ]
    assert "carol (maintainer) unhid it: reviewed" in text_of(response)
    assert "mail.example" not in response.content.decode()


def test_the_result_comes_first_then_answers_and_facts(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", "raised")
    page = get(client, submission, alice).content.decode()
    order = ('id="live"', "tasks pass their unit tests", "table.answers", 'id="facts"', 'id="history"', 'id="change"')
    places = [page.index(text.replace("table.answers", 'class="plain stacked answers"')) for text in order]
    assert places == sorted(places)


def test_edits_set_aside_are_shown_to_viewers_of_the_code(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", "passed")
    answer = submission.implementations.order_by("pk")[0]
    answer.set_aside = [{"message": "Not applied: it is a test.", "file": "tests/test_a.py", "diff": ""}]
    answer.save()
    link = f'href="{answer.get_absolute_url()}#set-aside"> 1 edit set aside</a>'
    client.force_login(alice)
    assert get(client, submission).content.decode().count("set aside</a>") == 1
    assert link in " ".join(get(client, submission).content.decode().split())
    page = client.get(answer.get_absolute_url()).content.decode()
    assert ('<a href="#set-aside">Set aside</a>' in page, "<code>tests/test_a.py</code> Not applied" in page) == (
        *(True, True),
    )
    client.logout()
    Submission.objects.update(visibility=Visibility.PUBLISHED)
    assert "set aside" not in get(client, submission).content.decode()


def test_an_open_submission_shows_what_it_waits_for_and_updates_when_that_changes(
    client: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = {"default": 2}
    monkeypatch.setattr("evaluator.waiting.listening", lambda: listening)
    submission = scored(alice, "passed", state=SubmissionState.QUEUED)
    TestRunFactory(implementation=with_answers(submission, 1)[0])
    line = "1 of 2 tests done. The next one waits for a free worker. Tests of all submitters before its next one: 0."
    assert line in words_of(get(client, submission, alice))
    mine = words_of(client.get(reverse("my_submissions")))
    assert line in mine
    progress = reverse("submission_progress", args=[submission.pk])
    seen = client.get(progress).context["fingerprint"]
    assert client.get(progress, {"seen": seen}).status_code == 204
    listening["default"] = 0
    changed = client.get(progress, {"seen": seen})
    assert "No worker is running. 1 of 2 tests done. No expected time: nothing is tested now." in words_of(changed)
    Submission.objects.update(state=SubmissionState.CANCELLED)
    assert "tests done" not in words_of(client.get(progress, {"seen": seen}))


@pytest.mark.parametrize("number", [1, 3])
def test_the_owner_s_list_has_constant_queries(client: Client, alice: User, number: int) -> None:
    for each in range(number):
        system = SystemFactory(owner=alice, name=f"System {each}")
        submission = SubmissionFactory(owner=alice, system=system, state=SubmissionState.QUEUED)
        TestRunFactory(implementation=with_answers(submission, 1)[0])
    client.force_login(alice)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(reverse("my_submissions")).status_code == 200
    assert len(queries) == 15
