"""Check the services that an instance uses: database, Redis, file storage, e-mail server."""

from __future__ import annotations

import secrets
import smtplib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis.exceptions import RedisError

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.domain.bucket import StorageUnavailableError, bucket
from benchmark_tasks.domain.clock import TOLERATED_SECONDS, server_time
from evaluator.hosts import grants
from evaluator.queue.pushing import opened
from leaderboard.backup.rows import unknown_migrations
from leaderboard.doctor.findings import State, failed, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.doctor.findings import Finding

OLDEST_POSTGRESQL: Final = 15
OLDEST_REDIS: Final = 5
FAILED_SECONDS: Final = 60.0
"""Two clocks that differ by more are wrong."""
MAIL_SECONDS: Final = 10
_SET_CLOCKS: Final = "Let an NTP service (chrony, systemd-timesyncd) set the clock of every host."


def clock(of: str, theirs: float, *, earliest: float, latest: float) -> Finding:
    """Compare a service's clock, read between ``earliest`` and ``latest`` on this host's."""
    name, difference = f"clock of {of}", max(earliest - theirs, theirs - latest, 0.0)
    found = f"{difference:.1f} s from this host's"
    if difference > FAILED_SECONDS:
        return failed(name, found, _SET_CLOCKS)
    return warning(name, found, _SET_CLOCKS) if difference > TOLERATED_SECONDS else ok(name, found)


def missing_sqlite_file() -> str:
    """Return the path of a SQLite file that is not there: connecting would create it. Empty on PostgreSQL."""
    file = Path(connection.settings_dict["NAME"])
    return str(file) if connection.vendor == "sqlite" and not file.is_file() else ""


def database() -> Iterator[Finding]:
    """Check the connection, the version, the migrations, and a server's clock."""
    if missing := missing_sqlite_file():
        yield failed("database", f"there is no SQLite file {missing}", "Run make setup, or correct DATABASE_URL.")
        return
    try:
        yield version()
        if role := _role():
            yield role
        if role is None or role.state is not State.FAILED:  # a role without rights cannot read the migrations either
            yield from _migrations()
        if connection.vendor == "postgresql":
            yield _database_clock()
    except DatabaseError as error:
        todo = "Start it, make room, repair it (docs/operating.md, “After a crash”), or correct DATABASE_URL."
        yield failed("database", str(error), todo)


def version() -> Finding:
    """Check the version of the database's program."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    version = connection.get_database_version()
    text = f"{connection.display_name} {'.'.join(map(str, version))}"
    if connection.vendor == "sqlite":
        file = Path(connection.settings_dict["NAME"])
        return ok("database", f"{text}, {content.size_text(file.stat().st_size)} in {file}")
    if version[0] < OLDEST_POSTGRESQL:
        return warning("database", text, f"Use PostgreSQL {OLDEST_POSTGRESQL} or newer.")
    return ok("database", text)


def _migrations() -> Iterator[Finding]:
    loader = (executor := MigrationExecutor(connection)).loader
    if missing := executor.migration_plan(loader.graph.leaf_nodes()):
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in missing[:3])
        found = f"{len(missing)} not applied: {names}{', …' if missing[3:] else ''}"
        yield failed("migrations", found, "Run make setup (or manage.py migrate) on one host.")
    newer = unknown_migrations(loader)
    if newer:
        found = f"{len(newer)} applied that this host's code does not have: {', '.join(newer[:3])}"
        yield failed("migrations", found, "Update the code on this host: another host has a newer version.")
    if not missing and not newer:
        yield ok("migrations", f"all {len(loader.applied_migrations)} applied")


def _role() -> Finding | None:
    """Compare the rights of the role of a host that only runs tests with those that it needs; None on other hosts."""
    if not grants.applies():
        return None
    name, role = "database role", grants.current_role()
    held, needed = grants.held(role), grants.needed()
    if lacking := needed - held:
        return failed(name, f"{role} lacks {grants.listed(lacking)}", grants.remedy(role))
    if more := held - needed:
        return warning(name, f"{role} may do more than running tests needs: {grants.listed(more)}", grants.REDUCE)
    return ok(name, f"{role} may do what running tests needs, and nothing else")


def _database_clock() -> Finding:
    earliest, theirs = time.time(), server_time().timestamp()
    return clock("the database", theirs, earliest=earliest, latest=time.time())


def redis() -> Iterator[Finding]:
    """Check that the queue's server answers, keeps what it gets, and has the right time."""
    try:
        with opened() as queue:
            facts = queue.connection.info()
            earliest = time.time()
            whole, millionths = queue.connection.time()
            latest = time.time()
    except RedisError as error:
        if settings.ENVIRONMENT.redis_url:
            yield failed("redis", str(error), "Start it, or correct REDIS_URL (docs/configuration.md).")
        else:
            found = "this instance's own Redis does not run, as long as the instance does not"
            yield warning("redis", found, "Start the instance: make run.")
        return
    found = f"Redis {facts['redis_version']}, {facts['used_memory_human']} used, policy {facts['maxmemory_policy']}"
    if int(facts["redis_version"].partition(".")[0]) < OLDEST_REDIS:
        yield failed("redis", found, f"Use Redis {OLDEST_REDIS} or newer.")
    elif facts["maxmemory_policy"] == "noeviction":
        yield ok("redis", found)
    else:
        todo = "Set maxmemory-policy noeviction: with other policies Redis drops waiting work when its memory is full."
        yield warning("redis", found, todo)
    yield clock("Redis", whole + millionths / 1e6, earliest=earliest, latest=latest)


def storage() -> Iterator[Finding]:
    """Store, look up, read and remove a small file, where all files are stored."""
    name, where, stored = "storage", content.where(), ""
    begun, earliest = time.monotonic(), time.time()
    try:
        try:
            stored = content.put_file(secrets.token_bytes(64))
            written, latest = content.stored_at("files", stored), time.time()
            whole = content.is_whole("files", stored)
        finally:
            if stored:
                content.remove("files", stored)
    except StorageUnavailableError as error:
        yield failed(name, str(error), "Start or repair the storage, or correct STORAGE_URL (docs/configuration.md).")
        return
    except OSError as error:
        yield failed(name, f"{where}: {error}", "Make room below DATA_DIR, and let the site's user write there.")
        return
    if not whole or written is None:
        yield failed(name, f"{where} returned other bytes than were stored", "Repair the storage.")
        return
    if problem := _not_the_sites():
        yield failed(name, problem, "Correct STORAGE_URL (docs/instance.md, “More hosts”).")
        return
    yield ok(name, f"{where}: a file was stored, read and removed in {time.monotonic() - begun:.2f} s")
    if bucket() is not None:  # it reports whole seconds
        yield clock("the bucket", written.timestamp(), earliest=earliest - 1, latest=latest)


def _not_the_sites() -> str:
    """Return why the storage is not the site's, where hosts share a database that answers."""
    if connection.vendor != "postgresql":
        return ""
    try:
        return garbage.why_not_the_sites()
    except DatabaseError:
        return ""


def mail() -> Iterator[Finding]:
    """Connect to the e-mail server and sign in, without sending anything."""
    name, url = "e-mail", settings.ENVIRONMENT.email_url
    if not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
        yield ok(name, "printed to the console" if url else "not used")
        return
    where = f"{settings.EMAIL_HOST}, port {settings.EMAIL_PORT}"
    server = get_connection(timeout=min(MAIL_SECONDS, settings.EMAIL_TIMEOUT))
    try:
        server.open()
    except (OSError, smtplib.SMTPException) as error:
        yield failed(name, f"{where}: {error}", "Start the server, or correct EMAIL_URL (docs/configuration.md).")
        return
    finally:
        server.close()
    yield ok(name, f"{where} answers{' and accepts the password' if settings.EMAIL_HOST_USER else ''}")
    if settings.DEFAULT_FROM_EMAIL.rstrip(">").endswith("@localhost"):
        found = f"the sender is {settings.DEFAULT_FROM_EMAIL}, which many servers refuse"
        yield warning(name, found, "Set DEFAULT_FROM_EMAIL to an address of yours.")
