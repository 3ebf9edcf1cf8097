"""Compare the content store with the rows: remove what no row names, and report what rows name but the store lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from django.apps import apps
from django.core.cache import cache
from django.db import models

from benchmark_tasks.domain import content
from benchmark_tasks.domain.bucket import bucket
from benchmark_tasks.domain.content import GRACE, Kind
from benchmark_tasks.domain.derived import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.domain.bucket import Bucket

BETWEEN_SWEEPS: Final = timedelta(days=1)
DERIVED_STAY: Final = timedelta(days=30)
"""Derived files are removed this long after they were made; the next use makes them again."""
_SWEPT: Final = "content-swept"
_MISSING: Final = "content-missing"


class Blob(NamedTuple):
    """One file or tree of the store."""

    kind: Kind
    found: str


class StoredBlob(NamedTuple):
    """A blob in the store, when it was last stored, and its bytes: those of its archive for a tree in a bucket."""

    blob: Blob
    modified: datetime
    size: int


@dataclass(slots=True)
class Comparison:
    """What is stored and named, and what is not both; values are the fields that name the blobs."""

    named: dict[StoredBlob, str] = field(default_factory=dict)
    unnamed: list[StoredBlob] = field(default_factory=list)
    missing: dict[Blob, str] = field(default_factory=dict)


def named() -> dict[Blob, str]:
    """Return every blob that a row names, with the first field that names it, as ``Submission.bundle``."""
    found: dict[Blob, str] = {}
    for model in apps.get_models():
        kinds: dict[str, Kind] = dict(getattr(model, "content_fields", {}))
        kinds |= {each.name: "files" for each in model._meta.fields if isinstance(each, models.FileField)}  # noqa: SLF001 - Django's documented API
        for name, kind in kinds.items():
            rows: Any = model._base_manager.exclude(**{name: ""}).order_by().values_list(name, flat=True).distinct()  # noqa: SLF001 - the same
            for each in rows.iterator():
                found.setdefault(Blob(kind, each), f"{model.__name__}.{name}")
    return found


def stored(shared: Bucket | None) -> Iterator[StoredBlob]:
    """Yield every blob of a bucket, or of the data folder (None). Raises StorageUnavailableError."""
    for kind in get_args(Kind):
        if shared is not None:
            for each in shared.listed(content.key_of(kind, "")):
                yield StoredBlob(Blob(kind, each.key.partition("/")[2]), each.modified, each.size)
            continue
        for place in (content.local_root() / kind).glob("??/*"):
            if not place.name.startswith("."):
                modified = datetime.fromtimestamp(place.stat().st_mtime, UTC)
                yield StoredBlob(Blob(kind, place.name), modified, content.size_of(place))


def compare() -> Comparison:
    """Compare store and rows, and keep what is missing for the status page. Raises StorageUnavailableError."""
    result = Comparison()
    # Listed first: a row that is written meanwhile names its blob before it is looked for below.
    listed = list(stored(bucket()))
    left = named()
    for each in listed:
        name = left.pop(each.blob, None)
        if name is None:
            result.unnamed.append(each)
        else:
            result.named[each] = name
    result.missing = {blob: name for blob, name in left.items() if not content.written(*blob)}
    cache.set(_MISSING, [[name, *blob] for blob, name in result.missing.items()], None)
    return result


def sweep() -> Comparison:
    """Remove blobs that no row has named for :data:`GRACE`, and old derived files.

    Returns the comparison that it made. Raises StorageUnavailableError.
    """
    result = compare()
    latest = datetime.now(UTC) - GRACE
    for each in result.unnamed:
        # Looked up again: it may have been stored once more since it was listed.
        written = content.written(*each.blob) if each.modified < latest else None
        if written is not None and written < latest:
            content.remove(*each.blob)
    shared = bucket()
    if shared is not None:
        oldest = datetime.now(UTC) - DERIVED_STAY
        shared.delete(each.key for each in shared.listed(PREFIX) if each.modified < oldest)
    return result


def sweep_when_due() -> None:
    """Call :func:`sweep`, which visits every stored file, once a day. Raises StorageUnavailableError; it stays due."""
    if cache.add(_SWEPT, True, int(BETWEEN_SWEEPS.total_seconds())):
        try:
            sweep()
        except BaseException:
            cache.delete(_SWEPT)
            raise


def missing() -> list[tuple[str, Blob]]:
    """Return the blobs that the last comparison missed, each with the field that names it."""
    return [(name, Blob(kind, found)) for name, kind, found in cache.get(_MISSING, [])]
