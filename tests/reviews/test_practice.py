"""The steps before the first item (profile, guidelines, practice), and sample cases."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.models import JudgeConfig, Judgement, JudgeVote, ShownJudge, TestRun
from evaluator.testing.evaluate import evaluate_next
from reviews.annotators import guidelines, practice
from reviews.annotators.practice import ensure_practice, next_practice, practice_cases, progress, remaining
from reviews.annotators.readiness import MissingStepError, missing_steps, require_ready
from reviews.enums import AssignmentState, CaseKind, CaseState, Role, Severity, TriggerKind
from reviews.labelling.locking import lock
from reviews.models import Assignment, Case, CaseEvent, Reviewer, Trigger
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.evaluator.conftest import lmr_mini, real_sandbox  # noqa: F401 - fixtures
from tests.reviews.factories import FINDING, ReviewerFactory, case_of, guideline, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db


def test_a_newcomer_has_three_steps_in_order() -> None:
    case = case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")
    reviewer: Reviewer = ReviewerFactory(affiliation="")
    steps = missing_steps(reviewer)
    assert [(step.name, step.address) for step in steps] == [
        *(("profile", "/reviews/profile/"), ("guidelines", "/reviews/guidelines/"), ("practice", "/reviews/")),
    ]
    assert steps[2].sentence == "Label 1 practice item with known answers."
    addresses = []
    for number in range(3):
        with pytest.raises(MissingStepError) as caught:
            require_ready(reviewer, Role.ANNOTATOR)
        addresses.append(caught.value.address)
        if number == 0:
            reviewer.affiliation = "none"
            reviewer.save()
        elif number == 1:
            guidelines.acknowledge(reviewer)
            held = reviewer.assignments.create(case=case, state=AssignmentState.ACTIVE)
        else:
            held.delete()
            reviewed(case, reviewer, "CC")
    require_ready(reviewer, Role.ANNOTATOR)
    assert (addresses, missing_steps(reviewer)) == ([step.address for step in steps], [])


def test_changed_guidelines_require_reading_the_changes() -> None:
    reviewer = ready()
    guideline(2)
    guideline(3)
    with pytest.raises(MissingStepError, match="what is new in revision 3") as caught:
        require_ready(reviewer, Role.ANNOTATOR)
    assert caught.value.address == "/reviews/guidelines/3/?since=1"


@pytest.mark.parametrize(
    ("facts", "message"),
    [({}, "You are not an adjudicator"), ({"adjudicator": True, "active": False}, "not an active adjudicator")],
)
def test_labelling_needs_the_role(facts: dict[str, bool], message: str) -> None:
    with pytest.raises(MissingStepError, match=message) as caught:
        require_ready(ready(**facts), Role.ADJUDICATOR)
    assert caught.value.address == "/reviews/"


@pytest.fixture(autouse=True)
def without_a_queue(settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues


def practice_of(labels: str) -> list[Case]:
    """Return practice cases without a suite, with these known labels."""
    return [case_of(kind=CaseKind.PRACTICE, known_label=label, explanation="Because.") for label in labels.split()]


def next_of(reviewer: Reviewer) -> Assignment:
    """Return the next practice item; fail if there is none."""
    assignment = next_practice(reviewer)
    assert assignment is not None
    return assignment


def locked(assignment: Assignment, label: str) -> None:
    lock(assignment=assignment, label=label, confidence=2, findings=[] if label == "CC" else [dict(FINDING)])


def test_the_shipped_items_are_submitted_once(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    assert ensure_practice() == 5
    assert ensure_practice() == 5
    submission = Submission.objects.get()
    assert (submission.kind, submission.visibility) == (Kind.CALIBRATION, Visibility.PRIVATE)
    assert submission.publish_when_scored is False
    assert submission.implementations.filter(attempted=True, answer_error={}).count() == 5
    cases = list(practice_cases())
    assert [case.known_label for case in cases] == ["CC", "CC", "LC", "LI", "LI"]
    assert [case.implementation.revision.task.slug for case in cases] == [
        *("rope/1", "selfconsistency/1", "simcse/1", "bertscore/1", "neuralcrf/1")
    ]
    assert not any(case.implementation.identical_to_reference for case in cases)
    assert all(case.explanation and "\n" not in case.explanation for case in cases)


def test_without_its_suite_there_is_no_practice(reviewer: Reviewer) -> None:
    assert (ensure_practice(), remaining(reviewer)) == (0, 0)


def test_changed_items_replace_the_old_ones(
    lmr_mini: SuiteVersion,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    ensure_practice()
    before = list(practice_cases())
    changed = tmp_path / "items.toml"
    changed.write_text(practice.ITEMS.read_text(encoding="utf-8").replace("Completely correct,", "Right,"))
    monkeypatch.setattr(practice, "ITEMS", changed)
    practice.shipped_round.cache_clear()
    try:
        assert ensure_practice() == 5
    finally:
        practice.shipped_round.cache_clear()
    assert not set(practice_cases()) & set(before)
    assert set(Case.objects.filter(state=CaseState.VOID)) == set(before)
    assert Submission.objects.count() == 2


def test_all_reviewers_get_the_items_in_order(annotator: Reviewer, other_annotator: Reviewer) -> None:
    case_of(kind=CaseKind.PRACTICE, known_label="CC", state=CaseState.VOID)
    cases = practice_of("CC LC")
    first = next_of(annotator)
    assert (first.case, first.role, first.state) == (cases[0], Role.ANNOTATOR, AssignmentState.ACTIVE)
    again = next_of(annotator)
    assert (again.pk, again.token) == (first.pk, first.token)
    locked(first, "CC")
    second = next_of(annotator)
    assert (second.case, remaining(annotator), remaining(other_annotator)) == (cases[1], 1, 2)
    assert next_of(other_annotator).case == cases[0]
    locked(second, "LI")
    assert (next_practice(annotator), remaining(annotator)) == (None, 0)
    assert progress(annotator) == practice.Progress(done=2, right=1, total=2)


def test_an_item_locked_in_another_tab_is_not_resumed(annotator: Reviewer, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = practice_of("CC LC")
    first = next_of(annotator)
    waiting = [case.pk for case in practice._not_labelled(annotator)]
    locked(first, "CC")
    monkeypatch.setattr(practice, "_not_labelled", lambda _: Case.objects.filter(pk__in=waiting))
    assert next_of(annotator).case == cases[1]
    first.refresh_from_db()
    assert (first.state, first.lease_until) == (AssignmentState.DONE, None)


@pytest.mark.parametrize("state", [AssignmentState.EXPIRED, AssignmentState.RETURNED, AssignmentState.SKIPPED])
def test_a_returned_item_is_resumed_with_its_draft(annotator: Reviewer, state: AssignmentState) -> None:
    practice_of("CC")
    first = next_of(annotator)
    draft: Any = {"note": "half"}
    Assignment.objects.update(state=state, draft=draft, draft_version=3, lease_until=None, ended=timezone.now())
    again = next_of(annotator)
    again.refresh_from_db()
    assert (again.pk, again.state, again.draft, again.draft_version) == (first.pk, AssignmentState.ACTIVE, draft, 3)
    assert (again.token == first.token, again.ended) == (False, None)
    assert again.lease_until is not None
    assert timedelta(minutes=29) < again.lease_until - timezone.now() <= timedelta(minutes=30)


class TestPage:
    """``/reviews/practice/…/``: the reviewer's label, the known one, and the explanation."""

    def practised(self, reviewer: Reviewer, known: str, label: str, **facts: Any) -> Assignment:
        case = case_of(kind=CaseKind.PRACTICE, known_label=known, explanation=f"It is {known} because of a sign.")
        return Assignment.objects.get(review=reviewed(case, reviewer, label, **facts))

    def get(self, client: Client, assignment: Assignment) -> Any:
        assert assignment.reviewer.user is not None
        client.force_login(assignment.reviewer.user)
        return client.get(reverse("practice_answer", args=[assignment.pk]))

    def test_the_known_label_is_shown_with_the_own_label(self, client: Client, annotator: Reviewer) -> None:
        assignment = self.practised(annotator, "LI", "LC", note="Not <i>sure</i>.")
        case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Later.")
        text = self.get(client, assignment).content.decode()
        shown = [
            *("LC, right idea, wrong detail", "LI, wrong", "different", "It is LI because of a sign."),
            *("It doubles where it should square.", "answer 1–2", "Not &lt;i&gt;sure&lt;/i&gt;.", "Item 1 of 2"),
        ]
        assert [words for words in shown if words not in text] == []
        assert [words for words in ("You have seen all of them", "Later.") if words in text] == []

    def test_the_last_page_sums_up(self, client: Client, annotator: Reviewer) -> None:
        self.practised(annotator, "CC", "CC")
        text = self.get(client, self.practised(annotator, "LI", "CC")).content.decode()
        shown = ("You have seen all of them", "1 of your 2 labels agrees with the known ones.", "No findings.")
        assert [words for words in shown if words not in text] == []

    def test_the_solution_is_hidden_before_the_label_is_locked(self, client: Client, annotator: Reviewer) -> None:
        practice_of("LI")
        response = self.get(client, next_of(annotator))
        assert (response.status_code, response["Location"]) == (302, reverse("label", args=[next_of(annotator).pk]))
        assert b"Because." not in response.content

    def test_the_page_is_private_and_only_for_practice(self, client: Client, annotator: Reviewer) -> None:
        address = reverse("practice_answer", args=[self.practised(annotator, "CC", "CC").pk])
        assert client.get(address).status_code == 302
        for user in (UserFactory(), UserFactory(is_staff=True), ReviewerFactory().user):
            client.force_login(user)
            assert client.get(address).status_code == 404
        real = reviewed(case_of(), annotator, "CC").assignment
        assert real is not None
        assert self.get(client, real).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_the_tests_agree_with_the_known_labels(lmr_mini: SuiteVersion, real_sandbox: Sandbox) -> None:  # noqa: F811
    """Only completely correct answers pass, including the private test cases."""
    ensure_practice()
    while evaluate_next(submission_id=Submission.objects.get().pk):
        pass
    runs = TestRun.objects.filter(implementation__cases__isnull=False)
    outcomes = dict(runs.values_list("implementation__revision__task__slug", "outcome"))
    assert outcomes == {
        "rope/1": "passed",
        "selfconsistency/1": "passed",
        "simcse/1": "wrong_output",
        "bertscore/1": "wrong_output",
        "neuralcrf/1": "wrong_output",
    }


def run(*options: str) -> str:
    out = io.StringIO()
    call_command("sample_disputes", *options, stdout=out)
    return out.getvalue()


def sample_cases() -> list[Case]:
    return list(Case.objects.filter(kind=CaseKind.REVIEW).select_related("implementation__revision__task"))


def test_mixed_cases_and_practice_items_are_made_once_with_scripted_votes(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    output = run()
    submission = Submission.objects.get(system__name="Sample: disputed answers")
    assert output.splitlines()[:2] == [
        f"Sample cases: 10 (10 opened), on submission {submission.pk}.",
        "Practice items: 5.",
    ]
    assert "/reviews/people/" in output
    cases = sample_cases()
    assert (len(cases), {case.state for case in cases}) == (10, {CaseState.QUEUED})
    assert {case.severity for case in cases} >= {Severity.CONTRADICTION, Severity.UNSURE, Severity.AUDIT}
    assert {case.implementation.trial for case in cases} == {1, 2, 3}
    assert len({case.implementation.revision.task.slug for case in cases}) >= 8
    assert set(Trigger.objects.values_list("kind", "inclusion_probability")) == {(TriggerKind.SAMPLE, 1.0)}
    assert CaseEvent.objects.filter(case__in=cases, before="", after=CaseState.QUEUED).count() == 10
    assert (submission.kind, submission.publish_when_scored) == (Kind.CALIBRATION, True)
    assert submission.implementations.filter(attempted=True, answer_error={}).count() == 27
    assert run().startswith("Sample cases: 10 (already there)")
    assert run("--count", "27").startswith("Sample cases: 27 (17 opened)")
    assert (len(sample_cases()), Submission.objects.count()) == (27, 2)
    assert Case.objects.filter(kind=CaseKind.PRACTICE).count() == 5
    # Scripted votes are marked and give the severities: right answers labelled LI and wrong ones labelled CC contradict
    # the tests; splits and abstentions are unsure.
    judge = JudgeConfig.objects.get()
    assert (judge.name, judge.active, ShownJudge.objects.exists()) == ("Scripted sample judge", False, False)
    assert JudgeVote.objects.filter(calls__isnull=False).count() == 0
    for case in sample_cases():
        judgement = Judgement.objects.get(implementation=case.implementation_id, config=judge)
        assert judgement.votes.count() in {3, 5}
        assert judgement.input_digest
        wrong = case.implementation.trial == 2
        opposes = judgement.label == ("CC" if wrong else "LI") and not judgement.split
        assert (case.severity == Severity.CONTRADICTION) == opposes
        assert (case.severity == Severity.UNSURE) == (judgement.split or judgement.abstained)


def test_samples_that_cannot_be_created_are_reported(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    TaskRevision.objects.update(audit_state=AuditState.UNAUDITED, audit={"obstacle": "no sandbox works"})
    with pytest.raises(CommandError, match=r"not created: The tasks of 'lmr-mini' cannot be audited.*repeat the audit"):
        run()
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    for options, message in (
        (["--count", "28"], "The samples were not created: 28 cases are more than the 27 sample answers"),
        (["--suite", "nowhere"], r"There is no suite 'nowhere'; run manage\.py load_catalogue first"),
        (["--count", "0"], "--count must be at least 1"),
    ):
        with pytest.raises(CommandError, match=message):
            run(*options)
    assert not sample_cases()
