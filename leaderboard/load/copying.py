"""Insert many rows at once, with numbers given beforehand: by ``COPY`` on PostgreSQL, as one statement on SQLite.

Django's ``bulk_create`` took three times as long for millions of rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import connection, models

from leaderboard.backup.rows import continue_numbers, last_numbers, stored_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


def reserve(wanted: Mapping[type[models.Model], int]) -> dict[type[models.Model], int]:
    """Reserve so many row numbers of each model, and return the first; other rows get higher ones from now on."""
    last = last_numbers(wanted)
    tables = {model: model._meta.db_table for model in wanted}
    first = {model: last.get(table, 0) + 1 for model, table in tables.items()}
    continue_numbers(wanted, {tables[model]: first[model] + count - 1 for model, count in wanted.items()})
    return first


def copy_rows(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]], **same: Any) -> None:
    """Insert ``rows``, whose values are those of the columns ``names`` (attribute names), JSON already as text.

    All rows have the values ``same``, and the defaults of the other columns.
    """
    fields = {field.attname: field for field in stored_fields(model)}
    rest = {name: field for name, field in fields.items() if name not in names}
    constants = tuple(_plain(field, same.get(name, field.get_default())) for name, field in rest.items())
    converters = [(place, found) for place, name in enumerate(names) if (found := _converter(fields[name]))]

    def whole(row: Sequence[Any]) -> tuple[Any, ...]:
        values = list(row)
        for place, convert in converters:
            if values[place] is not None:
                values[place] = convert(values[place])
        return (*values, *constants)

    _insert(model, [fields[name] for name in (*names, *rest)], map(whole, rows))


def copy_instances(model: type[models.Model], instances: Iterable[models.Model]) -> None:
    """Insert unsaved ``instances`` that have their numbers already. No signal is sent."""
    fields = stored_fields(model)
    rows = (tuple(_plain(field, getattr(each, field.attname)) for field in fields) for each in instances)
    _insert(model, fields, rows)


def _insert(model: type[models.Model], fields: Sequence[Any], rows: Iterable[Sequence[Any]]) -> None:
    table = connection.ops.quote_name(model._meta.db_table)
    columns = ", ".join(connection.ops.quote_name(field.column) for field in fields)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(fields))
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", list(rows))  # noqa: S608 - Django's names


def _plain(field: Any, value: Any) -> Any:
    if isinstance(field, models.JSONField):
        return None if value is None and field.null else json.dumps(value)
    return field.get_db_prep_save(value, connection)


def _converter(field: Any) -> Callable[[Any], Any] | None:
    """Return how SQLite stores values of ``field``; None if as they are. PostgreSQL's driver converts all itself."""
    if connection.vendor == "sqlite" and isinstance(field, models.DateTimeField | models.UUIDField):
        return lambda value: field.get_db_prep_save(value, connection)
    return None
