"""What a reviewer sees of an answer and on the labelling page: everything needed, and nothing else."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from django.utils.html import strip_tags

from evaluator.outcomes import Outcome
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.labelling.items import blind_item, line_count, shown_definition
from reviews.models import Assignment, Review, Reviewer
from submissions.answers.git_tool import unified_diff
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import MASKED, STUB
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import ReviewerFactory, assigned, case_of, ready, reviewed
from tests.reviews.labelling import CANDIDATE, HIDDEN, held_by, others, sign_in, stored_task

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import DjangoAssertNumQueries, Settings

    from benchmark_tasks.models import TaskRevision
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db
GOLDEN = 'def double(x):\n    """Twice x."""\n    return math.fsum([x, x])  # golden-double'
HELPER = (
    "diff --git a/scoring/tables.py b/scoring/tables.py\n--- a/scoring/tables.py\n+++ b/scoring/tables.py\n"
    "@@ -1,1 +1,1 @@\n-WEIGHTS = [3.0]\n+WEIGHTS = [4.0]\n"
)
GOAL = (
    "diff --git a/scoring/core.py b/scoring/core.py\n--- a/scoring/core.py\n+++ b/scoring/core.py\n"
    "@@ -11 +11 @@\n-    raise NotImplementedError\n+    return x + x\n"
)


def test_an_item_has_task_golden_and_candidate(task: TaskRevision, annotator: Reviewer) -> None:
    item = blind_item(held_by(annotator, task))
    assert (item.task, item.goal, item.category) == ("alpha/1", "double", "Evaluation Metrics")
    assert (item.instruction, item.paper_title) == ("Implement double.", "Alpha: A Score")
    assert (item.paper_address, item.paper_year, item.paper_form) == ("https://example.org/alpha", 2024, "pdf")
    assert (item.golden, item.candidate, item.candidate_is_diff) == (GOLDEN, CANDIDATE.rstrip("\n"), False)
    assert [(file.path, file.text) for file in item.context] == [("scoring/tables.py", "WEIGHTS = [3.0]\n")]
    masked = item.masked
    assert (masked.path, masked.text, masked.first, masked.last) == ("scoring/core.py", MASKED, 8, 11)


def test_an_item_has_the_changes_outside_the_goal_and_nothing_hidden(task: TaskRevision, annotator: Reviewer) -> None:
    item = blind_item(held_by(annotator, task, diff=HELPER + GOAL))
    text = str(asdict(item))
    assert item.other_changes == HELPER.rstrip("\n")
    assert ([word for word in HIDDEN if word in text], "candidate-comment" in text) == ([], True)


def test_a_goal_file_that_is_changed_around_the_goal_counts_as_changed(task: TaskRevision, annotator: Reviewer) -> None:
    files = {"scoring/core.py": MASKED.replace("import math", "import cmath as math")}
    item = blind_item(held_by(annotator, task, diff=GOAL, files=files))
    assert "scoring/core.py" in item.other_changes


@pytest.mark.parametrize("place", ["{attack}\n\n{goal}", "{goal}\n\n{attack}", "{goal}double = abs\n"])
def test_code_beside_the_goal_is_shown(task: TaskRevision, annotator: Reviewer, place: str) -> None:
    attack = "def fsum(x):\n    return 0.0 * x[0]  # shadow\u202e\n"
    around = MASKED.partition(f'def double(x):\n    """Twice x."""\n{STUB}')
    files = {"scoring/core.py": around[0] + place.format(attack=attack, goal=CANDIDATE) + around[2]}
    diff = unified_diff({"scoring/core.py": MASKED.encode()}, {"scoring/core.py": files["scoring/core.py"].encode()})
    item = blind_item(held_by(annotator, task, files=files, diff=HELPER + diff))
    assert item.candidate == CANDIDATE.rstrip("\n")
    assert item.other_changes == (HELPER + diff).rstrip("\n").replace("\u202e", "\u2039U+202E\u203a")


def test_without_the_goal_the_whole_diff_is_shown(task: TaskRevision, annotator: Reviewer) -> None:
    assignment = held_by(annotator, task, goal_source="", diff=HELPER)
    item = blind_item(assignment)
    assert (item.candidate_is_diff, item.candidate, item.other_changes) == (True, HELPER.rstrip("\n"), "")
    assert line_count(assignment) == {"candidate": 6, "golden": 3}


def test_an_instance_without_the_files_shows_the_rest(annotator: Reviewer) -> None:
    assignment = assigned(case_of(), annotator)
    item = blind_item(assignment)
    assert (item.golden, item.paper_form, item.context) == ("", "missing", ())
    assert item.masked.text.startswith("def double(x):")
    assert line_count(assignment)["golden"] == 0


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("    def f(self):\n        return 1\n\n", "def f(self):\n    return 1"),
        ("def double(x):\r\n    return x\r\n\n", "def double(x):\n    return x"),
        ('    def f(self):\n        return """\nleft"""\n', '    def f(self):\n        return """\nleft"""'),
        ("def f():\n    return 'a\u202eb'\n", "def f():\n    return 'a\u2039U+202E\u203ab'"),
    ],
    ids=["method", "line ends", "string that holds less", "mark that reorders"],
)
def test_definitions_are_shown_dedented_with_hidden_characters_visible(source: str, shown: str) -> None:
    assert shown_definition(source) == shown


def test_code_behind_a_carriage_return_is_a_line_of_its_own(task: TaskRevision, annotator: Reviewer) -> None:
    assert shown_definition("def f(x):\r\n    # fine\r    return 0\n") == "def f(x):\n    # fine\n    return 0"
    assignment = held_by(annotator, task)
    answer = assignment.case.implementation
    answer.files, answer.deleted = {"scoring/tables.py": "# fine\rWEIGHTS = [4.0]\n"}, []
    answer.diff = unified_diff({}, {"scoring/tables.py": answer.files["scoring/tables.py"].encode()})
    shown = blind_item(assignment).other_changes
    assert shown.endswith("+# fine\u2039U+000D\u203aWEIGHTS = [4.0]")
    assert "\r" not in shown


PAGES = ("", "paper/", "?part=diff&whitespace=ignored")
PEERS = (*HIDDEN, "Hidden Peer", "hidden peer note")


@pytest.fixture
def held(task: TaskRevision, annotator: Reviewer, client: Client) -> Assignment:
    """An item that the signed-in annotator holds, with another annotator's label and a failed test."""
    sign_in(client, annotator)
    assignment = held_by(annotator, task)
    reviewed(assignment.case, ready(pseudonym="Hidden Peer"), "LI", note="hidden peer note")
    TestRunFactory(implementation=assignment.case.implementation, done=Outcome.WRONG_OUTPUT)
    return assignment


def body(client: Client, assignment: Assignment, page: str = "") -> str:
    """Return the page, its text without markup within words, and its headers."""
    response = client.get(f"/reviews/label/{assignment.pk}/{page}")
    assert response.status_code == 200
    text = b"".join(response).decode(errors="replace")
    return f"{text}{strip_tags(text)}{response.headers}"


def without_tokens(page: str) -> str:
    """Return the page without parts that differ in each response: form tokens, and times and ids in headers."""
    return re.sub(r"""name="csrfmiddlewaretoken" value="\w+"|'(Expires|X-Request-ID)': '[^']*'""", "", page)


def leaks(text: str) -> list[str]:
    return [word for word in PEERS if word in text]


def test_the_page_shows_everything_needed(client: Client, held: Assignment) -> None:
    text = body(client, held)
    for needed in (
        "alpha/1", "Alpha: A Score", "Implement double.", "golden-double", "candidate-comment", "scoring/tables.py",
        "WEIGHTS", "Logically incorrect", "paper misread", f"/reviews/label/{held.pk}/paper/", "pdf.worker.min",
    ):  # fmt: skip
        assert needed in text, needed
    assert "no-store" in client.get(f"/reviews/label/{held.pk}/").headers["Cache-Control"]


def test_lines_beyond_the_comparison_are_shown_below_it(client: Client, held: Assignment) -> None:
    answer = held.case.implementation
    answer.goal_source = "def double(x):\n" + "".join(f"    a = {number}\n" for number in range(3000))
    answer.save()
    text = body(client, held)
    assert "The answer is too long for this table: from line 3001 on" in text
    assert "<code>    a = 2999</code>" in text


@pytest.mark.parametrize("page", PAGES, ids=["page", "paper", "comparison"])
def test_nothing_hidden_is_in_page_headers_or_addresses(client: Client, held: Assignment, page: str) -> None:
    answer = held.case.implementation
    text = body(client, held, page)
    addresses = (f"/submissions/{answer.submission_id}/", f"/cases/{held.case_id}/", str(held.case.identifier))
    assert [word for word in (*PEERS, "wrong output", *addresses) if word in text] == []


def test_neither_labels_of_others_nor_being_a_repeat_change_the_page(client: Client, held: Assignment) -> None:
    before = without_tokens(body(client, held))
    reviewed(held.case, ready(), "CC")
    held.case.implementation.test_runs.all().delete()
    held.case.kind, held.case.reserved_for = CaseKind.REPEAT, held.reviewer
    held.case.save()
    assert without_tokens(body(client, held)) == before


@pytest.mark.parametrize("page", PAGES, ids=["page", "paper", "comparison"])
def test_others_get_404(client: Client, held: Assignment, page: str) -> None:
    address = f"/reviews/label/{held.pk}/{page}"
    client.logout()
    assert client.get(address).headers["Location"].startswith("/accounts/login/")
    for user in others():
        client.force_login(user)
        assert client.get(address).status_code == 404
    sign_in(client, held.reviewer)
    Reviewer.objects.filter(pk=held.reviewer_id).update(active=False)
    assert client.get(address).status_code == 404


def test_the_paper_has_a_neutral_name(client: Client, held: Assignment) -> None:
    response = client.get(f"/reviews/label/{held.pk}/paper/")
    assert response.headers["Content-Disposition"] == 'inline; filename="paper.pdf"'
    assert response.headers["Content-Type"] == "application/pdf"
    assert "private" in response.headers["Cache-Control"]
    assert b"".join(response) == b"%PDF-1.4\nA small paper.\n"


def test_a_text_paper_is_shown_as_text(client: Client, annotator: Reviewer, settings: Settings, tmp_path: Path) -> None:
    task = stored_task(settings, tmp_path, files={"paper.pdf": None, "paper.json": b'{"body": "Section <b>one</b>"}'})
    sign_in(client, annotator)
    assignment = held_by(annotator, task)
    assert "Section &lt;b&gt;one&lt;/b&gt;" in body(client, assignment)
    response = client.get(f"/reviews/label/{assignment.pk}/paper/")
    assert b"".join(response) == b'{"body": "Section <b>one</b>"}'
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Content-Disposition"] == 'inline; filename="paper.txt"'


def test_a_missing_paper_is_linked(client: Client, annotator: Reviewer, settings: Settings, tmp_path: Path) -> None:
    task = stored_task(settings, tmp_path, files={"paper.pdf": None})
    sign_in(client, annotator)
    assignment = held_by(annotator, task)
    assert 'href="https://example.org/alpha"' in body(client, assignment)
    assert client.get(f"/reviews/label/{assignment.pk}/paper/").status_code == 404


def test_the_fields_have_the_draft(client: Client, held: Assignment) -> None:
    held.draft = {
        "label": "LC", "confidence": 2, "note": "so <far>", "paper_page": 7,
        "findings": [{"side": "golden", "start": "2", "end": "", "text": "here", "error_class": "policy"}],
        "view": {"layout": "unified", "whitespace": "ignored"},
    }  # fmt: skip
    held.draft_version = 4
    # The lease is not ended, so input is still accepted.
    held.lease_until = timezone.now() - timedelta(minutes=1)
    held.save()
    text = " ".join(body(client, held).split())
    for field in (
        'name="label" value="LC" form="label-form" checked', 'name="confidence" value="2" form="label-form" checked',
        "so &lt;far&gt;</textarea>", 'name="paper_page" value="7"', 'name="finding-0-start" value="2"',
        '<form id="label-form"', 'name="version" form="label-form" value="4"', 'class="label-diff unified"',
    ):  # fmt: skip
        assert field in text, field


def test_the_comparison_can_ignore_whitespace(client: Client, annotator: Reviewer, task: TaskRevision) -> None:
    sign_in(client, annotator)
    source = 'def double(x):\n  """Twice x."""\n  return math.fsum([x,x]) # golden-double\n'
    assignment = held_by(annotator, task, goal_source=source)
    assert body(client, assignment, "?part=diff&whitespace=shown").count('class="changed') == 2
    assert 'class="changed' not in body(client, assignment, "?part=diff&whitespace=ignored")


def test_a_locked_label_can_be_read_and_is_still_blind(client: Client, held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.DONE, lease_until=None)
    Review.objects.create(
        case=held.case, assignment=held, reviewer=held.reviewer, role=Role.ANNOTATOR, label="LC", confidence=3,
        findings=[{"side": "candidate", "start": 2, "end": 3, "text": "own words", "error_class": ""}], note="own note",
        guideline=Review.objects.first().guideline, locked=timezone.now(),
    )  # fmt: skip
    text = body(client, held)
    shown = [word in text for word in ("own words", "own note", "candidate-comment", "<textarea")]
    assert (shown, leaks(text)) == ([True, True, True, False], [])


@pytest.mark.parametrize("visibility", [Visibility.WITHDRAWN, Visibility.HIDDEN])
def test_withdrawn_or_hidden_code_is_not_shown(client: Client, held: Assignment, visibility: Visibility) -> None:
    Submission.objects.filter(implementations=held.case.implementation_id).update(visibility=visibility)
    review = reviewed(case_of(held.case.implementation, round=2), held.reviewer, "LC", note="own note")
    assert review.assignment is not None
    for assignment in (held, review.assignment):
        text = body(client, assignment)
        assert ("candidate-comment" in text, "golden-double" in text) == (False, False)
        assert "is not public any more, so its code is not shown" in text
    assert "own note" in text


@pytest.mark.parametrize(
    ("state", "again"),
    [(AssignmentState.EXPIRED, True), (AssignmentState.RETURNED, True), (AssignmentState.SKIPPED, False)],
)
def test_an_ended_item_shows_its_draft_and_can_be_resumed_unless_skipped(
    client: Client, held: Assignment, state: AssignmentState, again: bool
) -> None:
    facts = {"state": state, "skip_reason": "" if again else "I know the authors."}
    draft = {"label": "LI", "note": "typed before"}
    Assignment.objects.filter(pk=held.pk).update(lease_until=None, draft=draft, **facts)
    text = body(client, held)
    assert ('name="act" value="resume"' in text, leaks(text)) == (again, [])
    assert ("typed before" if again else "I know the authors.") in text


def test_an_adjudicator_labels_on_the_same_blind_page_first(
    client: Client, adjudicator: Reviewer, task: TaskRevision
) -> None:
    sign_in(client, adjudicator)
    facts = {"role": Role.ADJUDICATOR}
    assignment = held_by(adjudicator, task, case={"state": CaseState.ADJUDICATING}, assignment=facts)
    reviewed(assignment.case, ready(pseudonym="Hidden Peer"), "LI", note="hidden peer note")
    text = body(client, assignment)
    assert ("adjudication, blind label first" in text, leaks(text)) == (True, [])
    Assignment.objects.filter(pk=assignment.pk).update(state=AssignmentState.EVIDENCE)
    assert client.get(f"/reviews/label/{assignment.pk}/").headers["Location"] == f"/reviews/decide/{assignment.pk}/"


def test_every_action_shows_its_key_unless_keys_are_off(client: Client, held: Assignment) -> None:
    text = body(client, held)
    overlay = strip_tags(text[text.index('id="keys-help"') :].split("</dialog>")[0])
    for key, name in (("c", "Next confidence"), ("f", "Finding on the chosen lines"), ("r", "Save the draft now")):
        assert f"{key}{name}" in overlay
    for shown in (
        "Ignore whitespace <kbd>w<",
        "Unfold all <kbd>x<",
        "Paper <kbd>p<",
        "Confidence <kbd>c<",
        "line <kbd>f<",
    ):
        assert shown in text
    assert "line <kbd>f<" in body(client, held, "?part=diff")
    Reviewer.objects.filter(pk=held.reviewer_id).update(keys_off=True)
    text = body(client, held)
    assert ("<kbd>f<" in text, re.search(r"line\s*</button>", text) is not None, '"label_li": ""' in text) == (
        False,
        True,
        True,
    )


def test_queries_do_not_grow_with_the_history_of_the_case(
    client: Client, held: Assignment, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # One of the queries is for the notices.
    with django_assert_num_queries(13):
        body(client, held)
    for _ in range(3):
        reviewed(held.case, ReviewerFactory(), "CC")
        case_of(held.case.implementation, round=held.case.round + held.case.reviews.count())
    with django_assert_num_queries(13):
        body(client, held)
