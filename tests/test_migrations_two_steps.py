"""Migrations after the newest release let the code of that release run beside them, or say why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.migrations.loader import MigrationLoader

from leaderboard.settings.releases import UNRELEASED, releases
from leaderboard.upgrading.effects import effects

if TYPE_CHECKING:
    from django.db.migrations.migration import Migration

LAST_WITH_STOPS = "0.9.0"
"""The release after this one is the last whose migrations may need a stop of the site."""


def later_than_the_newest_release() -> tuple[list[Migration], dict[str, list[str]]]:
    """All migrations in order, and of those after the newest release why its code cannot run beside each."""
    loader = MigrationLoader(None, replace_migrations=False)
    newest = [each for each in releases() if each.version != UNRELEASED][-1]
    released = {key for leaf in newest.leaves.items() for key in loader.graph.forwards_plan(leaf)}
    order: dict[tuple[str, str], Migration] = {}
    for leaf in loader.graph.leaf_nodes():
        order |= {key: loader.graph.nodes[key] for key in loader.graph.forwards_plan(leaf)}
    chosen = [migration for key, migration in order.items() if key not in released]
    done = effects(order.values(), chosen, real_apps=loader.unmigrated_apps, vendor="postgresql")
    return chosen, {name: [each.breaks for each in found if each.breaks] for name, found in done.items()}


def declared(table: str) -> dict[str, str]:
    return {
        name: why
        for each in releases()[-1:]
        if each.version == UNRELEASED
        for name, why in getattr(each, table).items()
    }


def test_every_breaking_migration_is_declared() -> None:
    _, breaking = later_than_the_newest_release()
    plans = declared("stops") | declared("contracts")
    undeclared = {name: reasons for name, reasons in breaking.items() if reasons and name not in plans}
    assert undeclared == {}, "docs/contributing.md, “Migrations in two steps”"


def test_every_declaration_names_a_breaking_migration_and_a_reason() -> None:
    _, breaking = later_than_the_newest_release()
    plans = {**declared("stops"), **declared("contracts")}
    assert sorted(plans) == sorted(name for name, reasons in breaking.items() if reasons)
    assert declared("stops").keys() & declared("contracts").keys() == set()
    assert all(plans.values())


def test_no_further_release_needs_a_stop() -> None:
    versions = [each.version for each in releases()]
    last = versions.index(LAST_WITH_STOPS) + 1
    assert [each.version for each in releases()[last + 1 :] if each.stops] == []


def test_every_migration_can_be_undone() -> None:
    chosen, _ = later_than_the_newest_release()
    assert [str(each) for each in chosen if not all(operation.reversible for operation in each.operations)] == []
