"""Migrate back and forward again, also to a migration that a squashed one replaces."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

if TYPE_CHECKING:
    from collections.abc import Iterator


class ReplacedMigrations(MigrationLoader):
    """The graph of the migrations that squashed ones replace, as Django loads it when some of them are applied."""

    def build_graph(self) -> None:
        """Remove the squashed migrations from the graph."""
        super().build_graph()
        for key, migration in self.replacements.items():
            self.applied_migrations.pop(key, None)
            self.graph.remove_replacement_node(key, migration.replaces)


@contextmanager
def models_at(app: str, migration: str) -> Iterator[Any]:
    """Migrate back to ``migration``, yield its apps, and migrate forward as ``manage.py migrate`` does."""
    back: Any = MigrationExecutor(connection)
    back.loader = ReplacedMigrations(connection, replace_migrations=False)
    try:
        back.migrate([(app, migration)])
        yield back.loader.project_state([(app, migration)]).apps
    finally:
        forward = MigrationExecutor(connection)
        # All apps: those that depend on this one were migrated back as well.
        forward.migrate(forward.loader.graph.leaf_nodes())
