"""The append-only record of who did what, and who may see and manage which submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command

from benchmark_tasks.models import SuiteVersion
from submissions.domain.access import may_manage, visible_to
from submissions.domain.audit import history, record
from submissions.domain.operators import local_operator
from submissions.enums import Verb, Visibility
from submissions.models import AuditEvent
from tests.conftest import PROJECT_ROOT
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from submissions.models import User


def test_an_event_names_its_subject_as_it_was_called_then(alice: User) -> None:
    submission = SubmissionFactory(owner=alice, system__name="Alpha")
    event = record(verb=Verb.HIDDEN, subject=submission, actor=alice, reason="copied", data={"a": 1})
    submission.system.name = "Beta"
    submission.system.save()
    stored = AuditEvent.objects.get()
    assert stored == event
    assert (stored.subject_kind, stored.subject_id) == ("submission", str(submission.pk))
    assert stored.subject_text == f"Alpha on {submission.suite_version}"
    assert (stored.reason, stored.data) == ("copied", {"a": 1})


def test_history_is_of_one_subject_newest_first(alice: User) -> None:
    mine, other = SubmissionFactory(owner=alice), SubmissionFactory()
    for verb in (Verb.SUBMITTED, Verb.PUBLISHED, Verb.WITHDRAWN):
        record(verb=verb, subject=mine, actor=alice)
    record(verb=Verb.HIDDEN, subject=other, actor=alice)
    # Another kind of row may have the same number.
    record(verb=Verb.QUOTA, subject=alice, actor=alice)
    assert [event.verb for event in history(mine)] == [Verb.WITHDRAWN, Verb.PUBLISHED, Verb.SUBMITTED]


def test_nothing_rewrites_history(alice: User) -> None:
    event = record(verb=Verb.SUBMITTED, subject=SubmissionFactory(owner=alice), actor=alice)
    event.reason = "another"
    with pytest.raises(TypeError, match="append-only"):
        event.save()
    with pytest.raises(TypeError, match="append-only"):
        event.delete()
    with pytest.raises(TypeError, match=r"append-only, so \['reason'\] cannot be changed"):
        AuditEvent.objects.update(reason="another")
    with pytest.raises(TypeError, match="append-only"):
        AuditEvent.objects.all().delete()
    assert AuditEvent.objects.get().reason == ""


@pytest.mark.django_db
def test_the_command_line_s_own_maintainer_is_on_record_once() -> None:
    operator = local_operator()
    assert local_operator() == operator
    event = history(operator).get()
    assert (event.verb, event.actor, event.data) == (Verb.ROLE, None, {"before": None, "after": "maintainer"})
    assert (operator.is_staff, operator.has_usable_password()) == (True, False)


@pytest.mark.django_db(transaction=True)
def test_an_import_leaves_an_event_and_one_that_changes_nothing_leaves_none() -> None:
    folder = PROJECT_ROOT / "benchmark_tasks" / "suites" / "lmr-mini"
    for _ in range(2):
        call_command("import_suite", str(folder), "--slug", "mine")
    version = SuiteVersion.objects.get(suite__slug="mine")
    event = history(version).get()
    assert (event.verb, event.actor, event.subject_text) == (Verb.IMPORTED, None, str(version))


NOBODY = AnonymousUser()


def test_who_sees_and_who_manages(alice: User, bob: User, maintainer: User) -> None:
    made = {visibility: SubmissionFactory(owner=alice, visibility=visibility) for visibility in Visibility}
    seen = {user: {found.visibility for found in visible_to(user)} for user in (alice, maintainer, bob, NOBODY)}
    own, others = set(Visibility), {Visibility.PUBLISHED}
    assert seen == {alice: own, maintainer: own, bob: others, NOBODY: others}
    managing = [may_manage(user, made[Visibility.PUBLISHED]) for user in seen]
    assert managing == [True, True, False, False]
