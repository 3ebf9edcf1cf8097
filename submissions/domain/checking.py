"""Checking a large upload beside the request that brought it, so that nobody looks at a page that does not come.

The check runs in a thread of the web server, one at a time in each of its processes, and what it found is in the row.
A thread that died with its process is missed after a while: whoever looks at the page then starts another.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from django.db import connections
from django.db.models import Q
from django.utils import timezone

from submissions.domain.uploads import check_stored
from submissions.models import Upload

if TYPE_CHECKING:
    from submissions.answers.types import Manifest

log = structlog.get_logger(__name__)
LEASE = timedelta(minutes=3)
"""How long a check may take before it counts as lost; reading alone is ended after 90 seconds."""

_one_at_a_time = threading.BoundedSemaphore(1)


def go_on(*, upload: Upload, described: Manifest | None) -> threading.Thread | None:
    """Start the check of ``upload`` unless it is under way, done, or another one is running in this process."""
    if not _one_at_a_time.acquire(blocking=False):
        return None
    now = timezone.now()
    waiting = Q(checking_since=None) | Q(checking_since__lt=now - LEASE)
    if not Upload.objects.filter(waiting, pk=upload.pk, checked=False).update(checking_since=now):
        _one_at_a_time.release()
        return None
    thread = threading.Thread(target=_check, args=(upload.pk, described), daemon=True)
    thread.start()
    return thread


def _check(pk: int, described: Manifest | None) -> None:
    try:
        upload = Upload.objects.filter(pk=pk).first()
        if upload is not None:
            check_stored(upload=upload, described=described)
    except Exception:
        # The row stays unchecked, so the check is tried again after the lease.
        log.exception("upload_check_failed", upload=pk)
    finally:
        connections.close_all()
        _one_at_a_time.release()
