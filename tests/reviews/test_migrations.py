"""What was stored before a migration is kept."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from reviews.enums import Role
from reviews.models import Assignment, Decision
from tests.reviews.factories import assigned, case_of, decided, ready

BEFORE = [("reviews", "0001_initial")]


@pytest.mark.django_db(transaction=True)
def test_a_decisions_reason_becomes_its_list_of_reasons() -> None:
    case = case_of()
    adjudicator = ready(adjudicator=True)
    old = decided(case, adjudicator, "LI")
    draft = assigned(case, adjudicator, role=Role.ADJUDICATOR, draft={"label": "CC", "note": "typed"})
    executor = MigrationExecutor(connection)
    newest = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "reviews"]
    try:
        executor.migrate(BEFORE)
        apps: Any = executor.loader.project_state(BEFORE).apps
        apps.get_model("reviews", "Decision").objects.update(reason="bad_golden")
        apps.get_model("reviews", "Assignment").objects.update(draft={"reason": "rubric_gap", "note": "typed"})
    finally:
        MigrationExecutor(connection).migrate(newest)
    assert Decision.objects.get(pk=old.pk).reasons == ["bad_golden"]
    assert Assignment.objects.get(pk=draft.pk).draft == {"reasons": ["rubric_gap"], "note": "typed"}


@pytest.mark.django_db(transaction=True)
def test_who_had_switched_all_keys_off_still_has() -> None:
    people = [ready(), ready(), ready()]
    executor = MigrationExecutor(connection)
    newest = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "reviews"]
    before = [("reviews", "0002_several_reasons_of_a_decision")]
    try:
        executor.migrate(before)
        apps: Any = executor.loader.project_state(before).apps
        for person, keys in zip(people, ({"off": True, "skip": "x"}, {"skip": "x"}, {}), strict=True):
            apps.get_model("reviews", "Reviewer").objects.filter(pk=person.pk).update(keys=keys)
    finally:
        MigrationExecutor(connection).migrate(newest)
    for person in people:
        person.refresh_from_db()
    assert [person.keys_off for person in people] == [True, False, False]
