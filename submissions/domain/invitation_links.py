"""The links of invitations: make, find, use and revoke them."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from django.utils import timezone

from submissions.models import InvitationLink

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from submissions.models import User

INVITATION_DAYS: Final = 14
_SECRET_BYTES: Final = 32
_Link = TypeVar("_Link", bound=InvitationLink)


def make(links: type[_Link], *, actor: User, **facts: Any) -> tuple[_Link, str]:
    """Store a link and return it with its secret, which is not stored."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    expires = timezone.now() + timedelta(days=INVITATION_DAYS)
    link = links._default_manager.create(secret_digest=_digest(secret), created_by=actor, expires=expires, **facts)  # noqa: SLF001 - Django's documented API
    return link, secret


def find(links: QuerySet[_Link], secret: str) -> _Link | None:
    """Return the link with this secret, used or not."""
    return links.filter(secret_digest=_digest(secret)).first()


def problem_with(link: InvitationLink) -> str:
    """Return why a link can no longer be accepted, and what to do; empty if it can."""
    if link.used is not None:
        return "This invitation has been used: each link works once. Ask its sender for another."
    if link.revoked is not None:
        return "This invitation was revoked. Ask its sender for another if that was a mistake."
    if link.expires <= timezone.now():
        return f"This invitation has expired: links last {INVITATION_DAYS} days. Ask its sender for another."
    return ""


def use(link: InvitationLink, **user: Any) -> bool:
    """Mark a link as used by ``used_by``; return false if it is used, revoked or expired. Updates ``link``."""
    now = timezone.now()
    valid = _unused(link).filter(expires__gt=now)
    done = bool(valid.update(used=now, **user))
    link.refresh_from_db()
    return done


def revoke(link: InvitationLink) -> bool:
    """Revoke an unused link; return false if it is used or revoked."""
    return bool(_unused(link).update(revoked=timezone.now()))


def _unused(link: InvitationLink) -> QuerySet[Any]:
    return type(link)._default_manager.filter(pk=link.pk, used=None, revoked=None)  # noqa: SLF001 - Django's documented API


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
