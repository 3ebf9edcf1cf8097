"""Labelling is blind: no page, file, draft or address reveals results or authors until the label is locked."""

from __future__ import annotations

import html
import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
import time_machine
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse

from evaluator.models import Judgement, JudgeVote, TestRun
from leaderboard.board.entries import recompute_submission
from reviews.enums import Confidence, Severity, TriggerKind
from reviews.labelling.locking import lock
from reviews.models import Assignment, Case, Review, Trigger
from submissions.models import Implementation, Submission, System, User
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged, show, vote
from tests.reviews.factories import assigned, case_of, ready, reviewed
from tests.reviews.labelling import HTMX, form_of
from tests.security.test_every_address import body
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory, UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.models import SuiteVersion
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

# Results of the answer are hidden everywhere; its author is hidden on the pages for labelling.
RESULT = "What-was-S4ID"
AUTHOR = "Who-M4DE-it"
NUMBER = 7_310_457
"""Primary key of the submission and of its answer, to find addresses that contain it."""

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
ADDRESS = re.compile(r"""(?:href|src|action|hx-get|data-[a-z-]+)=["']([/?][^"']*)["']""")
MOST_FILTERS = 12
"""Limit of followed query strings per page: all combinations of filters would take an hour."""
# The token of each page does not depend on the answer.
CHANGING = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": ?"\w+"|data-csrf="\w+"')


@pytest.fixture
def annotator() -> Reviewer:
    return ready(pseudonym="Labelling Person")


@pytest.fixture
def answer(small: SuiteVersion) -> Implementation:
    """A published answer that passed its tests and that a judge labelled LI, with a marker in each text of theirs."""
    owner = UserFactory(username=AUTHOR)
    system = SystemFactory(owner=owner, slug=AUTHOR.lower(), name=AUTHOR, backbone=AUTHOR, organisation=AUTHOR)
    facts = {"owner": owner, "system": system, "suite_version": small, "published": True, "code_licence": "CC-BY-4.0"}
    submission: Submission = SubmissionFactory(pk=NUMBER, notes=AUTHOR, **facts)
    code = "def double(x):\n    return x + x\n"
    made: Implementation = ImplementationFactory(
        pk=NUMBER, submission=submission, revision=small.revisions.get(task__slug="alpha/1"), goal_source=code
    )
    case = {"seed": 1, "index": 0, "public": True, "outcome": "passed", "difference": RESULT, "error": RESULT}
    TestRunFactory(implementation=made, done="passed", reason=RESULT, log=RESULT, cases=[case])
    judge = JudgeFactory(name="Stern Judge")
    show(small.suite, judge)
    finding = {"point": RESULT, "severity": "major", "lines": "1"}
    vote(judged(made, judge, "LI", split=True), 1, "LI", rationale=[RESULT], findings=[finding])
    recompute_submission(submission.pk)
    return made


@pytest.fixture
def case(answer: Implementation) -> Case:
    """A disputed answer that another annotator has labelled."""
    made = case_of(answer, severity=Severity.CONFLICT, state="one_label")
    Trigger.objects.create(case=made, kind=TriggerKind.TESTS_OPPOSE, detail=RESULT)
    reviewed(made, ready(pseudonym=f"{AUTHOR} Peer"), "LI", note=RESULT)
    return made


def signed_in(person: User | None) -> Client:
    client = Client()
    assert person is not None
    client.force_login(person)
    return client


def crawl(client: Client, start: list[str]) -> dict[str, str]:
    """Every page and file that can be reached by links from ``start``, with its headers, by address."""
    found: dict[str, str] = {}
    filters: Counter[str] = Counter()
    waiting = list(start)
    while waiting:
        address = waiting.pop()
        path = urlsplit(address).path
        if address in found or filters[path] > MOST_FILTERS or path.startswith(("/static/", "/accounts/", "/docs/")):
            continue
        filters[path] += 1
        response = client.get(address)
        found[address] = f"{address}\n{dict(response.headers)}\n{body(response)}"
        if "html" in response.headers.get("Content-Type", ""):
            waiting += _links(address, found[address])
        if "Location" in response.headers:
            waiting.append(response.headers["Location"])
    return found


def _links(address: str, page: str) -> Iterator[str]:
    for link in ADDRESS.findall(page):
        whole = urldefrag(urljoin(address, html.unescape(link))).url
        if whole.startswith("/") and not urlsplit(whole).netloc:
            yield whole


def test_pages_for_labelling_reveal_neither_results_nor_authors(case: Case, annotator: Reviewer) -> None:
    held = assigned(case, annotator)
    client = signed_in(annotator.user)
    pages = crawl(client, [reverse("label", args=[held.pk]), reverse("reviews")])
    flow = {address: text for address, text in pages.items() if address.startswith("/reviews/")}
    # The profile lists every published system for conflicts of interest, which reveals nothing about the item.
    assert RESULT not in flow.pop("/reviews/profile/")
    assert reverse("label_paper", args=[held.pk]) in flow
    assert len(flow) > 5
    leaks = [
        (address, mark)
        for address, text in flow.items()
        for mark in (RESULT, AUTHOR, AUTHOR.lower(), str(NUMBER), "Stern Judge")
        if mark in text
    ]
    assert leaks == []


def test_no_page_of_the_site_reveals_the_results_to_the_holder(case: Case, annotator: Reviewer) -> None:
    held = assigned(case, annotator)
    starts = ["/", "/cases/", f"/agreement/small/?cell=LI,LI&case={case.pk}", f"/submissions/{NUMBER}/"]
    starts += [f"/submissions/{NUMBER}/answers/alpha/1/1/", f"/cases/{case.pk}/", reverse("label", args=[held.pk])]
    holder = crawl(signed_in(annotator.user), starts)
    assert [address for address, text in holder.items() if RESULT in text] == []
    # Another user sees the results, which proves that the crawl finds them.
    stranger = crawl(signed_in(UserFactory()), ["/board/small/"])
    assert f"/submissions/{NUMBER}/answers/alpha/1/1/" in [
        address for address, text in stranger.items() if RESULT in text
    ]


def test_the_answer_is_open_once_the_label_is_locked(case: Case, annotator: Reviewer) -> None:
    held = assigned(case, annotator)
    lock(assignment=held, label="CC", confidence=Confidence.HIGH, findings=[], note="", active_seconds=5)
    page = signed_in(annotator.user).get(f"/submissions/{NUMBER}/answers/alpha/1/1/")
    assert RESULT in body(page)


def test_responses_to_drafts_reveal_nothing(case: Case, annotator: Reviewer) -> None:
    held = assigned(case, annotator)
    client = signed_in(annotator.user)
    for version in ("0", "0", "none"):
        sent = form_of(version=version, label="CC", note="reads well")
        response = client.post(reverse("label", args=[held.pk]), sent, headers=HTMX)
        text = f"{dict(response.headers)}{body(response)}"
        assert not {mark for mark in (RESULT, AUTHOR, str(NUMBER), "Stern Judge") if mark in text}


def test_the_page_does_not_depend_on_hidden_facts(case: Case, annotator: Reviewer) -> None:
    """With every hidden fact changed, the page stays the same to the character."""
    held = assigned(case, annotator)
    with time_machine.travel(NOW, tick=False):
        before = _page(held, annotator)
        _change_hidden_facts(case)
        assert _page(held, annotator) == before
        # The page does show the code: another candidate gives another page.
        Implementation.objects.filter(pk=NUMBER).update(goal_source="def double(x):\n    return 3 * x\n")
        assert _page(held, annotator) != before


def _page(held: Assignment, annotator: Reviewer) -> str:
    response = signed_in(annotator.user).get(reverse("label", args=[held.pk]))
    assert response.status_code == 200
    return CHANGING.sub("", body(response))


def _change_hidden_facts(case: Case) -> None:
    """Change results, labels, author and reasons. A plain QuerySet bypasses the guard of append-only models."""
    TestRun.objects.update(outcome="wrong_output", cases=[], log="")
    Judgement.objects.update(label="CC", split=False)
    JudgeVote.objects.update(label="CC", rationale=[], findings=[])
    QuerySet(Review).update(label="CC", note="", findings=[])
    QuerySet(Trigger).update(kind=TriggerKind.AUDIT, detail="", inclusion_probability=0.1)
    Case.objects.filter(pk=case.pk).update(severity=Severity.AUDIT)
    System.objects.update(name="Another", backbone="other", organisation="Elsewhere")
    User.objects.filter(username=AUTHOR).update(username="somebody-else")
