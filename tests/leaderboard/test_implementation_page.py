"""The page of one answer: its cases, log and difference, and what of it nobody but its owner may see."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.domain.catalogue import SHIPPED_SUITE
from benchmark_tasks.models import Suite
from evaluator.enums import AttemptState, WorkState
from evaluator.models import AnswerRequest, Attempt
from submissions.enums import Visibility
from submissions.models import Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.asked import asked
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries

    from evaluator.models import TestRun
    from submissions.models import User

CASES = [
    {"seed": 11, "index": 0, "public": True, "outcome": "passed", "difference": "", "error": ""},
    {
        "seed": 11,
        "index": 1,
        "public": True,
        "outcome": "wrong_output",
        "difference": "1 of 4 values differ\n  value[2]: expected 1.0, got 2.0",
        "error": "",
    },
    {
        "seed": 12,
        "index": 0,
        "public": True,
        "outcome": "raised",
        "difference": "",
        "error": "ValueError: no <b>good</b>",
    },
    # Whatever is stored of private cases, the page shows how many passed.
    {"seed": 424242, "index": 7, "public": False, "outcome": "passed", "difference": "", "error": ""},
    {
        "seed": 434343,
        "index": 8,
        "public": False,
        "outcome": "wrong_output",
        "difference": "expected 3.14159",
        "error": "private traceback",
    },
]


def measured(owner: User, *, answer: dict[str, Any] | None = None, **facts: Any) -> tuple[Implementation, TestRun]:
    """An answer with a failing run, in a submission with ``facts``."""
    submission = SubmissionFactory(owner=owner, system__name="Alpha Solver", **facts)
    implementation = with_answers(submission, 1, **(answer or {}))[0]
    run = TestRunFactory(
        implementation=implementation,
        done="wrong_output",
        reason="secret reason",
        cases=CASES,
        log="printed by the answer\n<script>alert(1)</script>",
        seconds=2.5,
        finished=timezone.now(),
        environment_digest="sha256:" + "cd" * 32,
    )
    return implementation, run


def page(client: Client, implementation: Implementation, user: User | None = None) -> str:
    if user is not None:
        client.force_login(user)
    response = client.get(implementation.get_absolute_url())
    assert response.status_code == 200
    return response.content.decode()


def test_everybody_sees_a_published_one_with_its_licence(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, published=True)
    shown = page(client, implementation)
    assert "Shown under MIT, by its submitter’s consent." in shown
    assert "printed by the answer" in shown
    assert "environment <code title=" in shown
    assert ">cdcdcdcdcdcd</code>" in shown


def test_without_consent_the_code_stays_with_its_owner(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, visibility=Visibility.PUBLISHED, code_licence="")
    shown = page(client, implementation)
    assert "The code is shown once its owner publishes the submission." in shown
    assert "goal_source" not in shown
    assert 'class="k">return</span>' not in shown
    assert 'class="k">return</span>' in page(client, implementation, alice)


def test_an_answer_that_is_the_reference_is_flagged_to_whoever_sees_the_code(client: Client, alice: User) -> None:
    implementation, _ = measured(alice)
    assert "identical to the reference" not in page(client, implementation, alice)
    Implementation.objects.update(identical_to_reference=True)
    shown = page(client, implementation, alice)
    assert "identical to the reference" in shown
    assert "Shipped reference answers are public." not in shown
    Suite.objects.update(slug=SHIPPED_SUITE)
    assert "Shipped reference answers are public." in page(client, implementation, alice)
    Submission.objects.update(visibility=Visibility.PUBLISHED, code_licence="")
    client.logout()
    assert "identical to the reference" not in page(client, implementation)


def test_an_answer_of_another_submission_is_not_reached_through_a_visible_one(client: Client, alice: User) -> None:
    private, _ = measured(alice)
    public = SubmissionFactory(published=True)
    task = private.revision.task
    address = reverse("implementation", args=[public.pk, task.paper.slug, task.index, 1])
    assert client.get(address).status_code == 404


def test_public_cases_are_shown_one_by_one_and_the_first_failing_one_opened(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, published=True)
    response = client.get(implementation.get_absolute_url())
    rows = [
        (case.seed, case.number, case.badge.text, case.headline, bool(case.detail), case.opened)
        for case in response.context["public_cases"]
    ]
    assert rows == [
        (11, 0, "passed", "", False, True),
        (11, 1, "wrong output", "1 of 4 values differ", True, True),
        (12, 0, "raised an error", "ValueError: no <b>good</b>", False, False),
    ]
    assert "value[2]: expected 1.0, got 2.0" in response.content.decode()


def test_of_private_cases_only_how_many_passed_is_shown_to_anybody(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, published=True)
    for user in (None, alice, UserFactory(is_staff=True)):
        if user:
            client.force_login(user)
        response = client.get(implementation.get_absolute_url())
        text = response.content.decode()
        assert "1 of 2 private cases passed" in " ".join(text.split())
        assert text.count("wrong output") == 2  # the answer and the public case
        for secret in ("424242", "434343", "3.14159", "private traceback"):
            assert secret not in text


def test_foreign_text_is_escaped(client: Client, alice: User) -> None:
    source = "def double(x):\n    return '</code><script>alert(2)</script>'\n"
    diff = f"--- a/core.py\n+++ b/core.py\n@@ -1,1 +1,2 @@\n def double(x):\n+{source.splitlines()[1]}\n"
    implementation, _ = measured(alice, published=True, answer={"goal_source": source, "diff": diff})
    shown = page(client, implementation)
    assert "<script>alert" not in shown
    assert "<b>good</b>" not in shown


def replied(owner: User, *, answer: dict[str, Any] | None = None, **facts: Any) -> Implementation:
    """An answer that this site asked a model for; ``facts`` are its request's."""
    generation = asked(owner, WorkState.DONE)
    request = generation.requests.get()
    AnswerRequest.objects.filter(pk=request.pk).update(**{"rule": "2", **facts})
    Implementation.objects.filter(pk=request.implementation_id).update(attempted=True, **(answer or {}))
    return Implementation.objects.get(pk=request.implementation_id)


def test_a_reply_without_an_answer_is_shown_word_for_word_with_the_reason(client: Client, alice: User) -> None:
    reason = "The reply has no block that can be used. The fenced block: It does not define 'double'."
    nothing = {"files": None, "diff": "", "goal_source": "", "raw_answer": "Words and\n```\nx = 1\n```"}
    error = {"message": reason, "file": "the model's reply", "line": None}
    implementation = replied(alice, answer={**nothing, "answer_error": error}, taken="unparsable", note=reason)
    shown = re.sub(r"\s+", " ", page(client, implementation, alice))
    assert "<strong>The model’s reply holds no answer that can be tested.</strong>" in shown
    assert "The fenced block: It does not define &#x27;double&#x27;." in shown
    assert "<h3>The reply, word for word</h3>" in shown
    assert "Words and" in shown


def test_worker_names_and_what_went_wrong_in_full_are_for_maintainers(client: Client, alice: User) -> None:
    implementation, run = measured(alice, published=True)
    Attempt.objects.create(
        run=run, number=1, token=uuid4(), worker="host-7:123", state=AttemptState.INFRA, reason="No memory."
    )
    for user in (None, alice):
        shown = page(client, implementation, user)
        assert "infrastructure error" in shown
        assert "No memory." not in shown
        assert "host-7" not in shown
    shown = page(client, implementation, UserFactory(is_staff=True))
    assert "infrastructure error: No memory." in shown
    assert "host-7:123" in shown


@pytest.mark.parametrize("n", [1, 3])
def test_queries_do_not_grow(
    client: Client, alice: User, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    implementation, run = measured(alice, published=True)
    for _ in range(n):
        Attempt.objects.create(run=run, number=_ + 1, token=uuid4(), worker="host", state=AttemptState.LOST)
        ImplementationFactory(submission=implementation.submission)
    # submission, answer, runs, attempts, what superseded them, neighbours, judgements, whether there are steps,
    # reviews, the board's judge, what people said, flags
    with django_assert_num_queries(12):
        page(client, implementation)
