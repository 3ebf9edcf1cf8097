"""Find what an upgrade to this code, or a rollback, does to this instance, and what forbids it. Nothing is changed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import connection

from benchmark_tasks.domain.clock import database_now
from benchmark_tasks.domain.content import size_text
from evaluator.enums import ReevaluationState, RunState, WorkState
from evaluator.hosts.rows import SILENT_AFTER
from evaluator.models import AnswerRequest, Host, Judgement, Reevaluation, TestRun
from leaderboard.doctor import backups, services, site
from leaderboard.doctor.findings import failed, ok, warning
from leaderboard.settings.releases import releases
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.data_folder import only_instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from django.db.models import Model

    from leaderboard.doctor.findings import Finding
    from leaderboard.settings.releases import Release
    from leaderboard.upgrading.database import Database
    from leaderboard.upgrading.effects import Effect

_STATES: Final = (
    (TestRun, RunState.RUNNING, "test runs"),
    (AnswerRequest, WorkState.RUNNING, "requests to models"),
    (Judgement, WorkState.RUNNING, "judgements"),
    (Reevaluation, ReevaluationState.RUNNING, "re-evaluations"),
)
_NEWER: Final = (
    "Use the newer code. To go back to an older release, roll back with the newer code first: "
    "manage.py upgrade --to VERSION (docs/operating.md, “Rolling back”)."
)
_RESTORE: Final = "Restore the backup that was made before the upgrade (docs/operating.md, “Rolling back”)."


def before_upgrade(database: Database) -> Iterator[Finding]:
    """Yield what an upgrade does, in the order of the output; a failure forbids it."""
    yield _release(database)
    yield services.version()
    yield from services.redis()
    yield from site.site_settings()
    if database.newer:
        return
    done = database.effects(database.ahead())
    passed = _passed(database.release)
    reasons = _reasons(done, passed)
    for name, effects in done.items():
        yield _migration(name, effects, reasons.get(name, ""))
    yield _beside(stops=bool(reasons))
    if not done:
        return
    yield from (warning("to do", f"{each.version}: {each.todo}", "") for each in passed if each.todo)
    yield from _work()
    yield from _space(done, passed)
    yield from backups.findings()
    yield _way_back(database.release, done)


def before_rollback(database: Database, release: Release) -> Iterator[Finding]:
    """Yield what rolling back to ``release`` undoes and drops; a failure forbids it. Raises ``UpgradeError``."""
    yield ok("release", f"{database} in the database, to be rolled back to {release.version}")
    undone = database.after(release)
    for name, effects in database.effects(undone).items():
        yield _undone(name, effects)
    if undone:
        yield from (warning("rolling back", f"{each.version}: {each.rolling_back}", "") for each in _passed(release))
        yield _beside(stops=True)
        yield from _work()


def _release(database: Database) -> Finding:
    if not database.newer:
        return ok("release", f"{database} in the database, {settings.VERSION} in this code")
    found = f"the database is newer than this code, {settings.VERSION}: {len(database.newer)} unknown migrations"
    return failed("release", f"{found}, such as {', '.join(database.newer[:3])}", _NEWER)


def _passed(release: Release | None) -> Sequence[Release]:
    """Return the releases after ``release``, which an upgrade passes."""
    return releases()[releases().index(release) + 1 :] if release else releases()


def _reasons(done: dict[str, list[Effect]], passed: Sequence[Release]) -> dict[str, str]:
    """Return, by migration, why the code of the database's release cannot run beside it."""
    declared = {name: why for each in passed for name, why in each.stops.items()}
    # A contract is one for the code of the release before it only.
    fine = passed[0].contracts if len(passed) == 1 else {}
    found = {name: "; ".join(each.breaks for each in effects if each.breaks) for name, effects in done.items()}
    return {name: declared.get(name, why) for name, why in found.items() if why and name not in fine}


def _rows(table: str) -> str:
    if table not in connection.introspection.table_names():
        return table
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - a table's quoted name
        return f"{table} ({cursor.fetchone()[0]} rows)"


def _migration(name: str, effects: list[Effect], reason: str) -> Finding:
    what = "; ".join(dict.fromkeys(each.what for each in effects)) or "changes nothing in the database"
    written = ", ".join(_rows(table) for table in dict.fromkeys(each.table for each in effects if each.rewrites))
    found = f"{name} {what}{f'. Every row is written again: {written}' if written else ''}"
    return (
        warning("migration", found, f"No older code may run meanwhile: it {reason}.")
        if reason
        else ok("migration", found)
    )


def _undone(name: str, effects: list[Effect]) -> Finding:
    dropped = ", ".join(each.drops for each in effects if each.drops)
    unknown = [text for each in effects if (text := _newer_values(each))]
    found = f"{name} is undone{f': drops {dropped}' if dropped else ''}"
    if not all(each.reversible for each in effects):
        return failed("migration", f"{name} cannot be undone", _RESTORE)
    if unknown:
        todo = "The older code does not know these values, and pages that show them may fail."
        return warning("migration", f"{found}. It leaves {', '.join(unknown)}", todo)
    return ok("migration", found)


def _newer_values(effect: Effect) -> str:
    """Return how many rows have values that only newer code knows; empty if none has."""
    if not effect.values:
        return ""
    table, column = map(connection.ops.quote_name, (effect.table, effect.column))
    marks = ", ".join(["%s"] * len(effect.values))
    with connection.cursor() as cursor:
        query = f"SELECT COUNT(*) FROM {table} WHERE {column} IN ({marks})"  # noqa: S608 - quoted names
        cursor.execute(query, effect.values)
        rows = cursor.fetchone()[0]
    return f"{rows} rows of {effect.table} with the {effect.column} {' or '.join(effect.values)}" if rows else ""


def _beside(*, stops: bool) -> Finding:
    """Check that nothing runs that may not run meanwhile, and find hosts with other code."""
    name, hosts = "running", list(_live_hosts())
    live = [f"the host {host} ({of or 'an older version'})" for host, of in hosts]
    try:
        with only_instance(Path(settings.DATA_DIR)):
            pass
    except SupervisionError:
        live.insert(0, "this instance")
    running = f"now running: {', '.join(live)}" if live else "no instance and no host runs"
    if live and stops:
        todo = "Stop it on every host (Ctrl-C, SIGTERM). A host that was killed counts as running for 100 seconds."
        return failed(name, running, todo)
    if stops:
        return ok(name, running)
    beside = f"older code may run beside the new one; {running}"
    if any(of != settings.VERSION for _, of in hosts):
        return warning(name, beside, "Upgrade every host, after the site's: git pull, make host.")
    return ok(name, beside)


def _live_hosts() -> Iterator[tuple[str, str]]:
    """Yield the name and the version of each host that reported lately; older tables have no version."""
    table = Host._meta.db_table  # noqa: SLF001 - Django's documented API
    if not _has(Host):
        return
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, table)
    seen = Host.objects.filter(seen__gt=database_now() - SILENT_AFTER).order_by("name")
    if any(column.name == "version" for column in described):
        yield from seen.values_list("name", "version")
    else:
        yield from ((name, "") for name in seen.values_list("name", flat=True))


def _has(model: type[Model]) -> bool:
    return model._meta.db_table in connection.introspection.table_names()  # noqa: SLF001 - Django's documented API


def _work() -> Iterator[Finding]:
    """Count what is under way. Only the state is read: other columns may not be there yet."""
    counts = {what: model._base_manager.filter(state=state).count() for model, state, what in _STATES if _has(model)}  # noqa: SLF001 - Django's documented API
    if under_way := ", ".join(f"{number} {what}" for what, number in counts.items() if number):
        yield warning("under way", under_way, "A stop returns them to the queue, and they start again afterwards.")
    else:
        yield ok("under way", "nothing")


def _space(done: dict[str, list[Effect]], passed: Sequence[Release]) -> Iterator[Finding]:
    """Compare free space with what the migrations write."""
    data = Path(settings.DATA_DIR)
    rewritten = {each.table for effects in done.values() for each in effects if each.rewrites}
    folders = [data / name for each in passed for name in each.copies]
    needed = sum(file.stat().st_size for folder in folders for file in folder.rglob("*") if file.is_file())
    if connection.vendor == "sqlite" and rewritten:
        needed += Path(connection.settings_dict["NAME"]).stat().st_size
    free = shutil.disk_usage(data).free
    found = f"{size_text(free)} free at {data}, {size_text(needed)} needed for copies"
    yield failed("space", found, "Make room there first.") if free < needed else ok("space", found)
    if connection.vendor == "postgresql" and rewritten:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT SUM(pg_total_relation_size(quote_ident(name))) FROM unnest(%s) AS name", [[*rewritten]]
            )
            yield ok(
                "space", f"PostgreSQL needs {size_text(cursor.fetchone()[0])} free for tables that it writes again"
            )


def _way_back(release: Release | None, done: dict[str, list[Effect]]) -> Finding:
    final = [name for name, effects in done.items() if not all(each.reversible for each in effects)]
    if final or release is None:
        older = f"the database is older than {releases()[0].version}, the oldest known release"
        found = f"not possible: {', '.join(final)} cannot be undone" if final else f"not possible: {older}"
        return warning("rolling back", found, "Make a backup before you upgrade: it is the only way back.")
    todo = f"manage.py upgrade --to {release.version} with this code; it drops what the migrations add."
    return ok("rolling back", f"possible to {release.version}")._replace(todo=todo)
