"""Compare the content store with the rows: remove what no row names, and report what rows name but the store lacks."""

from __future__ import annotations

import hmac
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

import structlog
from django.apps import apps
from django.core.cache import cache
from django.db import models

from benchmark_tasks.domain import content
from benchmark_tasks.domain.bucket import bucket
from benchmark_tasks.domain.content import GRACE, Kind
from benchmark_tasks.domain.derived import PREFIX
from benchmark_tasks.models import SeedEpoch, TaskRevision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.domain.bucket import Bucket

BETWEEN_SWEEPS: Final = timedelta(days=1)
DERIVED_STAY: Final = timedelta(days=30)
"""Derived files are removed this long after they were made; the next use makes them again."""
LOOKED_FOR: Final = 3
"""Number of newest task revisions that are looked for: the site's store has one of them."""
log = structlog.get_logger(__name__)
_SWEPT: Final = "content-swept"
_MISSING: Final = "content-missing"
_UNNAMED: Final = "content-unnamed"
_FOREIGN: Final = "content-foreign"
_SIZES: Final = "content-sizes"


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


def naming_fields(model: Any) -> dict[str, Kind]:
    """Return the fields of ``model`` that name blobs, with the kind of what they name."""
    kinds: dict[str, Kind] = dict(getattr(model, "content_fields", {}))
    return kinds | {each.name: "files" for each in model._meta.fields if isinstance(each, models.FileField)}  # noqa: SLF001 - Django's documented API


def named() -> dict[Blob, str]:
    """Return every blob that a row names, with the first field that names it, as ``Submission.bundle``."""
    found: dict[Blob, str] = {}
    for model in apps.get_models():
        for name, kind in naming_fields(model).items():
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
    """Compare store and rows; keep sizes, and what is missing, for the status page. Raises StorageUnavailableError."""
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
    result.missing = {blob: name for blob, name in left.items() if not content.stored_at(*blob)}
    sizes = Counter({"": sum(each.size for each in result.unnamed)})
    for each, name in result.named.items():
        sizes[name] += each.size
    cache.set(_SIZES, dict(sizes), None)
    cache.set(_MISSING, [[name, *blob] for blob, name in result.missing.items()], None)
    return result


def why_not_the_sites() -> str:
    """Return why this host's content store cannot be the site's: it has none of the newest tasks; empty if it may be.

    Raises StorageUnavailableError.
    """
    trees = TaskRevision.objects.exclude(repository_hash="").order_by("-pk").values_list("repository_hash", flat=True)
    looked_for = list(trees[:LOOKED_FOR])
    if not looked_for or any(content.stored_at("trees", each) for each in looked_for):
        return ""
    return (
        f"The content store {content.where()} has none of the tasks' files, so it is not the site's: "
        "set STORAGE_URL as on the site's host."
    )


class ForeignStoreError(Exception):
    """Raised when the content store belongs to another instance, or the database does not know which it is."""


def sweep() -> Comparison:
    """Remove blobs that sweeps have found unnamed for :data:`GRACE` and nothing has stored since; and derived files.

    Returns the comparison that it made. Raises ForeignStoreError, which keeps a wrong or empty database from emptying
    a store, and StorageUnavailableError.
    """
    result, now = compare(), datetime.now(UTC)
    require_own_store()
    before: dict[str, datetime] = cache.get(_UNNAMED, {})
    first_seen = {each.blob: before.get(content.key_of(*each.blob), now) for each in result.unnamed}
    due = {blob for blob, first in first_seen.items() if first <= now - GRACE}
    for blob in due:
        content.remove(*blob, older_than=now - GRACE)
    left = {content.key_of(*blob): first for blob, first in first_seen.items() if blob not in due}
    cache.set(_UNNAMED, left, None)
    shared = bucket()
    if shared is not None:
        shared.delete(each.key for each in shared.listed(PREFIX) if each.modified < now - DERIVED_STAY)
    return result


def require_own_store() -> None:
    """Raise ForeignStoreError unless the store is this instance's; mark it if it belongs to none yet.

    An instance is recognised by the secret of its oldest private seeds, which no operation replaces.
    """
    oldest = SeedEpoch.objects.order_by("pk").values_list("key", flat=True).first()
    if oldest is None:
        msg = "This database has no suite yet, so nothing is removed from the content store."
        raise ForeignStoreError(msg)
    if not content.claim_store(hmac.digest(oldest.encode(), b"content store", "sha256").hex()):
        msg = (
            "The content store belongs to another instance's database, so nothing is removed from it. Give each "
            "instance a bucket or prefix of its own; or, if the other is gone, delete the object "
            f"{content.OWNER_KEY!r}."
        )
        raise ForeignStoreError(msg)


def sweep_when_due() -> None:
    """Call :func:`sweep`, which visits every stored file, once a day. Raises StorageUnavailableError; it stays due."""
    if cache.add(_SWEPT, True, int(BETWEEN_SWEEPS.total_seconds())):
        try:
            sweep()
            cache.delete(_FOREIGN)
        except ForeignStoreError as error:
            cache.set(_FOREIGN, str(error), None)
            log.warning("content_not_swept", error=str(error))
        except BaseException:
            cache.delete(_SWEPT)
            raise


def why_foreign() -> str:
    """Return why the last sweep left the store alone; empty if it did not."""
    return str(cache.get(_FOREIGN, ""))


def sizes() -> dict[str, int]:
    """Return the bytes that the last comparison found, by the field that names them; empty for those without one."""
    found: dict[str, int] = cache.get(_SIZES, {})
    return found


def missing() -> list[tuple[str, Blob]]:
    """Return the blobs that the last comparison missed, each with the field that names it."""
    return [(name, Blob(kind, found)) for name, kind, found in cache.get(_MISSING, [])]
