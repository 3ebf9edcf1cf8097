"""Submissions and their answers through the API: access, data and actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluator.models import Judgement, TestRun
from leaderboard.board.entries import recompute_submission
from submissions.domain import publishing
from submissions.models import Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.judging import JudgeFactory, judged, show, vote
from tests.reviews.factories import ReviewerFactory, assigned, case_of, decided, ready
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db

CASES = [
    {"seed": 1, "index": 0, "public": True, "outcome": "passed"},
    {"seed": 2, "index": 1, "public": True, "outcome": "wrong_output", "difference": "1 is not 2\nat [0]"},
    {"seed": None, "index": 2, "public": False, "outcome": "passed"},
    {"seed": None, "index": 3, "public": False, "outcome": "raised", "error": "private input 7"},
]


@pytest.fixture
def answer(small: SuiteVersion, alice: User) -> Implementation:
    """An answer of Alice's to alpha/1, measured, judged, and reviewed by an adjudicator."""
    submission = SubmissionFactory(owner=alice, system=SystemFactory(owner=alice, name="Otter"), suite_version=small)
    made: Implementation = ImplementationFactory(
        submission=submission,
        revision=small.revisions.get(task__slug="alpha/1"),
        usage={"input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25},
    )
    TestRunFactory(implementation=made, done="wrong_output", reason="1 of 2 cases failed", log="printed", cases=CASES)
    judge = JudgeFactory(slug="strict")
    show(small.suite, judge)
    vote(judged(made, judge, "CC"), 1, "CC", rationale=["Because of line 2."])
    recompute_submission(submission.pk)
    return made


def address_of(answer: Implementation) -> str:
    return f"/submissions/{answer.submission_id}"


def test_the_receipt_has_code_only_for_those_who_may_see_it(
    answer: Implementation, alice: User, client: Client
) -> None:
    Implementation.objects.filter(pk=answer.pk).update(diff="--- secret")
    answer.refresh_from_db()
    address = f"{address_of(answer)}/answers/alpha/1/1/receipt"
    receipt = Program(alice).get(address)
    assert (receipt["answer"]["diff"], receipt["answer"]["digest"]) == ("--- secret", answer.digest)
    assert receipt["command"].endswith(f"manage.py repeat http://testserver{answer.get_absolute_url()}")
    cases = [(case["seed"], case["number"], case["outcome"]) for case in receipt["run"]["cases"]]
    assert cases == [(1, 0, "passed"), (2, 1, "wrong_output")]
    assert (receipt["run"]["private_passed"], receipt["run"]["private_total"], len(receipt["judges"])) == (1, 2, 1)
    client.force_login(alice)
    page = client.get(answer.get_absolute_url()).content.decode()
    assert f"<code>/api/v1{address}</code> with your token" in page
    assert Program().problem("GET", address)["status"] == 404
    # Published without a licence: others may not see its code.
    Submission.objects.filter(pk=answer.submission_id).update(visibility="published", code_licence="")
    public = Program().get(address)
    assert (public["answer"]["diff"], public["answer"]["digest"]) == (None, None)
    assert "secret" not in str(public)
    assert f'<a href="/api/v1{address}">receipt</a>' in client.get(answer.get_absolute_url()).content.decode()


def test_the_receipt_of_a_run_that_was_replaced(answer: Implementation, alice: User) -> None:
    old = TestRun.objects.get(implementation=answer)
    TestRunFactory(implementation=answer, done="passed", seed_epoch=2, supersedes=old)
    address = f"{address_of(answer)}/answers/alpha/1/1/receipt"
    outcomes = [Program(alice).get(each)["run"]["outcome"] for each in (address, f"{address}?run={old.pk}")]
    assert outcomes == ["passed", "wrong_output"]
    assert Program(alice).problem("GET", f"{address}?run={old.pk + 9}")["status"] == 404


def test_the_receipt_is_hidden_from_annotators_of_the_answer(answer: Implementation, bob: User) -> None:
    Submission.objects.filter(pk=answer.submission_id).update(visibility="published", code_licence="MIT")
    address = f"{address_of(answer)}/answers/alpha/1/1/receipt"
    assert Program(bob).get(address)["run"]["outcome"] == "wrong_output"
    assigned(case_of(answer), ready(user=bob))
    assert Program(bob).problem("GET", address)["type"] == "/docs/api/#blind"
    assert Program().get(address)["run"]["outcome"] == "wrong_output"


def test_the_list_has_published_submissions_and_the_users_own(small: SuiteVersion, alice: User, bob: User) -> None:
    mine, public = SubmissionFactory(owner=alice), SubmissionFactory(owner=bob, published=True)
    SubmissionFactory(owner=bob)

    def listed(program: Program, query: str = "") -> list[int]:
        return [each["id"] for each in program.get(f"/submissions{query}")["items"]]

    assert listed(Program()) == [public.pk]
    assert listed(Program(alice)) == [public.pk, mine.pk]
    assert listed(Program(alice), "?mine=true") == [mine.pk]
    assert listed(Program(), "?mine=true") == []
    assert listed(Program(alice), "?visibility=private&state=scored") == [mine.pk]
    assert listed(Program(alice), f"?suite={mine.suite_version.suite.slug}") == [mine.pk]
    assert Program().problem("GET", "/submissions?state=lost")["status"] == 422
    # PostgreSQL refuses to look for a NUL.
    assert Program().problem("GET", "/submissions?suite=%00")["status"] == 422


def test_a_submission_has_its_progress_numbers_and_allowed_actions(answer: Implementation, alice: User) -> None:
    submission = Program(alice).get(address_of(answer))
    assert (submission["state"], submission["open"], submission["counting"], submission["may"]) == (
        "scored",
        False,
        False,
        ["publish"],
    )
    assert submission["progress"] == {"done": 1, "running": 0, "held": 0, "total": 1, "passed": 0}
    assert (submission["tests"]["passed"], submission["tests"]["tasks"], submission["judge"]["cc"]) == (0.0, 2, 50.0)
    assert (submission["system"]["name"], submission["suite"], submission["hidden_while_you_label"]) == (
        "Otter",
        "small",
        False,
    )


def test_answers_have_outcomes_and_labels(answer: Implementation, alice: User, small: SuiteVersion) -> None:
    (row,) = Program(alice).get(f"{address_of(answer)}/answers")["items"]
    assert {name: row[name] for name in ("task", "outcome", "passed", "reason", "tokens", "dollars")} == {
        "task": "alpha/1",
        "outcome": "wrong_output",
        "passed": False,
        "reason": "1 of 2 cases failed",
        "tokens": 15,
        "dollars": 0.25,
    }
    assert (row["judge_label"], row["final_label"], row["final_source"], row["in_review"]) == (
        "CC",
        "CC",
        "judge",
        False,
    )
    opened = case_of(answer)
    (row,) = Program(alice).get(f"{address_of(answer)}/answers")["items"]
    # While the answer is in review, it has no final label.
    assert (row["judge_label"], row["final_label"], row["in_review"]) == ("CC", "", True)
    type(opened).objects.update(state="final", label="LI", source="decision")
    decided(opened, ReviewerFactory(adjudicator=True), "LI")
    (row,) = Program(alice).get(f"{address_of(answer)}/answers")["items"]
    assert (row["final_label"], row["final_source"], row["in_review"]) == ("LI", "decision", False)


def test_an_answer_has_all_data_of_its_page(answer: Implementation, alice: User) -> None:
    detail = Program(alice).get(f"{address_of(answer)}/answers/alpha/1/1")
    assert detail["public_cases"] == [
        {"number": 0, "seed": 1, "name": "", "outcome": "passed", "detail": ""},
        {"number": 1, "seed": 2, "name": "", "outcome": "wrong output", "detail": "1 is not 2\nat [0]"},
    ]
    assert detail["private_cases"] == {"passed": 1, "total": 2}
    assert "private input 7" not in str(detail)
    assert (detail["log"], detail["code"]["goal"], detail["code"]["diff"]) == (
        "printed",
        answer.goal_source,
        answer.diff,
    )
    assert detail["upstream_test"] is None
    beside = {"reason": "test_sum failed", "log": "Test Failed", "seconds": 2.0}
    TestRun.objects.filter(implementation=answer).update(upstream_outcome="wrong_output", upstream=beside)
    detail = Program(alice).get(f"{address_of(answer)}/answers/alpha/1/1")
    assert detail["upstream_test"] == {"outcome": "wrong_output", "reason": "test_sum failed", "log": "Test Failed"}
    Judgement.objects.update(paper_hash="d" * 64)
    (judge,) = Program(alice).get(f"{address_of(answer)}/answers/alpha/1/1")["judges"]
    assert (judge["judge"], judge["label"], judge["on_board"]) == ("strict", "CC", True)
    assert judge["paper_digest"] == "d" * 64
    assert judge["votes"] == [{"label": "CC", "abstention": "", "rationale": ["Because of line 2."]}]
    assert (detail["judge_label"], detail["final_label"], detail["final_source"]) == ("CC", "CC", "judge")


def test_code_is_shown_under_a_licence_only(answer: Implementation) -> None:
    Submission.objects.update(visibility="published", code_licence="")
    detail = Program().get(f"{address_of(answer)}/answers/alpha/1/1")
    assert (detail["code"], detail["judges"][0]["votes"][0]["rationale"]) == (None, [])
    assert answer.goal_source not in str(detail)
    Submission.objects.update(code_licence="MIT")
    assert Program().get(f"{address_of(answer)}/answers/alpha/1/1")["code"]["licence"] == "MIT"


def test_the_list_of_answers_needs_the_same_queries_for_any_number(alice: User) -> None:
    submission = SubmissionFactory(owner=alice)
    program = Program(alice)

    def query_count() -> int:
        with CaptureQueriesContext(connection) as queries:
            program.get(f"/submissions/{submission.pk}/answers?size=100")
        return len(queries)

    with_answers(submission, 1)
    query_count()
    one = query_count()
    with_answers(submission, 5)
    assert query_count() == one


def test_the_reason_for_hiding_a_submission_is_public(answer: Implementation, alice: User, maintainer: User) -> None:
    submission = answer.submission
    publishing.publish(submission=submission, actor=alice, code_licence="MIT", consent=True)
    publishing.hide(submission=submission, actor=maintainer, reason="Copied from elsewhere.")
    problem = Program().problem("GET", address_of(answer))
    assert (problem["status"], problem["detail"]) == (
        *(404, f"Submission {submission.pk} is hidden by a maintainer: Copied from elsewhere."),
    )
    assert Program(maintainer).get(address_of(answer))["visibility_reason"] == "Copied from elsewhere."


def test_publishing_and_withdrawing(answer: Implementation, alice: User) -> None:
    program, address = Program(alice), address_of(answer)
    wrong = program.problem("POST", f"{address}/publish", {"consent": False, "licence": "GPL"})
    assert [each["field"] for each in wrong["errors"]] == ["consent", "licence"]
    for no_consent in ("true", "on", 1, None):
        wrong = program.problem("POST", f"{address}/publish", {"consent": no_consent, "licence": "MIT"})
        assert (wrong["status"], [each["field"] for each in wrong["errors"]]) == (422, ["consent"])
    submission = program.post(f"{address}/publish", {"consent": True, "licence": "MIT"})
    assert (submission["visibility"], submission["code_licence"], submission["may"]) == (
        "published",
        "MIT",
        ["withdraw"],
    )
    again = program.problem("POST", f"{address}/publish", {"consent": True, "licence": "MIT"})
    assert (again["status"], again["detail"]) == (*(409, "This submission is published, so it cannot be published."),)
    assert program.problem("POST", f"{address}/withdraw", {"reason": " "})["errors"][0]["field"] == "reason"
    submission = program.post(f"{address}/withdraw", {"reason": "A mistake of mine."})
    assert (submission["visibility"], submission["visibility_reason"]) == ("withdrawn", "A mistake of mine.")
    assert [line["what"] for line in submission["trace"]][:2] == ["withdrew", "published"]


def test_cancelling(alice: User, bob: User) -> None:
    submission = SubmissionFactory(owner=alice, state="queued", published=True)
    address = f"/submissions/{submission.pk}/cancel"
    assert Program(bob).problem("POST", address)["status"] == 404
    assert Program(alice).post(address)["state"] == "cancelled"
    assert Program(alice).problem("POST", address)["status"] == 409


def test_the_bundle_is_returned_unchanged(answer: Implementation, alice: User, bob: User) -> None:
    answer.submission.bundle.save("x.bundle", ContentFile(b"PK-bundle"))
    Submission.objects.update(visibility="published")
    address = f"{address_of(answer)}/bundle"
    response: Any = Program(alice).send("GET", address)
    assert b"".join(response.streaming_content) == b"PK-bundle"
    assert response.headers["Content-Disposition"].endswith('.zip"')
    assert Program(bob).problem("GET", address)["status"] == 404
    assert Program().problem("GET", address)["status"] == 401


def test_an_unfinished_submission_says_what_it_waits_for(
    answer: Implementation, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.waiting.listening", lambda: {"default": 2})
    assert Program(alice).get(address_of(answer))["wait"] is None
    waits = ImplementationFactory(
        submission=SubmissionFactory(owner=alice, suite_version=answer.submission.suite_version, state="queued"),
        revision=answer.revision,
        attempted=True,
    )
    TestRunFactory(implementation=waits)
    assert Program(alice).get(address_of(waits))["wait"] == {
        "waits_for": "worker",
        "text": "0 of 1 test done. The next one waits for a free worker.",
        "place": 0,
        "seconds": None,
        "no_estimate": "no test of this suite was measured here",
    }
    Submission.objects.filter(pk=waits.submission_id).update(state="held", held_reason="No image.")
    held = Program(alice).get(address_of(waits))["wait"]
    assert (held["waits_for"], held["text"]) == ("maintainer", "Held: No image.")
