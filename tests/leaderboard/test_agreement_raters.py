"""Who rated what: which labels count in agreement, and that nothing unpublished is among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evaluator.enums import WorkState
from evaluator.models import Judgement, TestRun
from evaluator.testing.types import Outcome
from leaderboard.agreement.asked import REST, Asked, UnknownChoiceError, shown_systems
from leaderboard.agreement.suite import RaterPair, items_of_cell, read_report
from leaderboard.models import Entry
from reviews.enums import CaseState
from submissions.enums import Inputs, Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.counting import counted, said
from tests.leaderboard.factories import ReportedResultFactory, measured, reported
from tests.leaderboard.judging import JudgeFactory, judged
from tests.reviews.factories import ReviewerFactory, case_of, reviewed
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
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


def test_tests_pass_or_fail_and_judges_abstain(version: SuiteVersion) -> None:
    judge = JudgeFactory()
    judged(answered(version, "passed"), judge, "LC")
    judged(answered(version, "timeout"), judge)
    answered(version, Outcome.INFRA.value)
    open_one = judged(answered(version, "raised"), judge, "CC")
    Judgement.objects.filter(pk=open_one.pk).update(state=WorkState.RUNNING)
    assert said(counted(version)) == {"tests": ["CC", REST, REST], f"judge:{judge.slug}": ["", "LC"]}


def test_reported_labels_are_raters_of_their_own(version: SuiteVersion) -> None:
    run = reported(version).reported_run
    first, second = version.revisions.order_by("pk")
    ReportedResultFactory(run=run, task=first.task, tests_passed=False, judge_label="LI", human_label="CC")
    ReportedResultFactory(run=run, task=second.task, tests_passed=None, judge_label="LC")
    answered(version)
    assert said(counted(version)) == {
        "reported-tests": [REST],
        "reported-judge": ["LC", "LI"],
        "reported-humans": ["CC"],
        "tests": ["CC"],
    }


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_what_is_not_published_is_not_read(version: SuiteVersion, visibility: str) -> None:
    judged(answered(version, system=SystemFactory(name="Secret", slug="secret")), JudgeFactory(), "CC")
    Submission.objects.update(visibility=visibility)
    assert said(counted(version)) == {}
    assert counted(version).answers.rows == ()
    assert shown_systems(version.suite) == []
    with pytest.raises(UnknownChoiceError, match="Known: none"):
        read_report(suite=version.suite, asked=Asked(system="secret"))


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
    assert said(counted(version, category="evaluation-metrics")) == {"reported-humans": ["LI"], "tests": ["CC"]}
    assert said(counted(version, category="feature-learning-representation")) == {"reported-humans": ["LC"]}
    assert said(counted(version, system="alpha")) == {"tests": ["CC"]}
    assert said(counted(version, inputs="full")) == {"reported-humans": ["LC", "LI"]}
    assert said(counted(version, samples=True)) == {"tests": [REST]}


def test_tests_of_left_out_tasks_say_nothing_but_judges_do(version: SuiteVersion) -> None:
    answer = answered(version)
    judged(answer, JudgeFactory(slug="strict"), "CC")
    left_out = [{"task": answer.revision.task.slug, "why": "weak test"}]
    Entry.objects.filter(submission=answer.submission_id).update(left_out=left_out)
    assert said(counted(version)) == {"judge:strict": ["CC"]}


def agreeing(version: SuiteVersion) -> None:
    """Two judges on three answers: they agree, differ, and one abstains."""
    one, other = JudgeFactory(slug="one"), JudgeFactory(slug="other")
    for says, also in (("CC", "CC"), ("LI", "CC"), ("LC", "")):
        answer = answered(version)
        judged(answer, one, says)
        judged(answer, other, also)


def pairs(version: SuiteVersion, **asked: Any) -> list[RaterPair]:
    return list(read_report(suite=version.suite, asked=Asked(**asked)).pairs)


def test_pairs_have_a_matrix_and_count_abstentions(version: SuiteVersion) -> None:
    agreeing(version)
    (pair,) = pairs(version)
    assert (pair.first.slug, pair.second.slug, pair.abstained) == ("judge:one", "judge:other", 1)
    assert pair.result.matrix == ((0, 0, 1), (0, 0, 0), (0, 0, 1))
    assert (pair.result.n, pair.result.clusters) == (2, 1)


def listed(version: SuiteVersion, cell: tuple[str, str], **asked: Any) -> list[tuple[str, str, str]]:
    """System and labels of the answers in a cell of the only pair."""
    (pair,) = pairs(version, **asked)
    items = items_of_cell(suite=version.suite, asked=Asked(**asked), pair=pair, cell=cell, most=2)
    return [(item.system, item.first, item.second) for item in items]


def test_a_cell_lists_its_answers(version: SuiteVersion) -> None:
    one, other = JudgeFactory(slug="one"), JudgeFactory(slug="other")
    for name, says, also in (
        ("b", "LI", "CC"),
        ("A", "LC", "CC"),
        ("c", "LC", "CC"),
        ("d", "CC", "CC"),
        ("e", "", "CC"),
    ):
        answer = answered(version, "passed", system=SystemFactory(name=name))
        judged(answer, one, says)
        judged(answer, other, also)
    assert listed(version, ("LI", "CC")) == [("b", "LI", "CC")]
    assert listed(version, ("CC", "LI")) == []
    # Of the rest, which are three, the first two: by system, whatever its capitals.
    chosen = {"binary": True, "first": "judge:one", "second": "tests"}
    assert listed(version, ("rest", "CC"), **chosen) == [("A", "LC", "CC"), ("b", "LI", "CC")]


def test_a_cell_lists_reported_results_and_labels_of_people(version: SuiteVersion) -> None:
    run = reported(version, system=SystemFactory(name="Told", owner=None)).reported_run
    first, second = version.revisions.order_by("pk")
    ReportedResultFactory(run=run, task=first.task, judge_label="LI", human_label="CC")
    ReportedResultFactory(run=run, task=second.task, judge_label="LC", human_label="CC")
    chosen: dict[str, Any] = {"first": "reported-judge", "second": "reported-humans"}
    assert listed(version, ("LI", "CC"), **chosen) == [("Told", "LI", "CC")]
    answer = answered(version, system=SystemFactory(name="Mine"))
    judged(answer, JudgeFactory(slug="strict"), "LC")
    case = case_of(answer, state=CaseState.AGREED, label="CC", source="agreed")
    reviewed(case, ReviewerFactory(), "CC")
    chosen = {"first": "humans", "second": "judge:strict"}
    assert listed(version, ("CC", "LC"), **chosen) == [("Mine", "CC", "LC")]
    (pair,) = pairs(version, **chosen)
    (item,) = items_of_cell(suite=version.suite, asked=Asked(**chosen), pair=pair, cell=("CC", "LC"), most=9)
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
    assert (pair.result.labels, pair.result.matrix) == (("rest", "CC"), ((0, 0), (2, 1)))


@pytest.mark.parametrize(
    ("slugs", "message"),
    [
        (("nobody",), "There is no rater 'nobody' here. Known: reported-humans, decision, humans, humans-second, "),
        (("tests", "tests"), "The rater 'tests' is named twice."),
    ],
)
def test_wrong_raters_are_refused(version: SuiteVersion, slugs: tuple[str, ...], message: str) -> None:
    with pytest.raises(UnknownChoiceError, match=message):
        read_report(suite=version.suite, asked=Asked(first=slugs[0], second=slugs[-1] if len(slugs) > 1 else ""))
