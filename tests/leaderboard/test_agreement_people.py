"""What people said in agreement: which labels count, and that open cases say nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from leaderboard.agreement import estimates
from leaderboard.agreement.label_counts import AUDITED, REVIEWABLE, TRUTH, closed_case
from leaderboard.agreement.trust import people_agreement
from reviews.enums import CaseState, Role, TriggerKind
from reviews.models import Trigger
from submissions.models import Implementation
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.counting import column, counted, said
from tests.leaderboard.factories import measured
from tests.reviews.factories import ReviewerFactory, case_of, decided, reviewed
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from reviews.models import Case, Reviewer

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


def closed_cases() -> dict[int, int | None]:
    """Answer's id -> the case to which its row in a list leads."""
    return dict(Implementation.objects.annotate(shown=closed_case()).values_list("pk", "shown"))


def test_first_and_second_labels_of_agreed_cases(version: SuiteVersion, three: list[Reviewer]) -> None:
    answer = answered(version)
    case = labelled(answer, three, "LC", "LC")
    other = labelled(answered(version), three[::-1], "CC", "CC", "LI", label="CC")
    labels = counted(version)
    assert said(labels) == {"humans": ["CC", "LC"], "humans-second": ["CC", "LC"]}
    assert closed_cases() == {answer.pk: case.pk, other.implementation_id: other.pk}
    assert column(labels, TRUTH) == ["CC", "LC"]
    paper = answer.revision.task.paper.slug
    assert (labels.people, labels.items) == (3, {(paper, (0, 2, 0)): 1, (paper, (1, 0, 2)): 1})


def test_decisions_count_and_the_adjudicators_own_label_does_not(version: SuiteVersion, three: list[Reviewer]) -> None:
    answer = answered(version)
    facts = {"label": "CC", "source": "decision", "settled": timezone.now()}
    case = labelled(answer, three[:2], "LI", "LC", state=CaseState.FINAL, **facts)
    reviewed(case, three[2], "CC", role=Role.ADJUDICATOR, locked=timezone.now() - timedelta(days=1))
    decided(case, three[2], "CC")
    labels = counted(version)
    assert said(labels) == {"humans": ["LI"], "humans-second": ["LC"], "decision": ["CC"]}
    assert (column(labels, TRUTH), labels.people) == (["CC"], 2)


@pytest.mark.parametrize("state", [*OPEN, CaseState.VOID])
def test_open_and_void_cases_say_nothing(version: SuiteVersion, three: list[Reviewer], state: CaseState) -> None:
    case = labelled(answered(version), three, "LI", "CC", state=state)
    if state == CaseState.ADJUDICATING:
        reviewed(case, three[2], "CC", role=Role.ADJUDICATOR)
    labels = counted(version)
    assert (said(labels), column(labels, TRUTH), labels.people, labels.items) == ({}, [], 0, {})
    assert list(closed_cases().values()) == [None]


def test_the_first_round_has_the_labels_and_the_newest_settled_one_the_outcome(
    version: SuiteVersion, three: list[Reviewer]
) -> None:
    answer = answered(version)
    facts = {"label": "LC", "source": "agreed", "settled": timezone.now()}
    first = labelled(answer, three, "LC", "LC", state=CaseState.REOPENED, **facts)
    open_one = labelled(answer, [ReviewerFactory()], "CC", state=CaseState.ONE_LABEL, round=2)
    during = counted(version)
    assert said(during) == {"humans": ["LC"], "humans-second": ["LC"]}
    assert (column(during, TRUTH), closed_cases()) == (["LC"], {answer.pk: first.pk})
    decided(open_one, three[2], "CC")
    type(open_one).objects.filter(pk=open_one.pk).update(state="final", label="CC", source="decision")
    after = counted(version)
    assert said(after) == {"humans": ["LC"], "humans-second": ["LC"], "decision": ["CC"]}
    assert (column(after, TRUTH), closed_cases()) == (["CC"], {answer.pk: open_one.pk})


def test_the_audit_draws_from_answers_that_people_may_read(version: SuiteVersion, three: list[Reviewer]) -> None:
    open_code, closed_code = answered(version, code_licence="MIT"), answered(version, code_licence="")
    for answer in (open_code, closed_code):
        case = labelled(answer, three, "CC", "CC")
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    labels, paper = counted(version), open_code.revision.task.paper.slug
    assert sorted(labels.reviewed.of(REVIEWABLE, AUDITED)) == [(paper, False, 0.1, 1), (paper, True, 0.1, 1)]


def test_people_among_themselves(version: SuiteVersion, three: list[Reviewer]) -> None:
    given = ["LI", "LC", "CC", "CC", "LI", "LC", "CC", "LI", "CC", "CC", "LC", "LI"]
    for number, label in enumerate(given):
        order = three[number % 3 :] + three[: number % 3]
        labelled(answered(version), order[:2], label, "CC" if number % 4 == 0 else label, label=label)
    labels = counted(version)
    found = people_agreement(labels)
    assert (found.people, found.n) == (3, 12)
    (paper,) = {paper for paper, _ in labels.items}
    # Of every fourth pair the second says CC: LI, LI and CC.
    numbers = {(2, 0, 0): 2, (0, 2, 0): 3, (0, 0, 2): 5, (1, 0, 1): 2}
    assert labels.items == {(paper, row): number for row, number in numbers.items()}
    assert (found.fleiss, found.alpha) == (estimates.fleiss(labels.items), estimates.ordinal_alpha(labels.items))
    assert found.fleiss.value is not None
    assert 0 < found.fleiss.value < 1
