"""Migrations keep stored data."""

from __future__ import annotations

import pytest

from reviews.enums import Role
from reviews.models import Assignment, Decision
from tests.migrating import models_at
from tests.reviews.factories import assigned, case_of, decided, ready


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_a_decisions_reason_becomes_a_list_and_disabled_keys_stay_disabled() -> None:
    case, person, other = case_of(), ready(adjudicator=True), ready()
    old = decided(case, person, "LI")
    draft = assigned(case, person, role=Role.ADJUDICATOR)
    with models_at("reviews", "0001_initial") as apps:
        reviewers = apps.get_model("reviews", "Reviewer").objects
        apps.get_model("reviews", "Decision").objects.update(reason="bad_golden")
        apps.get_model("reviews", "Assignment").objects.update(draft={"reason": "rubric_gap", "note": "typed"})
        reviewers.filter(pk=person.pk).update(keys={"off": True, "skip": "x"})
        reviewers.filter(pk=other.pk).update(keys={"skip": "x"})
    assert Decision.objects.get(pk=old.pk).reasons == ["bad_golden"]
    assert Assignment.objects.get(pk=draft.pk).draft == {"reasons": ["rubric_gap"], "note": "typed"}
    person.refresh_from_db()
    other.refresh_from_db()
    assert (person.keys_off, other.keys_off) == (True, False)
