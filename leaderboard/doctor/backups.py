"""Check that there is a recent and complete backup."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.utils import timezone

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import size_text
from leaderboard.backup import places
from leaderboard.doctor.findings import ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.backup.places import Kept, Place
    from leaderboard.doctor.findings import Finding

OLD: Final = timedelta(hours=36)
"""A nightly backup has failed by then."""
SMALL: Final = 0.5
"""A backup that is smaller than this share of the one before it lacks something."""
_NAME: Final = "backups"
_TODO: Final = "Run manage.py backup every night (deploy/systemd, or docs/operating.md, “Backup”), and read its output."


def findings() -> Iterator[Finding]:
    """Check the newest backup; nothing on hosts that do not serve the site."""
    if "site" not in settings.ENVIRONMENT.pools:
        return
    place = places.configured()
    if place is None:
        todo = "Set BACKUPS to a folder on another disk, or to a bucket, and run manage.py backup every night."
        yield warning(_NAME, "BACKUPS is not set", todo)
        return
    try:
        yield _newest(place, places.kept(place))
    except (StorageUnavailableError, OSError) as error:
        yield warning(_NAME, f"{place.address} cannot be read: {error}", "Correct BACKUPS, or repair that place.")
    if isinstance(place, places.Folder) and place.path.exists():
        data = Path(settings.DATA_DIR)
        if data.exists() and data.stat().st_dev == place.path.stat().st_dev:
            todo = "Keep backups on another disk, better in another building, or copy them there."
            yield warning(_NAME, f"{place.address} is on the disk of DATA_DIR", todo)


def _newest(place: Place, kept: list[Kept]) -> Finding:
    if not kept:
        return warning(_NAME, f"there is none in {place.address}", _TODO)
    newest, *others = kept
    age = timezone.now() - newest.made
    size = size_text(newest.size)
    found = f"{len(kept)} in {place.address}; the newest is {age // timedelta(hours=1)} hours old and has {size}"
    if age > OLD:
        return warning(_NAME, found, _TODO)
    lacking = places.missing_in(place, newest.name)
    if lacking is None:
        return warning(_NAME, f"{found}, but it is incomplete", _TODO)
    if lacking:
        todo = "manage.py storage --verify lists them. Keep an older backup that has them."
        return warning(_NAME, f"{found}, but lacks {lacking} stored files", todo)
    if others and newest.size < SMALL * others[0].size:
        todo = f"Look into it with manage.py restore {newest.name} --check, and keep the older ones."
        return warning(_NAME, f"{found}, less than half of the one before it", todo)
    return ok(_NAME, found)
