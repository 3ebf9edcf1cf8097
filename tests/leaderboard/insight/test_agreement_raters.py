"""Raters and their labels: which labels count in agreement, and that none of them is unpublished."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.enums import WorkState
from evaluator.models import Judgement, TestRun
from leaderboard.insight.agreement.label_counts import AUDITED, REVIEWABLE, TRUTH, closed_case
from leaderboard.insight.agreement.raters import REST, Selection, UnknownChoiceError, shown_systems
from leaderboard.insight.agreement.report import RaterPair, items_of_cell, read_report
from leaderboard.insight.agreement.trust import annotators_agreement
from leaderboard.models import Entry
from leaderboard.statistics import estimates
from reviews.enums import CaseState, Role, TriggerKind
from reviews.models import Trigger
from submissions.enums import Inputs, Kind, Visibility
from submissions.models import Implementation, Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import ReportedResultFactory, measured, reported
from tests.leaderboard.judging import JudgeFactory, judged
from tests.leaderboard.rater_labels import column, labels_of, labels_on
from tests.reviews.factories import ReviewerFactory, case_of, decided, reviewed
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from reviews.models import Case, Reviewer
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=2)
    return made


def answered(version: SuiteVersion, outcome: str = "passed", **submission: Any) -> Implementation:
    """One tested answer, to the version's first task, of a published submission."""
    entry = measured(version, **submission)
    answer: Implementation = ImplementationFactory(
        submission=entry.submission, revision=version.revisions.order_by("pk").first(), trial=1
    )
    TestRun.objects.create(implementation=answer, evaluator_version="1", state="done", outcome=outcome)
    return answer


def test_upstreams_own_tests_are_a_rater_of_their_own_where_they_ran(version: SuiteVersion) -> None:
    for outcome, upstream in (("passed", "passed"), ("wrong_output", "passed"), ("raised", "timeout"), ("passed", "")):
        run = answered(version, outcome).test_runs.get()
        TestRun.objects.filter(pk=run.pk).update(upstream_outcome=upstream, upstream={"reason": "said here"})
    assert labels_of(labels_on(version)) == {
        "tests": ["CC", "CC", REST, REST],
        "upstream-tests": ["CC", "CC", REST],
    }
    report = read_report(suite=version.suite, selection=Selection(binary=True, first="upstream-tests", second="tests"))
    (pair,) = report.pairs
    assert (pair.result.labels, pair.result.matrix) == (("CC", REST), ((1, 1), (0, 1)))


def test_tests_pass_or_fail_and_judges_abstain(version: SuiteVersion) -> None:
    judge = JudgeFactory()
    judged(answered(version, "passed"), judge, "LC")
    judged(answered(version, "timeout"), judge)
    open_one = judged(answered(version, "raised"), judge, "CC")
    Judgement.objects.filter(pk=open_one.pk).update(state=WorkState.RUNNING)
    assert labels_of(labels_on(version)) == {"tests": ["CC", REST, REST], f"judge:{judge.slug}": ["", "LC"]}


def test_reported_labels_are_raters_of_their_own(version: SuiteVersion) -> None:
    run = reported(version).reported_run
    first, second = version.revisions.order_by("pk")
    ReportedResultFactory(run=run, task=first.task, tests_passed=False, judge_label="LI", human_label="CC")
    ReportedResultFactory(run=run, task=second.task, tests_passed=None, judge_label="LC")
    answered(version)
    assert labels_of(labels_on(version)) == {
        "reported-tests": [REST],
        "reported-judge": ["LC", "LI"],
        "reported-annotators": ["CC"],
        "tests": ["CC"],
    }


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_unpublished_submissions_are_not_read(version: SuiteVersion, visibility: str) -> None:
    judged(answered(version, system=SystemFactory(name="Secret", slug="secret")), JudgeFactory(), "CC")
    Submission.objects.update(visibility=visibility)
    assert labels_of(labels_on(version)) == {}
    assert labels_on(version).answers.rows == ()
    assert shown_systems(version.suite) == []
    with pytest.raises(UnknownChoiceError, match="Known: none"):
        read_report(suite=version.suite, selection=Selection(system="secret"))


def test_filters(version: SuiteVersion) -> None:
    first = version.revisions.order_by("pk").first()
    assert first is not None
    version.revisions.exclude(pk=first.pk).update(category=CategoryFactory(slug="feature-learning-representation"))
    version.revisions.filter(pk=first.pk).update(category=CategoryFactory(slug="evaluation-metrics"))
    answered(version, system=SystemFactory(slug="alpha"), inputs=Inputs.PAPER_ONLY)
    answered(version, "raised", kind=Kind.CALIBRATION)
    run = reported(version).reported_run
    for revision, label in zip(version.revisions.order_by("pk"), ("LI", "LC"), strict=True):
        ReportedResultFactory(run=run, task=revision.task, tests_passed=None, human_label=label)
    assert labels_of(labels_on(version, category="evaluation-metrics")) == {
        "reported-annotators": ["LI"],
        "tests": ["CC"],
    }
    assert labels_of(labels_on(version, category="feature-learning-representation")) == {"reported-annotators": ["LC"]}
    assert labels_of(labels_on(version, system="alpha")) == {"tests": ["CC"]}
    assert labels_of(labels_on(version, inputs="full")) == {"reported-annotators": ["LC", "LI"]}
    assert labels_of(labels_on(version, samples=True)) == {"tests": [REST]}


def test_tests_of_left_out_tasks_do_not_count_but_judges_labels_do(version: SuiteVersion) -> None:
    answer = answered(version)
    judged(answer, JudgeFactory(slug="strict"), "CC")
    left_out = [{"task": answer.revision.task.slug, "why": "weak test"}]
    Entry.objects.filter(submission=answer.submission_id).update(left_out=left_out)
    assert labels_of(labels_on(version)) == {"judge:strict": ["CC"]}


def agreeing(version: SuiteVersion) -> None:
    """Two judges on three answers: they agree, differ, and one abstains."""
    one, other = JudgeFactory(slug="one"), JudgeFactory(slug="other")
    for first, second in (("CC", "CC"), ("LI", "CC"), ("LC", "")):
        answer = answered(version)
        judged(answer, one, first)
        judged(answer, other, second)


def pairs(version: SuiteVersion, **choice: Any) -> list[RaterPair]:
    return list(read_report(suite=version.suite, selection=Selection(**choice)).pairs)


def listed(version: SuiteVersion, cell: tuple[str, str], **choice: Any) -> list[tuple[str, str, str]]:
    """System and labels of the answers in a cell of the only pair."""
    (pair,) = pairs(version, **choice)
    items = items_of_cell(suite=version.suite, selection=Selection(**choice), pair=pair, cell=cell, most=2)
    return [(item.system, item.first, item.second) for item in items]


def test_a_cell_lists_its_answers(version: SuiteVersion) -> None:
    one, other = JudgeFactory(slug="one"), JudgeFactory(slug="other")
    for name, first, second in (
        ("b", "LI", "CC"),
        ("A", "LC", "CC"),
        ("c", "LC", "CC"),
        ("d", "CC", "CC"),
        ("e", "", "CC"),
    ):
        answer = answered(version, "passed", system=SystemFactory(name=name))
        judged(answer, one, first)
        judged(answer, other, second)
    assert listed(version, ("LI", "CC")) == [("b", "LI", "CC")]
    assert listed(version, ("CC", "LI")) == []
    # The first two of the three answers in the cell, sorted by system regardless of case.
    chosen = {"binary": True, "first": "judge:one", "second": "tests"}
    assert listed(version, ("rest", "CC"), **chosen) == [("A", "LC", "CC"), ("b", "LI", "CC")]


def test_a_cell_lists_reported_results_and_labels_of_annotators(version: SuiteVersion) -> None:
    run = reported(version, system=SystemFactory(name="Told", owner=None)).reported_run
    first, second = version.revisions.order_by("pk")
    ReportedResultFactory(run=run, task=first.task, judge_label="LI", human_label="CC")
    ReportedResultFactory(run=run, task=second.task, judge_label="LC", human_label="CC")
    chosen: dict[str, Any] = {"first": "reported-judge", "second": "reported-annotators"}
    assert listed(version, ("LI", "CC"), **chosen) == [("Told", "LI", "CC")]
    answer = answered(version, system=SystemFactory(name="Mine"))
    judged(answer, JudgeFactory(slug="strict"), "LC")
    case = case_of(answer, state=CaseState.AGREED, label="CC", source="agreed")
    reviewed(case, ReviewerFactory(), "CC")
    chosen = {"first": "annotators", "second": "judge:strict"}
    assert listed(version, ("CC", "LC"), **chosen) == [("Mine", "CC", "LC")]
    (pair,) = pairs(version, **chosen)
    (item,) = items_of_cell(suite=version.suite, selection=Selection(**chosen), pair=pair, cell=("CC", "LC"), most=9)
    assert (item.address, item.case_address) == (answer.get_absolute_url(), case.get_absolute_url())


def test_the_named_first_rater_is_in_rows_and_tests_need_the_binary_view(version: SuiteVersion) -> None:
    agreeing(version)

    def named(**choice: Any) -> list[tuple[str, str]]:
        return [(pair.first.slug, pair.second.slug) for pair in pairs(version, **choice)]

    assert named(first="judge:other") == [("judge:other", "judge:one")]
    assert named(second="judge:one") == [("judge:other", "judge:one")]
    assert named(first="tests") == []
    assert named(binary=True) == [("tests", "judge:one"), ("tests", "judge:other"), ("judge:one", "judge:other")]
    assert named(first="judge:other", second="tests", binary=True) == [("judge:other", "tests")]
    (pair,) = pairs(version, binary=True, first="tests", second="judge:one")
    assert (pair.result.labels, pair.result.matrix) == (("CC", "rest"), ((1, 2), (0, 0)))


@pytest.mark.parametrize(
    ("slugs", "message"),
    [
        (
            ("nobody",),
            "There is no rater 'nobody' here. Known: reported-annotators, decision, annotators, ",
        ),
        (("tests", "tests"), "The rater 'tests' is named twice."),
    ],
)
def test_wrong_raters_are_refused(version: SuiteVersion, slugs: tuple[str, ...], message: str) -> None:
    with pytest.raises(UnknownChoiceError, match=message):
        read_report(
            suite=version.suite, selection=Selection(first=slugs[0], second=slugs[-1] if len(slugs) > 1 else "")
        )


OPEN = [
    CaseState.QUEUED,
    CaseState.LEASED,
    CaseState.ONE_LABEL,
    CaseState.TWO_LABELS,
    CaseState.DISPUTED,
    CaseState.ADJUDICATING,
]


@pytest.fixture
def three() -> list[Reviewer]:
    return [ReviewerFactory(), ReviewerFactory(), ReviewerFactory(adjudicator=True)]


def untested(version: SuiteVersion, **submission: Any) -> Implementation:
    entry = measured(version, **submission)
    answer: Implementation = ImplementationFactory(
        submission=entry.submission, revision=version.revisions.order_by("pk").first(), trial=1
    )
    return answer


def labelled(
    answer: Implementation, annotators: list[Reviewer], *labels: str, state: CaseState = CaseState.AGREED, **facts: Any
) -> Case:
    """A case with a blind label of each annotator, locked in that order."""
    closed: dict[str, Any] = {}
    if state == CaseState.AGREED:
        closed = {"label": labels[0], "source": "agreed", "closed": timezone.now()}
    case = case_of(answer, state=state, **{**closed, **facts})
    for minute, (annotator, label) in enumerate(zip(annotators, labels, strict=False)):
        reviewed(case, annotator, label, locked=timezone.now() + timedelta(minutes=minute))
    return case


def closed_cases() -> dict[int, int | None]:
    """Answer's id -> the case that its row in a list links to."""
    return dict(Implementation.objects.annotate(shown=closed_case()).values_list("pk", "shown"))


def test_first_and_second_labels_of_agreed_cases(version: SuiteVersion, three: list[Reviewer]) -> None:
    answer = untested(version)
    case = labelled(answer, three, "LC", "LC")
    other = labelled(untested(version), three[::-1], "CC", "CC", "LI", label="CC")
    labels = labels_on(version)
    assert labels_of(labels) == {"annotators": ["CC", "LC"], "annotators-second": ["CC", "LC"]}
    assert closed_cases() == {answer.pk: case.pk, other.implementation_id: other.pk}
    assert column(labels, TRUTH) == ["CC", "LC"]
    paper = answer.revision.task.paper.slug
    assert (labels.annotators, labels.items) == (3, {(paper, (0, 2, 0)): 1, (paper, (2, 0, 1)): 1})


def test_decisions_count_and_the_adjudicators_own_label_does_not(version: SuiteVersion, three: list[Reviewer]) -> None:
    answer = untested(version)
    facts = {"label": "CC", "source": "decision", "closed": timezone.now()}
    case = labelled(answer, three[:2], "LI", "LC", state=CaseState.FINAL, **facts)
    reviewed(case, three[2], "CC", role=Role.ADJUDICATOR, locked=timezone.now() - timedelta(days=1))
    decided(case, three[2], "CC")
    labels = labels_on(version)
    assert labels_of(labels) == {"annotators": ["LI"], "annotators-second": ["LC"], "decision": ["CC"]}
    assert (column(labels, TRUTH), labels.annotators) == (["CC"], 2)


@pytest.mark.parametrize("state", [*OPEN, CaseState.VOID])
def test_labels_of_open_and_void_cases_do_not_count(
    version: SuiteVersion, three: list[Reviewer], state: CaseState
) -> None:
    case = labelled(untested(version), three, "LI", "CC", state=state)
    if state == CaseState.ADJUDICATING:
        reviewed(case, three[2], "CC", role=Role.ADJUDICATOR)
    labels = labels_on(version)
    assert (labels_of(labels), column(labels, TRUTH), labels.annotators, labels.items) == ({}, [], 0, {})
    assert list(closed_cases().values()) == [None]


def test_the_first_round_has_the_labels_and_the_newest_closed_one_the_outcome(
    version: SuiteVersion, three: list[Reviewer]
) -> None:
    answer = untested(version)
    facts = {"label": "LC", "source": "agreed", "closed": timezone.now()}
    first = labelled(answer, three, "LC", "LC", state=CaseState.REOPENED, **facts)
    open_one = labelled(answer, [ReviewerFactory()], "CC", state=CaseState.ONE_LABEL, round=2)
    during = labels_on(version)
    assert labels_of(during) == {"annotators": ["LC"], "annotators-second": ["LC"]}
    assert (column(during, TRUTH), closed_cases()) == (["LC"], {answer.pk: first.pk})
    decided(open_one, three[2], "CC")
    type(open_one).objects.filter(pk=open_one.pk).update(state="final", label="CC", source="decision")
    after = labels_on(version)
    assert labels_of(after) == {"annotators": ["LC"], "annotators-second": ["LC"], "decision": ["CC"]}
    assert (column(after, TRUTH), closed_cases()) == (["CC"], {answer.pk: open_one.pk})


def test_the_audit_draws_from_answers_that_annotators_may_read(version: SuiteVersion, three: list[Reviewer]) -> None:
    open_code, closed_code = untested(version, code_licence="MIT"), untested(version, code_licence="")
    for answer in (open_code, closed_code):
        case = labelled(answer, three, "CC", "CC")
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    labels, paper = labels_on(version), open_code.revision.task.paper.slug
    assert sorted(labels.reviewed.of(REVIEWABLE, AUDITED)) == [(paper, False, 0.1, 1), (paper, True, 0.1, 1)]


def test_agreement_among_annotators(version: SuiteVersion, three: list[Reviewer]) -> None:
    given = ["LI", "LC", "CC", "CC", "LI", "LC", "CC", "LI", "CC", "CC", "LC", "LI"]
    for number, label in enumerate(given):
        order = three[number % 3 :] + three[: number % 3]
        labelled(untested(version), order[:2], label, "CC" if number % 4 == 0 else label, label=label)
    labels = labels_on(version)
    found = annotators_agreement(labels)
    assert (found.number, found.n) == (3, 12)
    (paper,) = {paper for paper, _ in labels.items}
    # In every fourth pair, the second label is CC; the first labels are LI, LI and CC.
    numbers = {(0, 0, 2): 2, (0, 2, 0): 3, (2, 0, 0): 5, (1, 0, 1): 2}
    assert labels.items == {(paper, row): number for row, number in numbers.items()}
    assert (found.fleiss, found.alpha) == (estimates.fleiss(labels.items), estimates.ordinal_alpha(labels.items))
    assert found.fleiss.value is not None
    assert 0 < found.fleiss.value < 1
