"""What the page of an answer shows of judges, and to whom."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluator.enums import WorkState
from evaluator.judging.shown_judgements import judges_of
from evaluator.models import Judgement
from submissions.enums import Visibility
from submissions.models import Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged, vote
from tests.submissions.factories import SubmissionFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import Implementation, User

pytestmark = pytest.mark.django_db
FINDING = {"point": "It adds <b>twice</b>.", "severity": "major", "lines": "3-4"}
QUOTED = ("It adds", "quoted rationale")


def answer_of(**facts: Any) -> Implementation:
    answer: Implementation = with_answers(SubmissionFactory(**{"published": True, **facts}), 1)[0]
    TestRunFactory(implementation=answer, done="passed")
    return answer


def decided(answer: Implementation, label: str = "LI", **facts: Any) -> Judgement:
    """Three votes: two for ``label`` with a finding, one abstention."""
    row = judged(answer, JudgeFactory(name="Careful May"), label, **facts)
    vote(row, 1, label or "CC", findings=[FINDING], rationale=["quoted rationale", "<script>alert(1)</script>"])
    vote(row, 2, label or "LI")
    vote(row, 3)
    return row


def section(client: Client, answer: Implementation, user: User | None = None) -> str:
    """The part of the page about judges, white space squeezed."""
    if user is not None:
        client.force_login(user)
    page = client.get(answer.get_absolute_url()).content.decode()
    return re.sub(r"\s+", " ", page[page.index('<h2 id="judges">') :].partition('<h2 id="measured')[0])


def test_label_votes_findings_and_flags_are_shown(client: Client) -> None:
    answer = answer_of()
    decided(answer, split=True, surface_sensitive=True, injection_suspected=True, dollars=Decimal("0.0123"))
    shown = section(client, answer)
    assert "It never changes what the unit tests say." in shown
    assert '<span class="label-text li" title="logically incorrect">LI</span>' in shown
    for text in ("votes split", "depends on comments", "influence suspected", "3 votes, US $ 0.0123"):
        assert text in shown
    assert (
        '<span class="badge">major</span> It adds &lt;b&gt;twice&lt;/b&gt;. <span class="muted">lines 3-4</span>'
        in shown
    )
    assert "<li>quoted rationale</li><li>&lt;script&gt;alert(1)&lt;/script&gt;</li>" in shown
    assert "<script>alert" not in shown


@pytest.mark.parametrize(
    ("state", "reason", "text"),
    [
        (WorkState.QUEUED, "", "queued"),
        (WorkState.QUEUED, "The budget of today is spent.", "queued: The budget of today is spent."),
        (WorkState.HELD, "No key is stored.", "held: No key is stored."),
    ],
)
def test_what_is_open_says_why(client: Client, state: str, reason: str, text: str) -> None:
    answer = answer_of()
    Judgement.objects.create(implementation=answer, config=JudgeFactory(), state=state, reason=reason)
    assert f'not judged yet</span> <span class="why">{text}</span>' in section(client, answer)


def test_without_consent_to_show_code_only_the_labels_are_public(client: Client) -> None:
    answer = answer_of()
    decided(answer)
    Submission.objects.update(visibility=Visibility.PUBLISHED, code_licence="")
    shown = section(client, answer)
    assert "logically incorrect" in shown
    assert "Findings and rationale quote the code" in shown
    assert not [text for text in QUOTED if text in shown]
    assert [text for text in QUOTED if text in section(client, answer, answer.submission.owner)] == list(QUOTED)


def test_queries_do_not_grow_with_judges_and_votes(client: Client) -> None:
    counts = []
    for number in (1, 3):
        answer = answer_of()
        for _ in range(number):
            decided(answer)
        with CaptureQueriesContext(connection) as queries:
            judges_of(answer, sees_code=True)
        counts.append(len(queries))
    assert counts == [3, 3]
