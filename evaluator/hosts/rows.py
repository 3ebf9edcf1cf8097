"""The stored rows of hosts."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import Case, When

from benchmark_tasks.domain.clock import database_now
from evaluator.models import Host

SILENT_AFTER: Final = timedelta(seconds=100)
"""Hosts report every 30 seconds; one that missed three reports may be gone."""
FORGOTTEN_AFTER: Final = timedelta(days=1)


def own() -> Host | None:
    """Return this host's row, if it has reported."""
    return Host.objects.filter(name=settings.ENVIRONMENT.host_name).first()


def leave() -> None:
    """Remove this host's row: it stops in order, so its silence is no problem."""
    Host.objects.filter(name=settings.ENVIRONMENT.host_name).delete()


def with_signs_of_life() -> list[tuple[Host, bool]]:
    """Return every host, and whether it reported lately, by the database's clock. One query."""
    live = Case(When(seen__gt=database_now() - SILENT_AFTER, then=True), default=False)
    return [(host, host.live) for host in Host.objects.annotate(live=live)]


def note_family(family: str) -> None:
    """Store the processor and BLAS family of this host's boxes."""
    Host.objects.filter(name=settings.ENVIRONMENT.host_name).update(family=family)
