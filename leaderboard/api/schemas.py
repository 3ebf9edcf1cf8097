"""Fill the API's schemas from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ninja import Schema


def filled(schema: type[Schema], row: object, **given: Any) -> dict[str, Any]:
    """Return every field of ``schema``: as ``given``, otherwise read from ``row`` under the field's own name."""
    return {name: given[name] if name in given else getattr(row, name) for name in schema.model_fields}
