"""Save an instance as an archive, and restore it into an empty one."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final, cast

from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from benchmark_tasks.domain import content
from benchmark_tasks.domain.bucket import DamagedError
from benchmark_tasks.domain.garbage import Blob
from leaderboard.backup import rows
from leaderboard.backup.archive import FORMAT, HEAD, BackupError, Reader, Writer

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from leaderboard.backup.archive import Member
    from leaderboard.backup.rows import Node

_CONTENT: Final = re.compile(r"content/(files|trees)/([0-9a-f]{64})")
_ROWS: Final = re.compile(r"rows/([\w.]+)/\d+\.jsonl\.gz")
_OCCUPIED: Final = {"submissions_user": "accounts", "benchmark_tasks_suite": "suites"}
"""Tables with rows in every instance that is set up."""


@dataclass(slots=True)
class Summary:
    """What an archive holds: when it was made, rows by model, stored files, and those that the store lacked."""

    made: str
    counts: dict[str, int] = field(default_factory=dict)
    files: int = 0
    missing: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        total = sum(self.counts.values())
        tables = sum(bool(count) for count in self.counts.values())
        return f"{total:,} rows of {tables} tables and {self.files:,} stored files, of {self.made}"


def save(stream: IO[bytes], *, files: bool = True) -> Summary:
    """Write all rows as of one moment, and the stored files that they name unless ``files`` is false.

    The site may go on meanwhile: a stored file stays for a day after the last row that names it. Files that the store
    lacks, or that are damaged in it, are left out and listed in the result. Raises BackupError,
    StorageUnavailableError, OSError.
    """
    made = timezone.now()
    summary = Summary(made.isoformat(timespec="seconds"))
    blobs: set[Blob] = set()
    writer = Writer(stream, modified=made.timestamp())
    with _one_moment():
        nodes = rows.applied_state()
        models = rows.models_at(*rows.loader_of(nodes, database=connection))
        numbers = rows.last_numbers(models.values())
        head = {"format": FORMAT, "made": summary.made, "migrations": nodes, "files": files, "numbers": numbers}
        writer.add(HEAD, json.dumps(head).encode())
        for label, model in models.items():
            summary.counts[label] = 0
            for number, (count, packed) in enumerate(rows.chunks(model, blobs)):
                writer.add(f"rows/{label}/{number:06}.jsonl.gz", packed)
                summary.counts[label] += count
    for blob in sorted(blobs) if files else ():
        try:
            with content.packed(*blob) as file:
                writer.add(f"content/{content.key_of(*blob)}", file)
                summary.files += 1
        except (content.ContentMissingError, DamagedError):
            summary.missing.append(content.key_of(*blob))
    writer.end(missing=len(summary.missing))
    return summary


def check(stream: IO[bytes]) -> Summary:
    """Read all of an archive, and compare it with its checksum, rows with their tables, and stored files with digests.

    Needs no database. Files that rows name but the archive lacks are listed in the result. Raises BackupError if it is
    damaged or incomplete, or if this version of LMR-Board cannot restore it.
    """
    reader = Reader(stream)
    models = rows.models_at(*rows.loader_of(_migrations(reader)))
    naming = {label: rows.blob_fields(model) for label, model in models.items()}
    summary, named = _summary(reader), set[Blob]()
    for member in reader:
        if label := _model_of(member, models):
            found = rows.parsed(models[label], b"".join(member.pieces()))
            named |= {blob for row in found for blob in rows.blobs_of(row, naming[label])}
            summary.counts[label] = summary.counts.get(label, 0) + len(found)
        else:
            blob = _blob_of(member)
            if content.digest_of_packed(blob.kind, member.pieces()) != blob.found:
                raise BackupError(f"{member.name} in the backup is damaged.")
            named.discard(blob)
            summary.files += 1
    summary.missing = sorted(content.key_of(*blob) for blob in named) if reader.head.get("files") else []
    return summary


def restore(stream: IO[bytes]) -> Summary:
    """Restore an archive into an empty database and the content store, then run the migrations that it lacks.

    The rows are stored only if all of the archive can be read; otherwise the database stays empty. Raises BackupError,
    StorageUnavailableError, OSError.
    """
    reader = Reader(stream)
    _require_empty()
    loader, nodes = rows.loader_of(_migrations(reader), database=connection)
    executor = MigrationExecutor(connection)
    executor.loader = loader
    executor.migrate(nodes)
    models = rows.models_at(loader, nodes)
    summary = _summary(reader)
    try:
        with transaction.atomic():
            rows.empty(models.values())
            for member in reader:
                _restore(member, models, summary)
            rows.continue_numbers(models.values(), _numbers(reader))
    except IntegrityError as error:
        raise BackupError(f"The backup lacks rows that others refer to: {' '.join(str(error).split())}") from error
    ContentType.objects.clear_cache()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable")
    return summary


def _restore(member: Member, models: dict[str, Any], summary: Summary) -> None:
    if label := _model_of(member, models):
        count = rows.store(models[label], b"".join(member.pieces()))
        summary.counts[label] = summary.counts.get(label, 0) + count
        return
    kind, found = _blob_of(member)
    try:
        content.put_packed(kind, found, member.pieces())
    except DamagedError as error:
        raise BackupError(f"The backup is damaged: {error}") from error
    summary.files += 1


def _model_of(member: Member, models: Container[str]) -> str:
    """Return the label of the model that a member has rows of; empty for another member. Raises BackupError."""
    named = _ROWS.fullmatch(member.name)
    if named and named[1] not in models:
        raise BackupError(f"The backup has rows of {named[1]}, which its migrations do not have.")
    return named[1] if named else ""


def _blob_of(member: Member) -> Blob:
    named = _CONTENT.fullmatch(member.name)
    if named is None:
        raise BackupError(f"The backup has an unknown part, {member.name[:100]!r}.")
    return Blob(cast("Any", named[1]), named[2])


def _summary(reader: Reader) -> Summary:
    return Summary(str(reader.head.get("made", "")))


def _migrations(reader: Reader) -> list[Node]:
    try:
        return [(str(app), str(name)) for app, name in reader.head["migrations"]]
    except (KeyError, TypeError, ValueError):
        raise BackupError("This is not a whole backup: its first part names no migrations.") from None


def _numbers(reader: Reader) -> dict[str, int]:
    found = reader.head.get("numbers")
    return {str(table): int(last) for table, last in found.items()} if isinstance(found, dict) else {}


def _require_empty() -> None:
    tables = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for table, what in _OCCUPIED.items():
            if table not in tables:
                continue
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608 - a name of ours
            if cursor.fetchone():
                msg = (
                    f"The database of this instance has {what}, and a backup is restored into an empty one only. Name "
                    "an empty database in DATABASE_URL, or an empty folder in DATA_DIR, or delete this instance "
                    "(make reset)."
                )
                raise BackupError(msg)


@contextmanager
def _one_moment() -> Iterator[None]:
    """Read the database as of one moment, while others write."""
    sqlite: Any = connection if connection.vendor == "sqlite" else None
    connection.ensure_connection()
    usual = getattr(sqlite, "transaction_mode", None)
    if sqlite:
        sqlite.transaction_mode = "DEFERRED"  # an immediate transaction would keep writers out
    try:
        with transaction.atomic():
            if not sqlite:
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    finally:
        if sqlite:
            sqlite.transaction_mode = usual
