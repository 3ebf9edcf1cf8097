"""What the pages say of answers that upstream's own unit tests judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.enums import Protocol
from benchmark_tasks.models import TaskRevision
from tests.evaluator.factories import TestRunFactory
from tests.submissions.factories import SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import Implementation

pytestmark = pytest.mark.django_db

CASES = [
    {
        "seed": None,
        "index": 0,
        "public": True,
        "outcome": "passed",
        "difference": "",
        "error": "",
        "name": "TestA.test_x",
    },
    {
        "seed": None,
        "index": 1,
        "public": True,
        "outcome": "raised",
        "difference": "",
        "error": "ValueError: no\n  at a.py:1",
        "name": "TestA.test_<b>",
    },
]


def judged(mode: str) -> Implementation:
    """A published answer to a task of upstream's that is tested in ``mode``."""
    submission = SubmissionFactory(owner=UserFactory(), published=True)
    implementation: Implementation = with_answers(submission, 1)[0]
    audit = {"mode": mode, "mode_why": "the goal is a method"} if mode else {}
    TaskRevision.objects.filter(pk=implementation.revision_id).update(protocol=Protocol.UPSTREAM, audit=audit)
    TestRunFactory(implementation=implementation, done="raised", cases=CASES, log="unit_test_1.log")
    return implementation


@pytest.mark.parametrize(
    ("mode", "said", "not_said"),
    [
        ("remote", "remote: the answer ran in a box of its own", "in-process"),
        ("in_process", "the answer ran beside the test, which it could read", "remote:"),
        ("", "upstream’s own unit test", "in-process"),
    ],
)
def test_an_answers_page_names_the_tests_and_the_mode(mode: str, said: str, not_said: str, client: Client) -> None:
    text = client.get(judged(mode).get_absolute_url()).content.decode()
    assert said in text
    assert not_said not in text
    assert "<code>TestA.test_x</code>" in text
    assert "<code>TestA.test_&lt;b&gt;</code>" in text
    assert "Upstream’s unit test, test by test" in text
    assert ">Seed<" not in text
    assert 'href="/docs/protocols/"' in text


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("remote", ["Upstream, remote.", "that knows the expected values of this public test by heart"]),
        ("in_process", ["Upstream, in-process.", "because the goal is a method", "or puts back what it replaced"]),
        ("", ["is found out when the test is audited"]),
    ],
)
def test_a_tasks_page_says_what_its_mode_does_not_protect_against(mode: str, said: list[str], client: Client) -> None:
    task = judged(mode).revision.task
    text = " ".join(client.get(task.get_absolute_url()).content.decode().split())
    for words in said:
        assert words in text
    assert 'href="/docs/protocols/"' in text


def test_the_page_about_protocols_is_served(client: Client) -> None:
    text = client.get("/docs/protocols/").content.decode()
    assert "Protocols: how answers are tested" in text
