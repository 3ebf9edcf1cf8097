"""Check uploads in a worker: pages only store a file, and show the result after the check."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from django.db.models import F, Max, Q

from benchmark_tasks.domain.bucket import DamagedError, StorageUnavailableError
from benchmark_tasks.domain.clock import database_now
from benchmark_tasks.domain.content import put_file
from submissions.answers.contents import BundleError, refuse
from submissions.domain.uploads import CheckedBundle, checked_bundle, described_by_upload, for_account, run_check
from submissions.models import Upload

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

log = structlog.get_logger(__name__)
LEASE = timedelta(minutes=5)
"""How long until a check's worker counts as lost; the checking process itself is ended after three minutes."""
TRIES = 3
"""How often a check is attempted before it is reported as an infrastructure error."""


def check_next() -> bool:
    """Check the next upload; return false if none can be checked now, or all their owners have one being checked."""
    upload = _claim()
    if upload is None:
        return False
    with structlog.contextvars.bound_contextvars(upload=upload.pk):
        try:
            _check(upload)
        except Exception as error:
            # The sweep queues it again until its tries are used up; an outage of the storage uses up none.
            away = isinstance(error, StorageUnavailableError) and not isinstance(error, DamagedError)
            _of_claim(upload).update(checking_since=None, tries=upload.tries - away)
            log.warning("upload_check_failed", error=str(error), exc_info=not away)
            return not away
    return True


def waiting() -> int:
    """Return how many uploads wait for a check."""
    return _due().filter(tries__lt=TRIES).count()


def oldest_waiting() -> datetime | None:
    """Return when the upload that waits longest for a check was made."""
    return _due().filter(tries__lt=TRIES).order_by("created").values_list("created", flat=True).first()


def sweep() -> None:
    """Report checks whose tries are used up as infrastructure errors."""
    for upload in _due().filter(tries__gte=TRIES):
        message = (
            f"An infrastructure error ended the check of this file {upload.tries} times; the file may be fine. Check "
            "it again; if that does not help, contact the maintainers of this site."
        )
        report = CheckedBundle(problems=(refuse(message),)).report() | {"infrastructure_error": True}
        _of_claim(upload).update(report=report, checked=True)


def _due() -> QuerySet[Upload]:
    lost = Q(checking_since__lt=database_now() - LEASE)
    return Upload.objects.filter(Q(checking_since=None) | lost, checked=False)


def _claim() -> Upload | None:
    """Claim the next upload for a check. One user's uploads are checked one at a time.

    The user whose last check is longest ago comes first, so that one user's many slow files do not delay others.
    """
    busy = Upload.objects.filter(checked=False, checking_since__gte=database_now() - LEASE).values("owner")
    due = _due().filter(tries__lt=TRIES).exclude(owner__in=busy)
    due = due.annotate(last_check=Max("owner__uploads__checking_since"))
    for upload in due.order_by(F("last_check").asc(nulls_first=True), "created"):
        if _of_claim(upload).update(checking_since=database_now(), tries=F("tries") + 1):
            upload.refresh_from_db()
            return upload
    return None


def _of_claim(upload: Upload) -> QuerySet[Upload]:
    """Select the row, unless it was discarded, claimed by another worker or changed since it was read."""
    return Upload.objects.filter(pk=upload.pk, checking_since=upload.checking_since, tries=upload.tries, checked=False)


def _check(upload: Upload) -> None:
    kept = b""
    try:
        kept = run_check(path=Path(upload.file.path), described=described_by_upload(upload))
        checked = for_account(checked_bundle(kept), upload.owner)
    except BundleError as error:
        checked, kept = CheckedBundle(problems=tuple(error.problems)), b""
    # Changes nothing if it was discarded meanwhile.
    _of_claim(upload).update(report=checked.report(), result=put_file(kept) if kept else "", checked=True)
