"""Keep files that were derived from others, such as kits and texts of papers, and share them between hosts.

Each host has its own below ``DATA_DIR``. With ``STORAGE_URL`` the bucket has them, too. They can be made again, so a
bucket that fails only costs time.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from django.conf import settings

from benchmark_tasks.domain.bucket import NoObjectError, StorageUnavailableError, bucket

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX: Final = "derived/"
log = structlog.get_logger(__name__)


def derived_here(kind: str, name: str) -> Path | None:
    """Return the file ``name`` of a ``kind`` if this host has it; ``kind`` is also its folder below ``DATA_DIR``."""
    place = Path(settings.DATA_DIR) / kind / name
    return place if place.exists() else None


def derived(kind: str, name: str, make: Callable[[Path], None]) -> Path:
    """Return the file ``name`` of a ``kind``; if there is none, ``make`` writes it to the path that it is given."""
    place, shared = Path(settings.DATA_DIR) / kind / name, bucket()
    if place.exists():
        return place
    if shared is None:
        return _write(place, make)
    try:
        return _write(place, lambda draft: shared.fetch(_key(kind, name), draft))
    except (NoObjectError, StorageUnavailableError) as error:
        log.info("derived_made", kind=kind, name=name, reason=str(error))
    made = _write(place, make)
    try:
        shared.send(_key(kind, name), made)
    except StorageUnavailableError as error:
        log.warning("derived_not_shared", error=str(error))
    return made


def _write(place: Path, make: Callable[[Path], None]) -> Path:
    draft = place.with_name(f".{secrets.token_hex(8)}")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        make(draft)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    return place


def _key(kind: str, name: str) -> str:
    return f"{PREFIX}{kind}/{name}"
