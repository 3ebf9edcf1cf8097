"""Turn rows of any model into lines that both databases can store again.

Models are those of the database's migrations, not of the code: rows are restored into the tables that they came from,
and the migrations that followed then upgrade them.
"""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import Error, connection, models
from django.db.migrations.loader import MigrationLoader

from benchmark_tasks.domain.garbage import Blob, naming_fields
from leaderboard.backup.archive import BackupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmark_tasks.domain.content import Kind

LEFT_OUT: Final = frozenset({"sessions.Session"})
"""Models without rows in a backup: people sign in again on a restored instance."""
CHUNK_BYTES: Final = 8 * 1024 * 1024
"""Rows are collected in chunks of at least this many bytes of text; only the last one of a model is smaller."""
_AT_A_TIME: Final = 500

Node = tuple[str, str]
"""App and name of a migration."""


def unknown_migrations(loader: Any) -> list[str]:
    """Return the applied migrations that this host's code does not have: newer code has applied them."""
    known, apps_with_any = loader.disk_migrations.keys(), loader.migrated_apps
    unknown = (each for each in loader.applied_migrations if each not in known and each[0] in apps_with_any)
    return sorted(map(".".join, unknown))


def applied_state() -> list[Node]:
    """Return the newest applied migration of each app. Raises BackupError for a database of a newer version."""
    loader = MigrationLoader(connection)
    applied = set(loader.applied_migrations or ())
    if unknown := unknown_migrations(loader):
        msg = f"A newer version of LMR-Board changed this database ({unknown[0]}). Use that version's code."
        raise BackupError(msg)
    nodes = applied & set(loader.graph.nodes)
    followed = {
        parent.key for node in nodes for parent in loader.graph.node_map[node].parents if parent.key[0] == node[0]
    }
    return sorted(nodes - followed)


def loader_of(nodes: Sequence[Node], *, database: Any = None) -> tuple[MigrationLoader, list[Node]]:
    """Return migrations that lead to ``nodes``, and their names there. Raises BackupError for unknown ones.

    Without the connection to a ``database``, as for a new one. In the graph of a new database, squashed migrations take
    the place of those that an older instance has applied.
    """
    loader = MigrationLoader(database)
    if unknown := [node for node in nodes if node not in (loader.disk_migrations or ())]:
        msg = (
            f"A newer version of LMR-Board made this backup ({'.'.join(unknown[0])} is unknown here). Use that version."
        )
        raise BackupError(msg)
    if all(node in loader.graph.nodes for node in nodes):
        return loader, list(nodes)
    loader = MigrationLoader(database, replace_migrations=False)
    return loader, [loader.replacements[node].replaces[-1] if node in loader.replacements else node for node in nodes]


def models_at(loader: MigrationLoader, nodes: Sequence[Node]) -> dict[str, Any]:
    """Return every model after the migrations ``nodes``, by its label, through tables of many-to-many fields too."""
    state = loader.project_state(list(nodes)).apps
    found = sorted(state.get_models(include_auto_created=True), key=lambda model: model._meta.label)
    return {model._meta.label: model for model in found if model._meta.managed and model._meta.label not in LEFT_OUT}


def stored_fields(model: Any) -> list[Any]:
    """Return the fields with a column that is not computed by the database."""
    return [field for field in model._meta.local_concrete_fields if not field.generated]


def blob_fields(model: Any) -> dict[str, Kind]:
    """Return the fields of a migration's model that name stored files, and their kinds."""
    kinds = naming_fields(model)
    with suppress(LookupError):  # the code may have no such model any more
        kinds |= naming_fields(apps.get_model(model._meta.label))
    return {field.attname: kinds[field.attname] for field in stored_fields(model) if field.attname in kinds}


def blobs_of(row: Any, naming: Mapping[str, Kind]) -> set[Blob]:
    """Return the stored files that a row names in the fields ``naming``."""
    return {Blob(kind, str(found)) for name, kind in naming.items() if (found := getattr(row, name))}


def chunks(model: Any, blobs: set[Blob]) -> Iterator[tuple[int, bytes]]:
    """Yield all rows in chunks: their number, and gzipped lines. Add the stored files that they name to ``blobs``."""
    fields, naming = stored_fields(model), blob_fields(model)
    lines: list[str] = []
    size = 0
    for row in model._base_manager.order_by("pk").iterator(chunk_size=_AT_A_TIME):
        blobs |= blobs_of(row, naming)
        lines.append(json.dumps([plain(field, row) for field in fields]))
        size += len(lines[-1])
        if size >= CHUNK_BYTES:
            yield len(lines), _packed(fields, lines)
            lines, size = [], 0
    if lines:
        yield len(lines), _packed(fields, lines)


def _packed(fields: list[Any], lines: list[str]) -> bytes:
    names = json.dumps([field.attname for field in fields])
    return gzip.compress("\n".join([names, *lines, ""]).encode(), compresslevel=6, mtime=0)


def plain(field: Any, row: Any) -> Any:
    """Return a value as JSON has it: exact, unlike Django's own encoder, which cuts times to milliseconds."""
    value = getattr(row, field.attname)
    if value is None or isinstance(value, bool | int | float | str) or isinstance(field, models.JSONField):
        return value
    return field.value_to_string(row)


def _unpacked(packed: bytes) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the fields, and the rows. Raises BackupError."""
    try:
        names, *found = map(json.loads, gzip.decompress(packed).decode().splitlines())
    except (EOFError, OSError, zlib.error, ValueError) as error:
        raise BackupError(f"Rows in the backup are damaged: {error}.") from error
    if not all(isinstance(row, list) and len(row) == len(names) for row in (names, *found)):
        raise BackupError("Rows in the backup are damaged: they are not lists of equal length.")
    return names, found


def parsed(model: Any, packed: bytes) -> list[Any]:
    """Return the rows of one chunk, unsaved. Raises BackupError."""
    columns, found = _unpacked(packed)
    fields = {field.attname: field for field in stored_fields(model)}
    if unknown := set(columns) ^ set(fields):
        raise BackupError(f"{model._meta.label} has other fields than the backup: {', '.join(sorted(unknown))}.")
    try:
        return [
            model(**{name: fields[name].to_python(value) for name, value in zip(columns, values, strict=True)})
            for values in found
        ]
    except (TypeError, ValueError, ValidationError) as error:
        why = " ".join(error.messages if isinstance(error, ValidationError) else str(error).split())
        raise BackupError(f"Rows of {model._meta.label} in the backup are damaged: {why}") from error


def store(model: Any, packed: bytes) -> int:
    """Store the rows of one chunk and return their number. Raises BackupError."""
    found = parsed(model, packed)
    for field in stored_fields(model):
        # Otherwise the time of restoring would replace the stored one.
        field.auto_now = field.auto_now_add = False
    try:
        model._base_manager.bulk_create(found, batch_size=_AT_A_TIME)
    except (Error, ValueError, OverflowError) as error:
        why = " ".join(str(error).split())
        raise BackupError(f"The database refuses rows of {model._meta.label}: {why}") from error
    return len(found)


def empty(tables: Iterable[Any]) -> None:
    """Delete all rows of the models, such as those that migrations made; foreign keys are checked at the commit."""
    with connection.cursor() as cursor:
        for model in tables:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")  # noqa: S608 - Django's name


def last_numbers(tables: Iterable[Any]) -> dict[str, int]:
    """Return the last number that each table gave to a row, also to one that was deleted since."""
    numbers: dict[str, int] = {}
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, seq FROM sqlite_sequence")
            return {str(name): int(last) for name, last in cursor.fetchall()}
        for table, column in _numbered(tables):
            cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, %s))", [f'"{table}"', column])
            numbers[table] = cursor.fetchone()[0] or 0
    return numbers


def continue_numbers(tables: Iterable[Any], last: Mapping[str, int]) -> None:
    """Let the next new row of each table get a number that no row has or had: audit events name deleted rows."""
    with connection.cursor() as cursor:
        for table, column in _numbered(tables):
            quoted = connection.ops.quote_name(table)
            cursor.execute(f"SELECT MAX({connection.ops.quote_name(column)}) FROM {quoted}")  # noqa: S608 - Django's names
            number = max(last.get(table, 0), cursor.fetchone()[0] or 0)
            if not number:
                continue
            if connection.vendor == "sqlite":
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number])
            else:
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [f'"{table}"', column, number])


def _numbered(tables: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield table and column of the models whose rows the database numbers."""
    for model in tables:
        if isinstance(model._meta.pk, models.AutoField | models.BigAutoField):
            yield model._meta.db_table, str(model._meta.pk.column)
