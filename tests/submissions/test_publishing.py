"""Publishing, withdrawing, hiding and correcting: permissions, allowed states, and audit events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from submissions.domain import publishing
from submissions.domain.audit import history
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.signals import submission_changed
from tests.submissions.factories import SubmissionFactory, SystemFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from submissions.models import Submission, User


@pytest.fixture
def mine(alice: User) -> Submission:
    """A scored, private submission of Alice's."""
    made: Submission = SubmissionFactory(owner=alice)
    return made


@pytest.fixture
def news() -> Iterator[list[Submission]]:
    """Collect the submissions of ``submission_changed`` signals."""
    heard: list[Submission] = []

    def hear(submission: Submission, **_: object) -> None:
        heard.append(submission)

    submission_changed.connect(hear)
    yield heard
    submission_changed.disconnect(hear)


def publish(submission: Submission, actor: User, *, licence: str = "MIT", consent: bool = True) -> None:
    publishing.publish(submission=submission, actor=actor, code_licence=licence, consent=consent)


def verbs(submission: Submission) -> list[str]:
    return [event.verb for event in history(submission)]


def test_the_owner_publishes_with_consent(mine: Submission, alice: User, news: list[Submission]) -> None:
    publish(mine, alice)
    mine.refresh_from_db()
    assert (mine.visibility, mine.code_licence) == (Visibility.PUBLISHED, "MIT")
    assert mine.published_at is not None
    assert verbs(mine) == [Verb.PUBLISHED]
    assert news == [mine]


@pytest.mark.parametrize(("licence", "consent"), [("MIT", False), ("", True), ("WTFPL", True)])
def test_no_publishing_without_consent_and_licence(mine: Submission, alice: User, licence: str, consent: bool) -> None:
    with pytest.raises(NotAllowedError, match="needs your consent"):
        publish(mine, alice, licence=licence, consent=consent)
    mine.refresh_from_db()
    assert (mine.visibility, mine.code_licence) == (Visibility.PRIVATE, "")
    assert verbs(mine) == []


@pytest.mark.parametrize("state", [state for state in SubmissionState if state != SubmissionState.SCORED])
def test_only_scored_ones_are_published(alice: User, state: SubmissionState) -> None:
    unscored = SubmissionFactory(owner=alice, state=state)
    with pytest.raises(WrongStateError, match="Only a scored submission"):
        publish(unscored, alice)
    unscored.refresh_from_db()
    assert (unscored.visibility, unscored.published_at) == (Visibility.PRIVATE, None)


def test_calibration_samples_are_published_by_maintainers(alice: User, maintainer: User) -> None:
    sample = SubmissionFactory(owner=alice, kind=Kind.CALIBRATION)
    with pytest.raises(NotAllowedError, match="maintainers only"):
        publish(sample, alice)
    publish(sample, maintainer)
    assert sample.visibility == Visibility.PUBLISHED


def test_advance_consent_publishes_once_scored(alice: User) -> None:
    willing = SubmissionFactory(owner=alice, publish_when_scored=True, code_licence="Apache-2.0")
    assert publishing.publish_if_consented(submission=willing) is True
    willing.refresh_from_db()
    assert (willing.visibility, willing.code_licence) == (Visibility.PUBLISHED, "Apache-2.0")
    assert publishing.publish_if_consented(submission=willing) is False


def test_withdrawing_needs_a_reason_and_can_be_undone(mine: Submission, alice: User) -> None:
    publish(mine, alice)
    with pytest.raises(NotAllowedError, match="Give a reason"):
        publishing.withdraw(submission=mine, actor=alice, reason=" ")
    publishing.withdraw(submission=mine, actor=alice, reason="wrong model")
    assert (mine.visibility, mine.visibility_reason) == (Visibility.WITHDRAWN, "wrong model")
    publish(mine, alice)
    assert (mine.visibility, mine.visibility_reason) == (Visibility.PUBLISHED, "")
    assert verbs(mine) == [Verb.PUBLISHED, Verb.WITHDRAWN, Verb.PUBLISHED]


def test_unpublished_submissions_cannot_be_withdrawn(mine: Submission, alice: User) -> None:
    with pytest.raises(WrongStateError, match="is not published, so it cannot be withdrawn"):
        publishing.withdraw(submission=mine, actor=alice, reason="wrong model")
    assert verbs(mine) == []


def test_only_maintainers_hide_and_only_with_a_reason(mine: Submission, alice: User, maintainer: User) -> None:
    with pytest.raises(NotAllowedError, match="Only maintainers"):
        publishing.hide(submission=mine, actor=alice, reason="mine")
    with pytest.raises(NotAllowedError, match="it is public"):
        publishing.hide(submission=mine, actor=maintainer, reason="")
    publishing.hide(submission=mine, actor=maintainer, reason="copied answers")
    assert (mine.visibility, mine.visibility_reason) == (Visibility.HIDDEN, "copied answers")


def test_the_owner_cannot_undo_hiding(mine: Submission, alice: User, maintainer: User) -> None:
    publishing.hide(submission=mine, actor=maintainer, reason="copied answers")
    with pytest.raises(WrongStateError, match="is hidden by a maintainer, so it cannot be published"):
        publish(mine, alice)
    with pytest.raises(NotAllowedError, match="Only maintainers"):
        publishing.unhide(submission=mine, actor=alice, reason="please")


@pytest.mark.parametrize("before", [Visibility.PRIVATE, Visibility.PUBLISHED, Visibility.WITHDRAWN])
def test_unhiding_restores_the_owners_visibility(
    mine: Submission, alice: User, maintainer: User, before: Visibility
) -> None:
    if before != Visibility.PRIVATE:
        publish(mine, alice)
    if before == Visibility.WITHDRAWN:
        publishing.withdraw(submission=mine, actor=alice, reason="wrong model")
    with pytest.raises(WrongStateError, match="cannot be shown again"):
        publishing.unhide(submission=mine, actor=maintainer, reason="reviewed")
    publishing.hide(submission=mine, actor=maintainer, reason="under review")
    with pytest.raises(WrongStateError, match="cannot be hidden"):
        publishing.hide(submission=mine, actor=maintainer, reason="again")
    publishing.unhide(submission=mine, actor=maintainer, reason="reviewed")
    assert mine.visibility == before


def test_correcting_keeps_old_and_new_values(alice: User, news: list[Submission]) -> None:
    system = SystemFactory(owner=alice, name="Alfa", backbone="a-1", links=[])
    mine = SubmissionFactory(owner=alice, system=system)
    changes = {"name": "Alpha", "backbone": "a-1", "knowledge_cutoff": "2024-06", "links": ["https://example.org"]}
    publishing.correct_system(submission=mine, actor=alice, changes=changes, reason="misspelt")
    system.refresh_from_db()
    assert (system.name, system.links) == ("Alpha", ["https://example.org"])
    event = history(mine).get()
    assert (event.verb, event.reason) == (Verb.CORRECTED, "misspelt")
    cutoff = {"knowledge_cutoff": ["", "2024-06"]}
    assert event.data == {"changed": {"name": ["Alfa", "Alpha"], **cutoff, "links": [[], ["https://example.org"]]}}
    assert news == [mine]


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [({"slug": "other"}, "because", "slug cannot be corrected"), ({"name": "Other"}, " ", "Give a reason")],
)
def test_corrections_that_are_refused(
    mine: Submission, alice: User, changes: dict[str, object], reason: str, message: str
) -> None:
    with pytest.raises(NotAllowedError, match=message):
        publishing.correct_system(submission=mine, actor=alice, changes=changes, reason=reason)


def test_other_users_cannot_publish_or_correct(mine: Submission, bob: User) -> None:
    with pytest.raises(NotAllowedError, match="Only the owner"):
        publish(mine, bob)
    with pytest.raises(NotAllowedError, match="Only the owner"):
        publishing.correct_system(submission=mine, actor=bob, changes={"name": "Bobs"}, reason="mine now")
    assert verbs(mine) == []


def test_a_system_is_not_renamed_to_another_one(alice: User) -> None:
    SystemFactory(owner=alice, name="Taken")
    mine = SubmissionFactory(owner=alice, system=SystemFactory(owner=alice, name="Free"))
    with pytest.raises(NotAllowedError, match="Another system of this owner"):
        publishing.correct_system(submission=mine, actor=alice, changes={"name": "taken"}, reason="merge")
    assert verbs(mine) == []
