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


def find_derived(kind: str, name: str) -> Path | None:
    """Return the file ``name`` of a ``kind``, which is also its folder below ``DATA_DIR``; None if there is none."""
    place = Path(settings.DATA_DIR) / kind / name
    shared = bucket()
    if place.exists() or shared is None:
        return place if place.exists() else None

    def fetch(draft: Path) -> None:
        shared.fetch(_key(kind, name), draft)

    try:
        return _write(place, fetch)
    except NoObjectError:
        return None
    except StorageUnavailableError as error:
        log.warning("derived_not_fetched", error=str(error))
        return None


def derived(kind: str, name: str, make: Callable[[Path], None]) -> Path:
    """Return the file ``name`` of a ``kind``; if there is none, ``make`` writes it to the path that it is given."""
    found = find_derived(kind, name)
    if found is None:
        found = _write(Path(settings.DATA_DIR) / kind / name, make)
        shared = bucket()
        if shared is not None:
            try:
                shared.send(_key(kind, name), found)
            except StorageUnavailableError as error:
                log.warning("derived_not_shared", error=str(error))
    return found


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
