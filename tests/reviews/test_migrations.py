"""Migrations keep stored data."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from reviews.enums import Role
from reviews.models import Assignment, Decision
from tests.reviews.factories import assigned, case_of, decided, ready

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def models_at(migration: str) -> Iterator[Any]:
    """Yield the models as of ``migration``; afterwards migrate everything again."""
    executor, at = MigrationExecutor(connection), [("reviews", migration)]
    newest = executor.loader.graph.leaf_nodes()  # of all apps: those that depend on this one went back, too
    try:
        executor.migrate(at)
        apps: Any = executor.loader.project_state(at).apps
        yield lambda name: apps.get_model("reviews", name).objects
    finally:
        MigrationExecutor(connection).migrate(newest)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_a_decisions_reason_becomes_a_list_and_disabled_keys_stay_disabled() -> None:
    case, person, other = case_of(), ready(adjudicator=True), ready()
    old = decided(case, person, "LI")
    draft = assigned(case, person, role=Role.ADJUDICATOR)
    with models_at("0001_initial") as rows:
        rows("Decision").update(reason="bad_golden")
        rows("Assignment").update(draft={"reason": "rubric_gap", "note": "typed"})
        rows("Reviewer").filter(pk=person.pk).update(keys={"off": True, "skip": "x"})
        rows("Reviewer").filter(pk=other.pk).update(keys={"skip": "x"})
    assert Decision.objects.get(pk=old.pk).reasons == ["bad_golden"]
    assert Assignment.objects.get(pk=draft.pk).draft == {"reasons": ["rubric_gap"], "note": "typed"}
    person.refresh_from_db()
    other.refresh_from_db()
    assert (person.keys_off, other.keys_off) == (True, False)
