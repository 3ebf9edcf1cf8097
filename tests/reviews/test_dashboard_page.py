"""``/reviews/dashboard/``: waiting cases, reviewers' work from closed cases only, and the export."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from reviews.cases.states import note
from reviews.enums import AssignmentState, CaseKind, CaseState, Role, Severity, TriggerKind
from reviews.models import Case, Reviewer, Trigger
from reviews.reports.dashboards import Pairs, Work, all_reviewers, cases, queue, reasons, work
from reviews.reports.exporting import export
from tests.leaderboard.showing import text_of
from tests.reviews.factories import (
    ReviewerFactory,
    answers,
    assigned,
    case_of,
    closed_case,
    decided,
    record_of_everything,
    reviewed,
)
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db

ADDRESS, EXPORT = "/reviews/dashboard/", "/reviews/labels/export/"


def waiting(state: CaseState, days: int, *kinds: TriggerKind, **facts: Any) -> Case:
    """Return a case opened ``days`` ago with these triggers."""
    case = case_of(state=state, **facts)
    Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
    for kind in kinds:
        Trigger.objects.create(case=case, kind=kind)
    return case


class TestQueue:
    def test_states_severities_and_ages(self) -> None:
        for state, severity, days in (
            (CaseState.QUEUED, Severity.AUDIT, 3),
            (CaseState.QUEUED, Severity.AUDIT, 9),
            (CaseState.QUEUED, Severity.CONFLICT, 1),
            (CaseState.DISPUTED, Severity.CONFLICT, 2),
            (CaseState.AGREED, Severity.AUDIT, 30),
            (CaseState.VOID, Severity.AUDIT, 30),
        ):
            waiting(state, days, severity=severity)
        case_of(kind=CaseKind.PRACTICE, known_label="CC")
        lines = queue(hidden=(), by_severity=True)
        age = timezone.now()
        assert [(each.what, each.severity, each.count, each.percent, (age - each.oldest).days) for each in lines] == [
            (CaseState.QUEUED, Severity.CONFLICT, 1, 50, 1),
            (CaseState.QUEUED, Severity.AUDIT, 2, 100, 9),
            (CaseState.DISPUTED, Severity.CONFLICT, 1, 50, 2),
        ]
        lines = queue(hidden=(), by_severity=False)
        assert [(line.what, line.severity, line.count) for line in lines] == [
            *((CaseState.QUEUED, None, 3), (CaseState.DISPUTED, None, 1)),
        ]

    def test_triggers_of_waiting_cases_and_their_ages(self) -> None:
        kinds = TriggerKind
        waiting(CaseState.QUEUED, 3, kinds.AUDIT)
        waiting(CaseState.LEASED, 9, kinds.AUDIT, kinds.JUDGE_UNSURE)
        waiting(CaseState.DISPUTED, 2, kinds.APPEAL)
        for state in (CaseState.AGREED, CaseState.VOID, CaseState.REOPENED):
            waiting(state, 30, kinds.APPEAL)
        lines, age = reasons(hidden=()), timezone.now()
        assert [(line.what, line.count, line.percent, (age - line.oldest).days) for line in lines] == [
            (kinds.JUDGE_UNSURE, 1, 50, 9),
            (kinds.APPEAL, 1, 50, 2),
            (kinds.AUDIT, 2, 100, 9),
        ]
        assert reasons(hidden=set(Case.objects.values_list("implementation__submission", flat=True))) == []

    def test_cases_are_filtered_by_state_without_hidden_submissions(self) -> None:
        open_one, done = case_of(), case_of(state=CaseState.AGREED)
        assert list(cases(hidden=(), viewer=None)) == [done, open_one]
        assert list(cases(hidden=(), viewer=None, state="agreed")) == [done]
        closed = {open_one.implementation.submission_id}
        assert (queue(hidden=closed, by_severity=True), list(cases(hidden=closed, viewer=None))) == ([], [done])

    def test_an_open_repeat_is_hidden_from_its_annotator(self) -> None:
        one, two = ReviewerFactory(), ReviewerFactory()
        repeat = case_of(kind=CaseKind.REPEAT, reserved_for=one)
        assert (list(cases(hidden=(), viewer=one)), list(cases(hidden=(), viewer=two))) == ([], [repeat])
        Case.objects.filter(pk=repeat.pk).update(state=CaseState.AGREED, closed=timezone.now())
        assert list(cases(hidden=(), viewer=one)) == [repeat]


class TestWork:
    def of(self, person: Reviewer) -> Work:
        (found,) = work([person])
        return found

    def test_only_closed_cases_are_compared(self) -> None:
        one, two, three = (ReviewerFactory() for _ in range(3))
        agreed, differing, opposed, open_one = answers(4)
        case = closed_case(agreed, 1, state=CaseState.AGREED, label="CC", source="agreed")
        reviewed(case, one, "CC")
        reviewed(case, two, "CC")
        case = closed_case(differing, 2, state=CaseState.FINAL, label="LC", source="decision")
        reviewed(case, one, "LC")
        reviewed(case, two, "CC")
        reviewed(case, three, "LI", role=Role.ADJUDICATOR)
        decided(case, three, "LC")
        case = closed_case(opposed, 3, state=CaseState.FINAL, label="LI", source="decision")
        reviewed(case, one, "CC")
        reviewed(case, two, "LI")
        decided(case, three, "LI")
        case = case_of(open_one, state=CaseState.DISPUTED)
        reviewed(case, one, "LC")
        reviewed(case, two, "LI")
        first, second, third = (self.of(person) for person in (one, two, three))
        assert first.peers == second.peers == Pairs(n=3, same=1, opposed=1)
        assert third.peers == Pairs()
        assert first.decided == Pairs(n=2, same=1, opposed=1)
        assert second.decided == Pairs(n=2, same=1, opposed=0)
        assert (first.peers.percent, Pairs().percent) == (33.3, None)
        assert (first.labels, third.labels, third.decisions) == (4, 1, 2)

    def test_repeats_are_compared_with_the_annotators_first_label(self) -> None:
        one, two = ReviewerFactory(), ReviewerFactory()
        for answer, label in zip(answers(2), ("CC", "LI"), strict=True):
            case = closed_case(answer, 1, state=CaseState.AGREED, label=label, source="agreed")
            reviewed(case, one, label)
            reviewed(case, two, label)
            repeat = closed_case(answer, 5, kind=CaseKind.REPEAT, state=CaseState.AGREED, reserved_for=one)
            reviewed(repeat, one, "CC")
        assert (self.of(one).again, self.of(two).again) == (Pairs(n=2, same=1, opposed=1), Pairs())
        assert self.of(one).peers == Pairs(n=2, same=2, opposed=0)

    def test_time_skips_and_leases_are_counted(self, reviewer: Reviewer) -> None:
        for number, (seconds, days) in enumerate(((30, 1), (90, 2), (400, 9))):
            case = closed_case(answers()[0], number, state=CaseState.AGREED, label="CC", source="single")
            locked = timezone.now() - timedelta(days=days)
            reviewed(case, reviewer, "CC", active_seconds=seconds, locked=locked)
        reviewed(case_of(kind=CaseKind.PRACTICE, known_label="CC"), reviewer, "CC", active_seconds=5000)
        assigned(case_of(), reviewer, state=AssignmentState.SKIPPED)
        assigned(case_of(), reviewer, state=AssignmentState.EXPIRED)
        assigned(case_of(kind=CaseKind.PRACTICE, known_label="LI"), reviewer, state=AssignmentState.EXPIRED)
        assigned(case_of(), ReviewerFactory(), state=AssignmentState.EXPIRED)
        found = self.of(reviewer)
        assert (found.labels, found.last_days, found.seconds) == (3, 2, 90)
        assert (found.skipped, found.expired, self.of(ReviewerFactory()).seconds) == (1, 1, None)

    def test_all_current_and_former_reviewers_are_listed(self) -> None:
        active, former = ReviewerFactory(pseudonym="A"), ReviewerFactory(pseudonym="B", active=False)
        reviewed(case_of(), former, "CC")
        ReviewerFactory(pseudonym="C", active=False)
        ReviewerFactory(pseudonym="D", annotator=False)
        adjudicator = ReviewerFactory(pseudonym="E", annotator=False, adjudicator=True)
        assert all_reviewers() == [active, former, adjudicator]


def page(client: Client, user: User | None, address: str = ADDRESS) -> str:
    assert user is not None
    client.force_login(user)
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


class TestPage:
    @pytest.mark.parametrize("address", [ADDRESS, f"{EXPORT}?format=csv"])
    def test_visitors_sign_in_and_other_accounts_get_404(self, client: Client, address: str) -> None:
        assert client.get(address).status_code == 302
        client.force_login(UserFactory())
        assert client.get(address).status_code == 404

    def test_annotators_see_their_own_row_and_no_severity(self, client: Client, reviewer: Reviewer) -> None:
        """For a single waiting case, "direct conflict" would reveal others' labels."""
        other = ReviewerFactory()
        case = closed_case(answers()[0], 1, state=CaseState.FINAL, label="LI", source="decision")
        reviewed(case, reviewer, "CC")
        reviewed(case, other, "LI")
        case_of(severity=Severity.CONFLICT)
        case_of(severity=Severity.AUDIT)
        text = page(client, reviewer.user)
        assert (reviewer.pseudonym in text, text.count("Waiting for an annotator")) == (True, 1)
        hidden = (other.pseudonym, "Export", f"Case {case.pk}", "direct conflict", "Severity")
        assert [word for word in hidden if word in text] == []
        assert client.get(f"{EXPORT}?format=csv").status_code == 404

    def test_maintainers_see_all_reviewers_and_events(self, client: Client, maintainer: User) -> None:
        people = [ReviewerFactory(), ReviewerFactory()]
        case = waiting(CaseState.QUEUED, 3, severity=Severity.CONFLICT)
        note(case, before="queued", after="leased", reviewer=people[0], what="taken by somebody")
        labelled = case_of(state=CaseState.ONE_LABEL)
        reviewed(labelled, ReviewerFactory(), "LI", note="a telling remark")
        private = closed_case(answers(published=False)[0], 1, state=CaseState.AGREED, label="CC", source="agreed")
        text = page(client, maintainer)
        shown = ("direct conflict", "taken by somebody", "1 label,", "3\xa0days ago", f"Case {private.pk}")
        assert [word for word in (*shown, *(person.pseudonym for person in people)) if word not in text] == []
        assert f'{labelled.implementation.get_absolute_url()}#review">Its answer' in text
        assert f"{labelled.implementation.revision.task.slug}, " in text_of(client.get(ADDRESS))  # type: ignore[arg-type]
        # Labels of open cases are not shown, and unpublished answers have no public page to link.
        links = [reverse("case", args=[each.pk]) for each in (case, labelled, private)]
        assert [word for word in ("a telling remark", *links) if word in text] == []

    def test_maintainers_who_label_do_not_see_triggers(self, client: Client, maintainer: User) -> None:
        """A count of audits or appeals that falls when one is claimed would reveal what it is."""
        case = waiting(CaseState.DISPUTED, 1, TriggerKind.APPEAL, severity=Severity.CONFLICT)
        note(case, before="two_labels", after="disputed", what="judge_opposes")
        waiting(CaseState.QUEUED, 3, TriggerKind.AUDIT)
        waiting(CaseState.QUEUED, 5, TriggerKind.AUDIT)
        done = closed_case(answers()[0], 1, state=CaseState.AGREED, label="CC", source="agreed")
        note(done, before="two_labels", after="agreed", what="the labels agree")
        client.force_login(maintainer)
        why = "an appeal 1 1 day ago sampled at random 2 5 days ago"
        assert why in text_of(client.get(ADDRESS))  # type: ignore[arg-type]
        text = page(client, ReviewerFactory(user=maintainer).user)
        assert (f"Case {case.pk}" in text, "the labels agree" in text) == (True, True)
        assert reverse("case", args=[done.pk]) in text
        hidden = ("judge_opposes", "direct conflict", "an appeal", "sampled at random")
        assert [word for word in hidden if word in text] == []
        answers_shown = [each.implementation.get_absolute_url() in text for each in (case, done)]
        assert answers_shown == [False, True]
        adjudicators = page(client, ReviewerFactory(adjudicator=True).user)
        assert [word for word in hidden if word in adjudicators] == []

    def test_cases_of_the_held_answer_are_left_out(self, client: Client, maintainer: User) -> None:
        mine = ReviewerFactory(user=maintainer)
        (one,) = answers(1)
        (other,) = answers(1, suite_version=one.submission.suite_version)
        earlier, elsewhere = (
            closed_case(each, 1, state=CaseState.REOPENED, label="CC", source="single") for each in (one, other)
        )
        for case in (earlier, elsewhere):
            reviewed(case, ReviewerFactory(), "CC")
        held = case_of(one, round=2)
        assigned(held, mine)
        text = page(client, maintainer)
        assert "the cases of that answer’s submission are neither shown nor exported." in text
        assert [f"Case {case.pk}<" in text for case in (earlier, held, elsewhere)] == [False, False, True]
        for suite in ("", one.submission.suite_version.suite.slug):
            response: Any = client.get(f"{EXPORT}?format=jsonl&suite={suite}")
            exported = b"".join(response.streaming_content).decode()
            assert [str(case.identifier) in exported for case in (earlier, elsewhere)] == [False, True]

    def test_an_empty_list_is_explained_while_holding_an_item(self, client: Client, maintainer: User) -> None:
        held = case_of()
        assigned(held, ReviewerFactory(user=maintainer))
        text = page(client, maintainer)
        assert (text.count("Hidden while you hold an item."), "No case" in text) == (2, False)

    def test_cases_are_listed_by_state_and_page(self, client: Client, maintainer: User) -> None:
        empty = page(client, maintainer)
        hints = ("No annotators yet.", f'href="{reverse("review_people")}"', "manage.py sample_disputes", "No case.")
        assert [hint for hint in hints if hint not in empty] == []
        for answer in answers(27):
            case_of(answer)
        case_of(state=CaseState.AGREED)
        text = page(client, maintainer)
        assert ("page 1 of 2" in text, "28 cases" in text) == (True, True)
        assert "page 2 of 2" in page(client, maintainer, f"{ADDRESS}?page=2")
        assert "1 case," in page(client, maintainer, f"{ADDRESS}?state=agreed")
        assert "28 cases" in page(client, maintainer, f"{ADDRESS}?state=nonsense&page=x")

    @pytest.mark.parametrize(("form", "kind"), [("csv", "text/csv"), ("jsonl", "application/jsonl")])
    def test_the_export_equals_the_commands_output(self, as_maintainer: Client, form: Any, kind: str) -> None:
        record_of_everything()
        answer: Any = as_maintainer.get(f"{EXPORT}?format={form}&suite=")
        name = f"labels-all-{timezone.now():%Y%m%d}.{form}"
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        assert (answer["Content-Type"].startswith(kind), "no-store" in answer["Cache-Control"]) == (True, True)
        assert b"".join(answer.streaming_content).decode() == "".join(export(form=form))
        assert as_maintainer.get(f"{EXPORT}?format={form}&suite=none").status_code == 404
