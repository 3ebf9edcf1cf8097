"""Find what migrations do to tables: work, what code of the release before cannot live with, what going back drops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

from django.db.migrations import operations as op
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from django.db.migrations.migration import Migration
    from django.db.models import Field

_IN_PYTHON: Final = {"auto_now", "auto_now_add", "default", "storage", "upload_to"}
"""Attributes of a field that change nothing in PostgreSQL."""
_LOOSE: Final = {*_IN_PYTHON, "db_comment", "db_default", "db_index"}
"""Attributes of a field that may change while older code runs."""
_MODELS_IN_PYTHON: Final = (op.AlterModelOptions, op.AlterModelManagers, op.AlterModelTableComment, op.RenameIndex)


@dataclass(frozen=True, slots=True)
class Effect:
    """What an operation does to a table; ``what`` continues a sentence whose subject is the migration.

    ``breaks``: why code of the release before cannot run beside it. ``rewrites``: every row is written again, here on
    the database in use. ``drops``: what going back drops. ``column`` and ``values``: choices that older code lacks.
    """

    table: str
    what: str
    breaks: str = ""
    rewrites: bool = False
    drops: str = ""
    column: str = ""
    values: tuple[str, ...] = ()
    reversible: bool = True


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an operation applies: the app, the state before it, and the database's vendor."""

    app: str
    state: ProjectState
    vendor: str

    def table(self, model: str) -> str:
        found = self.state.models.get((self.app, model.lower()))
        return str((found.options.get("db_table") if found else "") or f"{self.app}_{model.lower()}")

    def field(self, model: str, name: str) -> Field[Any, Any]:
        found: Field[Any, Any] = self.state.models[self.app, model.lower()].fields[name]
        return found


def name_of(migration: Migration) -> str:
    """Return a migration's name in :mod:`leaderboard.settings.releases`."""
    return f"{migration.app_label}.{migration.name}"


def effects(
    order: Iterable[Migration], chosen: Iterable[Migration], *, real_apps: set[str], vendor: str
) -> dict[str, list[Effect]]:
    """Return the effects of the ``chosen`` migrations by name. ``order``: these and all that come before them.

    A model that one of them creates has no rows, and no older code uses it: only its creation is an effect.
    """
    wanted = {name_of(each) for each in chosen}
    found: dict[str, list[Effect]] = {}
    created: set[tuple[str, str]] = set()
    state = ProjectState(real_apps=real_apps)
    for migration in order:
        app, name = migration.app_label, name_of(migration)
        if name in wanted:
            found[name] = list(_of_operations(migration.operations, _Place(app, state.clone(), vendor), created))
        state = migration.mutate_state(state, preserve=False)
    return found


def _of_operations(operations: Iterable[Operation], place: _Place, created: set[tuple[str, str]]) -> Iterator[Effect]:
    """Yield the effects of ``operations``, and bring ``place.state`` up to date after each."""
    for operation in operations:
        if isinstance(operation, op.SeparateDatabaseAndState):
            inner = _Place(place.app, place.state.clone(), place.vendor)
            yield from _of_operations(operation.database_operations, inner, created)
        else:
            model = getattr(operation, "model_name", getattr(operation, "name", "")) or ""
            if isinstance(operation, op.CreateModel):
                created.add((place.app, model.lower()))
            if isinstance(operation, op.CreateModel) or (place.app, model.lower()) not in created:
                yield from _of(operation, place)
        operation.state_forwards(place.app, place.state)


@singledispatch
def _of(operation: Operation, place: _Place) -> Iterator[Effect]:  # noqa: ARG001 - other operations need the place
    """Yield the effects of one operation; of those that nothing can be read from, that they may do anything."""
    if isinstance(operation, _MODELS_IN_PYTHON):
        return
    kind = type(operation).__name__
    yield Effect(
        "",
        f"runs {kind}",
        breaks=f"runs {kind}, and the check cannot read what that does",
        reversible=operation.reversible,
    )


@_of.register(op.CreateModel)
def _(operation: op.CreateModel, place: _Place) -> Iterator[Effect]:
    table = str(operation.options.get("db_table") or place.table(operation.name))
    yield Effect(table, f"creates {table}", drops=f"the table {table}")


@_of.register(op.DeleteModel)
def _(operation: op.DeleteModel, place: _Place) -> Iterator[Effect]:
    table = place.table(operation.name)
    yield Effect(table, f"drops {table}", breaks=f"drops the table {table}")


@_of.register(op.RenameModel)
@_of.register(op.AlterModelTable)
def _(operation: Any, place: _Place) -> Iterator[Effect]:
    table = place.table(getattr(operation, "old_name", operation.name))
    yield Effect(table, f"renames {table}", breaks=f"renames the table {table}")


@_of.register(op.AddField)
def _(operation: op.AddField, place: _Place) -> Iterator[Effect]:
    field, table = operation.field, place.table(operation.model_name)
    if field.many_to_many:
        yield Effect(
            f"{table}_{operation.name}",
            f"creates {table}_{operation.name}",
            drops=f"the table {table}_{operation.name}",
        )
        return
    column = f"{table}.{_column(operation.name, field)}"
    optional = field.null or field.db_default is not NOT_PROVIDED or getattr(field, "generated", False)
    breaks = "" if optional else f"adds the required column {column}, which older code does not fill in"
    plain = field.null and field.default is NOT_PROVIDED and not field.unique
    # PostgreSQL stores a constant default in its catalogue; SQLite makes the table again.
    yield Effect(
        table, f"adds {column}", breaks, rewrites=place.vendor == "sqlite" and not plain, drops=f"the column {column}"
    )


@_of.register(op.RemoveField)
def _(operation: op.RemoveField, place: _Place) -> Iterator[Effect]:
    table, field = place.table(operation.model_name), place.field(operation.model_name, operation.name)
    column = f"{table}.{_column(operation.name, field)}"
    required = not field.null and field.default is NOT_PROVIDED and field.db_default is NOT_PROVIDED
    yield Effect(
        table,
        f"drops {column}",
        breaks=f"drops the column {column}",
        rewrites=place.vendor == "sqlite",
        reversible=not required,
    )


@_of.register(op.RenameField)
def _(operation: op.RenameField, place: _Place) -> Iterator[Effect]:
    column = f"{place.table(operation.model_name)}.{operation.old_name}"
    yield Effect(place.table(operation.model_name), f"renames {column}", breaks=f"renames the column {column}")


@_of.register(op.AlterField)
def _(operation: op.AlterField, place: _Place) -> Iterator[Effect]:
    table, old, new = (
        place.table(operation.model_name),
        place.field(operation.model_name, operation.name),
        operation.field,
    )
    column = _column(operation.name, old)
    if values := _choices(new) - _choices(old):
        yield Effect(table, f"allows new values of {table}.{column}", column=column, values=tuple(sorted(values)))
    changed = _changed(old, new)
    if changed <= (_IN_PYTHON if place.vendor == "postgresql" else set()):
        return
    narrows = ", ".join(sorted(name for name in changed if _narrows(name, old, new)))
    breaks = f"changes {narrows} of the column {table}.{column}" if narrows else ""
    # PostgreSQL writes rows again for another type only; SQLite makes the table again.
    rewrites = place.vendor == "sqlite" or "type" in changed
    yield Effect(table, f"alters {table}.{column}", breaks, rewrites=rewrites)


def _choices(field: Field[Any, Any]) -> set[str]:
    return {str(value) for value, _ in field.flatchoices}


def _attributes(field: Field[Any, Any]) -> dict[str, Any]:
    """Return what a field's column depends on."""
    _, path, _, attributes = field.deconstruct()
    in_python = {*field.non_db_attrs} - {"db_column"}  # Django counts it there, and renames the column nevertheless
    return {"type": path, **{name: value for name, value in attributes.items() if name not in in_python}}


def _changed(old: Field[Any, Any], new: Field[Any, Any]) -> set[str]:
    before, after = _attributes(old), _attributes(new)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _narrows(name: str, old: Field[Any, Any], new: Field[Any, Any]) -> bool:
    """Return whether code that was written for ``old`` may fail after the attribute ``name`` became that of ``new``."""
    if name == "null":
        return not new.null
    if name == "max_length":
        return bool(new.max_length is not None and (old.max_length is None or new.max_length < old.max_length))
    return name not in _LOOSE


@_of.register(op.AddIndex)
def _(operation: op.AddIndex, place: _Place) -> Iterator[Effect]:
    table = place.table(operation.model_name)
    # AddIndexConcurrently of PostgreSQL is not atomic.
    while_built = "" if getattr(operation, "atomic", True) is False else ", during which nothing can be written"
    yield Effect(table, f"builds an index of {table}{while_built}")


@_of.register(op.RemoveIndex)
@_of.register(op.RemoveConstraint)
def _(operation: Any, place: _Place) -> Iterator[Effect]:
    table = place.table(operation.model_name)
    yield Effect(table, f"removes {operation.name} of {table}")


@_of.register(op.AddConstraint)
@_of.register(op.AlterUniqueTogether)
def _(operation: Any, place: _Place) -> Iterator[Effect]:
    table = place.table(getattr(operation, "model_name", getattr(operation, "name", "")))
    breaks = f"adds a constraint to {table} that may refuse what older code writes"
    yield Effect(table, f"adds a constraint to {table}", breaks, rewrites=place.vendor == "sqlite")


def _column(name: str, field: Field[Any, Any]) -> str:
    """Return the column of a field that is not yet a model's."""
    return field.db_column or (f"{name}_id" if field.is_relation else name)
