"""Record audit events for signals of ``benchmark_tasks``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.dispatch import receiver

from benchmark_tasks.signals import suite_imported
from submissions.domain.audit import record
from submissions.enums import Verb

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User


@receiver(suite_imported)
def record_import(suite_version: SuiteVersion, actor: User | None, **_: Any) -> None:
    """Record who imported a new suite version; ``actor`` is None for the command line."""
    record(verb=Verb.IMPORTED, subject=suite_version, actor=actor)
