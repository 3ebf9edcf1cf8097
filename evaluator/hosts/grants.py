"""Rights in PostgreSQL of the role with which a host that only runs tests (``POOLS=tests``) connects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from benchmark_tasks.models import Category, Paper, SeedEpoch, Suite, SuiteVersion, Task, TaskRevision
from evaluator.models import Attempt, EnvironmentBuild, Host, Reevaluation, SelfCheck, TestRun
from submissions.models import Implementation, Submission

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from django.db.models import Model


ALL: Final = ("*",)


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights in a model's table. ``reads`` and ``updates`` name its fields."""

    model: type[Model]
    reads: Collection[str] = ALL
    updates: Collection[str] = ()
    inserts: bool = False
    deletes: bool = False


GRANTS: Final = (
    *(Grant(model) for model in (Category, Suite, SeedEpoch, Paper, Task, TaskRevision, SuiteVersion)),
    Grant(SuiteVersion.revisions.through),
    Grant(Submission, ("id", "owner", "suite_version", "state", "environment_digest"), ("state", "environment_digest")),
    Grant(Implementation, ("id", "submission", "revision", "files", "deleted")),
    Grant(Reevaluation, ("id", "to_version", "state")),
    Grant(
        TestRun,
        updates=(
            *("state", "not_before", "token", "lease_until", "infra_count", "reason", "finished"),
            *("environment", "environment_digest", "outcome", "cases", "log", "seconds"),
            *("upstream_outcome", "upstream"),
        ),
    ),
    Grant(Attempt, updates=("sandbox", "state", "reason", "ended"), inserts=True),
    Grant(EnvironmentBuild),
    Grant(Host, updates=ALL, inserts=True, deletes=True),
    Grant(SelfCheck, inserts=True, deletes=True),
    Grant(MigrationRecorder.Migration),  # manage.py doctor compares it with the code
)
"""All that running tests needs: the rest of the database is closed to the role."""
REDUCE: Final = "Give hosts with POOLS=tests a role that owns nothing and belongs to no other (docs/operating.md)."


class Right(NamedTuple):
    """A privilege in a column, or in a whole table where ``column`` is empty."""

    table: str
    column: str
    privilege: str

    def __str__(self) -> str:
        """Return ``UPDATE submissions_submission.state``."""
        return f"{self.privilege} {self.table}{'.' if self.column else ''}{self.column}"


def needed() -> set[Right]:
    """Return the rights of :data:`GRANTS`."""
    return {right for grant in GRANTS for right in _rights(grant)}


def _rights(grant: Grant) -> Iterator[Right]:
    meta = grant.model._meta  # noqa: SLF001 - Django's documented API
    columns = {field.name: str(field.column) for field in meta.concrete_fields}
    inserts = ALL if grant.inserts else ()
    for privilege, names in (("SELECT", grant.reads), ("INSERT", inserts), ("UPDATE", grant.updates)):
        for name in columns if names is ALL else names:
            yield Right(meta.db_table, columns[name], privilege)
    if grant.deletes:
        yield Right(meta.db_table, "", "DELETE")


_HELD: Final = """
    WITH tables AS (
        SELECT oid, relname FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
    )
    SELECT relname, attname, privilege FROM tables
    JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
    CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('REFERENCES')) AS privileges (privilege)
    WHERE has_column_privilege(%(role)s, tables.oid, attnum, privilege)
    UNION ALL
    SELECT relname, '', privilege FROM tables
    CROSS JOIN (VALUES ('DELETE'), ('TRUNCATE'), ('TRIGGER')) AS privileges (privilege)
    WHERE has_table_privilege(%(role)s, tables.oid, privilege)
    UNION ALL
    SELECT current_schema(), '', 'CREATE TABLE IN' WHERE has_schema_privilege(%(role)s, current_schema(), 'CREATE')
"""


def held(role: str) -> set[Right]:
    """Return the rights that ``role`` has, however it got them: also as superuser or owner, or by another role."""
    with connection.cursor() as cursor:
        cursor.execute(_HELD, {"role": role})
        return {Right(*row) for row in cursor.fetchall()}


def current_role() -> str:
    """Return the role of this process's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        return str(cursor.fetchone()[0])


def listed(rights: Iterable[Right], *, shown: int = 3) -> str:
    """Return the first of ``rights`` and the number of the others, for one line."""
    names = sorted(map(str, rights))
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if names[shown:] else "")


def applies() -> bool:
    """Return whether this host's role needs the rights of :data:`GRANTS` and no others."""
    return connection.vendor == "postgresql" and set(settings.ENVIRONMENT.pools) == {"tests"}


def problem() -> str:
    """Return which rights this host's role lacks for running tests, and what to do; empty if it lacks none."""
    lacking = needed() - held(role := current_role()) if applies() else None
    if not lacking:
        return ""
    return (
        f"The database role {role} lacks rights that a host with POOLS=tests needs: {listed(lacking)}.\n{remedy(role)}"
    )


def remedy(role: str) -> str:
    """Return how to give ``role`` its rights."""
    return f"Run manage.py worker_grants {role} on the site's host, as after each upgrade."


def statements(role: str) -> list[str]:
    """Return the SQL that takes all rights from ``role`` and gives it those of :data:`GRANTS`."""
    # psycopg is only imported where PostgreSQL is used.
    from psycopg.sql import SQL, Identifier

    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        schema = str(cursor.fetchone()[0])
    place, to = Identifier(schema), Identifier(role)
    revoked = [
        SQL("REVOKE ALL ON ALL {} IN SCHEMA {} FROM {}").format(SQL(k), place, to) for k in ("TABLES", "SEQUENCES")
    ]
    revoked.append(SQL("REVOKE ALL ON SCHEMA {} FROM {}").format(place, to))
    granted = [SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, to)]
    columns: dict[tuple[str, str], list[str]] = {}
    for table, column, privilege in sorted(needed()):
        columns.setdefault((table, privilege), []).extend([column] if column else [])
    for (table, privilege), names in columns.items():
        of = SQL(" ({})").format(SQL(", ").join(map(Identifier, names))) if names else SQL("")
        granted.append(SQL("GRANT {}{} ON {} TO {}").format(SQL(privilege), of, Identifier(schema, table), to))
    return [each.as_string() for each in (*revoked, *granted)]


def apply(role: str) -> None:
    """Take all rights from ``role`` and give it those of :data:`GRANTS`, in one transaction.

    Hosts that are working do not notice. Raises ``django.db.ProgrammingError`` if the role does not exist or this
    process's own may not.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements(role):
            cursor.execute(statement)
