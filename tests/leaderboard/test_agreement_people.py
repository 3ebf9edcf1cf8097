"""What people said in agreement: which labels count, and that open cases say nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.agreement import raters
from leaderboard.domain.agreement_raters import Ratings, Scope, load_ratings
from leaderboard.domain.agreement_trust import people_agreement
from reviews.enums import CaseKind, CaseState, Role, TriggerKind
from reviews.models import Trigger
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured
from tests.reviews.factories import ReviewerFactory, case_of, decided, reviewed
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from reviews.models import Case, Reviewer
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db

OPEN = [
    CaseState.QUEUED,
    CaseState.LEASED,
    CaseState.ONE_LABEL,
    CaseState.TWO_LABELS,
    CaseState.DISPUTED,
    CaseState.ADJUDICATING,
]


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=2)
    return made


@pytest.fixture
def three() -> list[Reviewer]:
    return [ReviewerFactory(), ReviewerFactory(), ReviewerFactory(adjudicator=True)]


def answered(version: SuiteVersion, **submission: Any) -> Implementation:
    entry = measured(version, **submission)
    answer: Implementation = ImplementationFactory(
        submission=entry.submission, revision=version.revisions.order_by("pk").first(), trial=1
    )
    return answer


def labelled(
    answer: Implementation, people: list[Reviewer], *labels: str, state: CaseState = CaseState.AGREED, **facts: Any
) -> Case:
    """A case with a blind label of each person, locked in that order."""
    settled: dict[str, Any] = {}
    if state == CaseState.AGREED:
        settled = {"label": labels[0], "source": "agreed", "settled": timezone.now()}
    case = case_of(answer, state=state, **{**settled, **facts})
    for minute, (person, label) in enumerate(zip(people, labels, strict=False)):
        reviewed(case, person, label, locked=timezone.now() + timedelta(minutes=minute))
    return case


def read(version: SuiteVersion, **scope: Any) -> Ratings:
    return load_ratings(suite=version.suite, scope=Scope(**scope))


def said(ratings: Ratings) -> dict[str, list[str]]:
    return {rater: sorted(given.values()) for rater, given in ratings.labels.items()}


def test_first_and_second_labels_of_agreed_cases(version: SuiteVersion, three: list[Reviewer]) -> None:
    answer = answered(version)
    case = labelled(answer, three, "LC", "LC")
    other = labelled(answered(version), three[::-1], "CC", "CC", "LI", label="CC")
    ratings = read(version)
    assert said(ratings) == {"humans": ["CC", "LC"], "humans-second": ["CC", "LC"]}
    item = ratings.items[f"answer:{answer.pk}"]
    assert (item.case, item.case_address) == (case.pk, f"/cases/{case.pk}/")
    assert ratings.truth == {item.key: "LC", f"answer:{other.implementation_id}": "CC"}
    assert sorted(len(given) for given in ratings.people.values()) == [1, 2, 2]


def test_decisions_count_and_the_adjudicators_own_label_does_not(version: SuiteVersion, three: list[Reviewer]) -> None:
    answer = answered(version)
    facts = {"label": "CC", "source": "decision", "settled": timezone.now()}
    case = labelled(answer, three[:2], "LI", "LC", state=CaseState.FINAL, **facts)
    reviewed(case, three[2], "CC", role=Role.ADJUDICATOR, locked=timezone.now() - timedelta(days=1))
    decided(case, three[2], "CC")
    ratings = read(version)
    assert said(ratings) == {"humans": ["LI"], "humans-second": ["LC"], "decision": ["CC"]}
    assert ratings.truth == {f"answer:{answer.pk}": "CC"}
    assert str(three[2].pk) not in ratings.people


@pytest.mark.parametrize("state", [*OPEN, CaseState.VOID])
def test_open_and_void_cases_say_nothing(version: SuiteVersion, three: list[Reviewer], state: CaseState) -> None:
    case = labelled(answered(version), three, "LI", "CC", state=state)
    if state == CaseState.ADJUDICATING:
        reviewed(case, three[2], "CC", role=Role.ADJUDICATOR)
    ratings = read(version)
    assert (said(ratings), ratings.truth, ratings.people) == ({}, {}, {})
    assert {item.case for item in ratings.items.values()} == {0}


@pytest.mark.parametrize("kind", [CaseKind.REPEAT, CaseKind.PRACTICE])
def test_repeats_and_practice_say_nothing(version: SuiteVersion, three: list[Reviewer], kind: CaseKind) -> None:
    labelled(answered(version), three, "LC", "LC", kind=kind)
    assert said(read(version)) == {}


def test_the_first_round_has_the_labels_and_the_newest_settled_one_the_outcome(
    version: SuiteVersion, three: list[Reviewer]
) -> None:
    answer = answered(version)
    facts = {"label": "LC", "source": "agreed", "settled": timezone.now()}
    first = labelled(answer, three, "LC", "LC", state=CaseState.REOPENED, **facts)
    open_one = labelled(answer, [ReviewerFactory()], "CC", state=CaseState.ONE_LABEL, round=2)
    during = read(version)
    assert said(during) == {"humans": ["LC"], "humans-second": ["LC"]}
    assert (during.truth, during.items[f"answer:{answer.pk}"].case) == ({f"answer:{answer.pk}": "LC"}, first.pk)
    decided(open_one, three[2], "CC")
    type(open_one).objects.filter(pk=open_one.pk).update(state="final", label="CC", source="decision")
    after = read(version)
    assert said(after) == {"humans": ["LC"], "humans-second": ["LC"], "decision": ["CC"]}
    assert (after.truth, after.items[f"answer:{answer.pk}"].case) == ({f"answer:{answer.pk}": "CC"}, open_one.pk)


def test_a_void_first_round_gives_way_to_the_next(version: SuiteVersion, three: list[Reviewer]) -> None:
    answer = answered(version)
    labelled(answer, three, "LI", "LI", state=CaseState.VOID)
    labelled(answer, three, "CC", "CC", round=2)
    assert said(read(version)) == {"humans": ["CC"], "humans-second": ["CC"]}


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_what_is_not_published_is_not_read(version: SuiteVersion, three: list[Reviewer], visibility: str) -> None:
    labelled(answered(version), three, "CC", "CC")
    Submission.objects.update(visibility=visibility)
    ratings = read(version)
    assert (said(ratings), ratings.truth, ratings.people, ratings.reviewable) == ({}, {}, {}, frozenset())


def test_samples_are_apart_and_other_suites_are_not_read(version: SuiteVersion, three: list[Reviewer]) -> None:
    labelled(answered(version, kind=Kind.CALIBRATION), three, "LI", "LI")
    labelled(answered(SuiteVersionFactory(tasks=1)), three, "CC", "CC")
    assert said(read(version)) == {}
    samples = read(version, samples=True)
    assert said(samples) == {"humans": ["LI"], "humans-second": ["LI"]}
    assert samples.reviewable == frozenset()


def test_the_audit_draws_from_answers_that_people_may_read(version: SuiteVersion, three: list[Reviewer]) -> None:
    open_code, closed_code = answered(version, code_licence="MIT"), answered(version, code_licence="")
    for answer in (open_code, closed_code):
        case = labelled(answer, three, "CC", "CC")
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    ratings = read(version)
    assert ratings.reviewable == {f"answer:{open_code.pk}"}
    assert ratings.audited[f"answer:{open_code.pk}"] == 0.1


def test_people_among_themselves(version: SuiteVersion, three: list[Reviewer]) -> None:
    labels = ["LI", "LC", "CC", "CC", "LI", "LC", "CC", "LI", "CC", "CC", "LC", "LI"]
    for number, label in enumerate(labels):
        order = three[number % 3 :] + three[: number % 3]
        labelled(answered(version), order[:2], label, "CC" if number % 4 == 0 else label, label=label)
    ratings = read(version)
    found = people_agreement(ratings)
    assert (found.people, found.n) == (3, 12)
    clusters = {key: ratings.items[key].paper for key in ratings.items}
    assert found.fleiss == raters.fleiss(ratings.people, clusters=clusters)
    assert found.alpha == raters.ordinal_alpha(ratings.people, clusters=clusters)
    assert found.fleiss.value is not None
    assert 0 < found.fleiss.value < 1


def test_two_people_are_too_few_for_all_together(version: SuiteVersion, three: list[Reviewer]) -> None:
    labelled(answered(version), three, "CC", "CC")
    found = people_agreement(read(version))
    assert (found.people, found.n) == (2, 1)
    assert found.fleiss.why == found.alpha.why == "too few people (2 of at least 3)"


def test_the_number_of_queries_is_constant(version: SuiteVersion, three: list[Reviewer]) -> None:
    counts = []
    for _ in range(3):
        case = labelled(answered(version), three, "CC", "CC")
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
        with CaptureQueriesContext(connection) as queries:
            read(version)
        counts.append(len(queries))
    assert counts[0] == counts[1] == counts[2]
