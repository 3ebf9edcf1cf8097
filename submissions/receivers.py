"""Record audit events for signals of ``benchmark_tasks`` and of allauth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.dispatch import receiver

from benchmark_tasks.signals import suite_imported
from submissions.domain.audit import record
from submissions.enums import Verb

if TYPE_CHECKING:
    from django.http import HttpRequest

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User


@receiver(suite_imported)
def record_import(suite_version: SuiteVersion, actor: User | None, **_: Any) -> None:
    """Record who imported a new suite version; ``actor`` is None for the command line."""
    record(verb=Verb.IMPORTED, subject=suite_version, actor=actor)


@receiver(authenticator_added)
def record_factor(request: HttpRequest, user: User, authenticator: Authenticator, **_: Any) -> None:
    """Record the new factor, and that this session has used it: its owner has just proved to hold it."""
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        record(verb=Verb.FACTOR_ADDED, subject=user, actor=user)
        record_authentication(request, user, "mfa", id=authenticator.pk, type=authenticator.type)


@receiver(authenticator_removed)
def record_removed_factor(user: User, authenticator: Authenticator, **_: Any) -> None:
    """Record that its owner removed a factor."""
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        record(verb=Verb.FACTOR_REMOVED, subject=user, actor=user)
