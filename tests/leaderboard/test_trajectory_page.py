"""The page of an agent's steps, and its download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evaluator.models import Trajectory
from leaderboard.templatetags.board_tags import LONG_TEXT
from submissions.enums import Visibility
from submissions.trajectories.steps import Action
from tests.leaderboard.judging import walked
from tests.submissions.factories import SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


def answer_with(*actions: Action, submission: dict[str, Any] | None = None, **step: Any) -> Implementation:
    made = SubmissionFactory(**{"published": True, **(submission or {})})
    answer: Implementation = with_answers(made, 1)[0]
    walked(answer, *actions, **step)
    return answer


def address(answer: Implementation, name: str = "trajectory") -> str:
    task = answer.revision.task
    return reverse(name, args=[answer.submission_id, task.paper.slug, task.index, answer.trial])


def shown(client: Client, answer: Implementation, query: str = "") -> Any:
    response = client.get(address(answer) + query)
    assert response.status_code == 200
    return response


def test_steps_are_in_order_with_their_numbers_whatever_is_filtered(client: Client) -> None:
    answer = answer_with(Action.READ, Action.RUN, Action.EDIT, Action.RUN, Action.FINISH)
    page = shown(client, answer)
    assert [(number, step.action) for number, step in page.context["steps"]] == [
        (1, "read"),
        (2, "run"),
        (3, "edit"),
        (4, "run"),
        (5, "finish"),
    ]
    assert [(chip["title"], chip["active"]) for chip in page.context["chips"]] == [
        ("All 5", True),
        ("run 2", False),
        ("read 1", False),
        ("edit 1", False),
        ("finish 1", False),
    ]
    filtered = shown(client, answer, "?action=run")
    assert [number for number, _ in filtered.context["steps"]] == [2, 4]
    assert [chip["title"] for chip in filtered.context["chips"] if chip["active"]] == ["run 2"]
    assert client.get(address(answer) + "?action=fly").status_code == 404


def test_long_texts_are_folded_behind_their_first_line(client: Client) -> None:
    long = "first line\n" + "x" * LONG_TEXT
    answer = answer_with(Action.RUN, input="ls", observation=long, thought="Look around.")
    page = shown(client, answer).content.decode()
    assert '<pre class="plain-text step-input">ls</pre>' in page
    assert "<details><summary>Observed: <code>first line</code></summary>" in page
    assert '<p class="thought">Look around.</p>' in page


def test_foreign_text_is_escaped(client: Client) -> None:
    bad = "<script>alert(1)</script>"
    answer = answer_with(Action.RUN, input=bad, observation=bad, thought=bad)
    page = shown(client, answer).content.decode()
    assert page.count("&lt;script&gt;alert(1)") == 3
    assert bad not in page


@pytest.mark.parametrize("name", ["trajectory", "trajectory_json"])
@pytest.mark.parametrize(
    "hidden",
    [
        {"published": False},
        {"published": False, "visibility": Visibility.HIDDEN, "code_licence": "MIT"},
        {"published": False, "visibility": Visibility.PUBLISHED, "code_licence": ""},
    ],
)
def test_it_is_shown_to_whoever_sees_the_code_and_nobody_else(
    client: Client, name: str, hidden: dict[str, Any]
) -> None:
    answer = answer_with(Action.RUN, observation="secret observation", submission=hidden)
    for user in (None, UserFactory()):
        if user:
            client.force_login(user)
        response = client.get(address(answer, name))
        assert (response.status_code, b"secret observation" in response.content) == (404, False)
    for reader in (answer.submission.owner, UserFactory(is_staff=True)):
        client.force_login(reader)
        assert b"secret observation" in client.get(address(answer, name)).content


def test_the_download_is_what_is_stored(client: Client) -> None:
    answer = answer_with(Action.READ, Action.FINISH)
    response = client.get(address(answer, "trajectory_json"))
    assert response["Content-Disposition"].startswith(f'attachment; filename="trajectory-{answer.submission_id}-')
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response.json() == {
        "submission": answer.submission_id,
        "task": answer.revision.task.slug,
        "trial": 1,
        "source": "agent",
        "trajectory": Trajectory.objects.get().steps,
    }


def test_queries_do_not_grow_with_steps(client: Client) -> None:
    counts = []
    for number in (1, 30):
        answer = answer_with(*[Action.RUN] * number)
        with CaptureQueriesContext(connection) as queries:
            shown(client, answer)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 4
