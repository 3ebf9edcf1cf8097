"""Compare the database's migrations with those of the code and of releases, and roll them back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from leaderboard.backup.rows import unknown_migrations
from leaderboard.settings.releases import UNRELEASED, releases
from leaderboard.upgrading.effects import effects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from django.db.migrations.migration import Migration

    from leaderboard.settings.releases import Release
    from leaderboard.upgrading.effects import Effect


class UpgradeError(Exception):
    """Raised for an upgrade or rollback that is not possible; the message says what to do."""


class Database:
    """The database in use, as its table of migrations describes it. No other table needs to be current."""

    def __init__(self) -> None:
        self._executor = MigrationExecutor(connection)
        self._loader = self._executor.loader
        self.newer = unknown_migrations(self._loader)

    @cached_property
    def release(self) -> Release | None:
        """The newest release whose migrations are all applied; None for an older database and an empty one."""
        applied = self._loader.applied_migrations.keys()
        reached = (each for each in releases() if each.leaves and each.leaves.items() <= applied)
        return max(reached, key=releases().index, default=None)

    def __str__(self) -> str:
        """Return the database's version for operators."""
        if not self._loader.applied_migrations:
            return "empty"
        if self.release is None:
            return f"older than {releases()[0].version}"
        later = len(self.after(self.release))
        return f"{self.release.version}{f' and {later} later migrations' if later else ''}"

    def ahead(self) -> list[Migration]:
        """Return the migrations that this code has and the database lacks, in the order in which they run."""
        return [migration for migration, _ in self._executor.migration_plan(self._loader.graph.leaf_nodes())]

    def after(self, release: Release) -> list[Migration]:
        """Return the applied migrations that follow ``release``, oldest first. Raises :class:`UpgradeError`."""
        plan = self._executor.migration_plan(self._leaves(release))
        if not all(backwards for _, backwards in plan):
            msg = (
                f"The database is {self}: there is nothing to roll back. Upgrade it with the code of {release.version}."
            )
            raise UpgradeError(msg)
        return [migration for migration, _ in reversed(plan)]

    def effects(self, migrations: Iterable[Migration]) -> dict[str, list[Effect]]:
        """Return what ``migrations`` do, by name."""
        order = self._executor.migration_plan(self._loader.graph.leaf_nodes(), clean_start=True)
        chosen, apps = list(migrations), self._loader.unmigrated_apps
        return effects((each for each, _ in order), chosen, real_apps=apps, vendor=connection.vendor)

    def roll_back(self, release: Release, report: Callable[[str], None]) -> None:
        """Undo every migration after ``release``, each in a transaction of its own."""

        def progress(action: str, /, migration: Migration | None = None, fake: bool | None = None) -> None:  # noqa: ARG001 - Django's signature
            if action == "unapply_success" and migration is not None:
                report(f"undone: {migration.app_label}.{migration.name}")

        self._executor.progress_callback = progress
        self._executor.migrate(self._leaves(release))

    def _leaves(self, release: Release) -> list[tuple[str, str | None]]:
        """Return the last migration of each app in ``release``, as this code's graph names it; None for later apps."""
        graph = self._loader.graph
        squashed = {each.replaces[-1]: key for key, each in self._loader.replacements.items()}
        found: list[tuple[str, str | None]] = []
        for app in sorted({app for app, _ in graph.nodes}):
            leaf = (app, release.leaves[app]) if app in release.leaves else None
            node = leaf if leaf is None or leaf in graph.nodes else squashed.get(leaf)
            if leaf and node is None:
                msg = f"This code no longer has the migration {'.'.join(leaf)}, with which {release.version} ends."
                raise UpgradeError(msg)
            found.append(node or (app, None))
        return found


def release_named(version: str) -> Release:
    """Return a release. Raises :class:`UpgradeError` listing the known ones."""
    known = {each.version: each for each in releases() if each.version != UNRELEASED}
    if version not in known:
        msg = f"{version} is not a release that this code knows. It knows {', '.join(known)}."
        raise UpgradeError(msg)
    return known[version]
