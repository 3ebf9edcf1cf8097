"""Who rated what: which labels count in agreement, and that nothing unpublished is among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache

from evaluator.enums import WorkState
from evaluator.grading.types import Outcome
from evaluator.models import Judgement, TestRun
from leaderboard.agreement.types import PairAgreement
from leaderboard.domain import agreement
from leaderboard.domain.agreement import (
    RaterPair,
    UnknownChoiceError,
    check_raters,
    compared,
    items_of_cell,
    rater_pairs,
    read_scope,
)
from leaderboard.domain.agreement_raters import REST, Scope, load_ratings, shown_systems
from leaderboard.models import Entry
from submissions.enums import Inputs, Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import ReportedResultFactory, measured, reported
from tests.leaderboard.judging import JudgeFactory, judged
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    cache.clear()
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


def labels(version: SuiteVersion, scope: Scope | None = None) -> dict[str, list[str]]:
    found = load_ratings(suite=version.suite, scope=scope or Scope())
    return {rater: sorted(said.values()) for rater, said in found.labels.items()}


def test_tests_pass_or_fail_and_judges_abstain(version: SuiteVersion) -> None:
    judge = JudgeFactory()
    judged(answered(version, "passed"), judge, "LC")
    judged(answered(version, "timeout"), judge)
    answered(version, Outcome.INFRA.value)
    open_one = judged(answered(version, "raised"), judge, "CC")
    Judgement.objects.filter(pk=open_one.pk).update(state=WorkState.RUNNING)
    assert labels(version) == {"tests": ["CC", REST, REST], f"judge:{judge.slug}": ["", "LC"]}


def test_reported_labels_are_raters_of_their_own(version: SuiteVersion) -> None:
    run = reported(version).reported_run
    first, second = version.revisions.order_by("pk")
    ReportedResultFactory(run=run, task=first.task, tests_passed=False, judge_label="LI", human_label="CC")
    ReportedResultFactory(run=run, task=second.task, tests_passed=None, judge_label="LC")
    answered(version)
    assert labels(version) == {
        "reported-tests": [REST],
        "reported-judge": ["LC", "LI"],
        "reported-humans": ["CC"],
        "tests": ["CC"],
    }


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_what_is_not_published_is_not_read(version: SuiteVersion, visibility: str) -> None:
    judged(answered(version, system=SystemFactory(name="Secret", slug="secret")), JudgeFactory(), "CC")
    Submission.objects.update(visibility=visibility)
    assert labels(version) == {}
    assert load_ratings(suite=version.suite, scope=Scope()).items == {}
    assert shown_systems(version.suite) == []
    with pytest.raises(UnknownChoiceError, match="Known: none"):
        read_scope(suite=version.suite, system="secret")


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
    assert labels(version, Scope(category="evaluation-metrics")) == {"reported-humans": ["LI"], "tests": ["CC"]}
    assert labels(version, Scope(category="feature-learning-representation")) == {"reported-humans": ["LC"]}
    assert labels(version, Scope(system="alpha")) == {"tests": ["CC"]}
    assert labels(version, Scope(inputs="full")) == {"reported-humans": ["LC", "LI"]}
    assert labels(version, Scope(samples=True)) == {"tests": [REST]}


def test_another_suites_answers_are_not_read(version: SuiteVersion) -> None:
    answered(SuiteVersionFactory(tasks=1))
    assert labels(version) == {}


def test_tests_of_left_out_tasks_say_nothing_but_judges_do(version: SuiteVersion) -> None:
    answer = answered(version)
    judged(answer, JudgeFactory(slug="strict"), "CC")
    left_out = [{"task": answer.revision.task.slug, "why": "weak test"}]
    Entry.objects.filter(submission=answer.submission_id).update(left_out=left_out)
    assert labels(version) == {"judge:strict": ["CC"]}


def agreeing(version: SuiteVersion) -> RaterPair:
    """Two judges on three answers: they agree, differ, and one abstains."""
    one, other = JudgeFactory(slug="one"), JudgeFactory(slug="other")
    for says, also in (("CC", "CC"), ("LI", "CC"), ("LC", "")):
        answer = answered(version)
        judged(answer, one, says)
        judged(answer, other, also)
    (pair,) = rater_pairs(load_ratings(suite=version.suite, scope=Scope()))
    return pair


def test_pairs_have_a_matrix_and_count_abstentions(version: SuiteVersion) -> None:
    pair = agreeing(version)
    assert (pair.first.slug, pair.second.slug, pair.abstained) == ("judge:one", "judge:other", 1)
    assert pair.matrix() == [[0, 0, 1], [0, 0, 0], [0, 0, 1]]
    ratings = load_ratings(suite=version.suite, scope=Scope())
    ((item, says, also),) = items_of_cell(ratings, pair, ("LI", "CC"))
    assert (says, also, item.key in pair.keys(("LI", "CC"))) == ("LI", "CC", True)


def test_the_named_first_rater_is_in_rows_and_tests_need_the_binary_view(version: SuiteVersion) -> None:
    agreeing(version)
    ratings = load_ratings(suite=version.suite, scope=Scope())

    def named(**choice: Any) -> list[tuple[str, str]]:
        return [(pair.first.slug, pair.second.slug) for pair in rater_pairs(ratings, **choice)]

    assert named(first="judge:other") == [("judge:other", "judge:one")]
    assert named(second="judge:one") == [("judge:other", "judge:one")]
    assert named(first="tests") == []
    assert named(first="judge:one", second="tests", binary=True) == [("judge:one", "tests")]
    (pair,) = rater_pairs(ratings, binary=True, first="judge:one", second="tests")
    assert (pair.labels, pair.matrix()) == (("rest", "CC"), [[0, 2], [0, 1]])


def test_results_come_from_the_cache_until_a_label_changes(
    version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[RaterPair] = []
    real = agreement._computed

    def counting(pair: RaterPair) -> PairAgreement:
        computed.append(pair)
        return real(pair)

    monkeypatch.setattr(agreement, "_computed", counting)
    pair = agreeing(version)
    (first,) = compared([pair])
    (again,) = compared([pair])
    assert isinstance(first, PairAgreement)
    assert (again, len(computed), first.matrix) == (first, 1, ((0, 0, 1), (0, 0, 0), (0, 0, 1)))
    Judgement.objects.filter(label="LI").update(label="LC")
    (changed,) = rater_pairs(load_ratings(suite=version.suite, scope=Scope()))
    (other,) = compared([changed])
    assert (len(computed), other.matrix) == (2, ((0, 0, 0), (0, 0, 1), (0, 0, 1)))


@pytest.mark.parametrize(
    ("slugs", "message"),
    [
        (("nobody",), "There is no rater 'nobody' here. Known: reported-humans, decision, humans, humans-second, "),
        (("tests", "tests"), "The rater 'tests' is named twice."),
    ],
)
def test_wrong_raters_are_refused(slugs: tuple[str, ...], message: str) -> None:
    with pytest.raises(UnknownChoiceError, match=message):
        check_raters(*slugs)
