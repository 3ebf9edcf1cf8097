"""Create, find and revoke API tokens, with which programs act for a user."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from submissions.domain.audit import record
from submissions.enums import Scope, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError, WrongStateError
from submissions.models import ApiToken, User

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX: Final = "lmr_"
"""Identifies a token to people and to scanners for leaked secrets."""
MOST_TOKENS: Final = 20
"""How many tokens one user may have, expired ones included."""
MOST_DAYS: Final = 366
_SECRET_BYTES: Final = 32
_HINT_LENGTH: Final = 8
_LAST_USED_PRECISION: Final = timedelta(minutes=1)


def make(*, owner: User, name: str, scopes: Iterable[str], days: int) -> tuple[ApiToken, str]:
    """Store a token and return it with its secret, which cannot be shown again.

    Raises :class:`QuotaExceededError` and :class:`NotAllowedError` (no or an unknown scope, a name in use).
    """
    requested = set(scopes)
    if not requested or requested - set(Scope.values) or not 1 <= days <= MOST_DAYS:
        msg = f"A token needs at least one scope of {', '.join(Scope.values)}, and a lifetime of 1 to {MOST_DAYS} days."
        raise NotAllowedError(msg)
    secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    facts = {
        "name": name,
        "hint": secret[:_HINT_LENGTH],
        "scopes": [scope for scope in Scope.values if scope in requested],
        "expires": timezone.now() + timedelta(days=days),
    }
    try:
        with transaction.atomic():
            # The row lock serialises the counts of simultaneous requests.
            User.objects.select_for_update().get(pk=owner.pk)
            if ApiToken.objects.filter(owner=owner).count() >= MOST_TOKENS:
                msg = f"You have {MOST_TOKENS} tokens, the most one account may have. Revoke one of them first."
                raise QuotaExceededError(msg)
            token = ApiToken.objects.create(owner=owner, digest=_digest(secret), **facts)
            details = {"scopes": token.scopes, "expires": token.expires.isoformat()}
            record(verb=Verb.TOKEN_MADE, subject=token, actor=owner, data=details)
    except IntegrityError:
        msg = f"You have another token called {name}; choose another name."
        raise NotAllowedError(msg) from None
    return token, secret


def revoke(*, token: ApiToken, actor: User) -> None:
    """Revoke a token at once. Raises :class:`NotAllowedError`, and :class:`WrongStateError` if it is already gone."""
    if token.owner_id != actor.pk:
        msg = "Only the owner of a token may revoke it."
        raise NotAllowedError(msg)
    with transaction.atomic():
        deleted, _ = ApiToken.objects.filter(pk=token.pk).delete()
        if not deleted:
            msg = "This token has been revoked already."
            raise WrongStateError(msg)
        record(verb=Verb.TOKEN_REVOKED, subject=token, actor=actor)


def find(secret: str) -> ApiToken | None:
    """Return the valid token of ``secret`` with its owner, or None; record its use."""
    now = timezone.now()
    valid = ApiToken.objects.filter(digest=_digest(secret), expires__gt=now, owner__is_active=True)
    token = valid.select_related("owner").first()
    if token is not None:
        # At most one write a minute, however many requests there are.
        outdated = Q(last_used=None) | Q(last_used__lte=now - _LAST_USED_PRECISION)
        ApiToken.objects.filter(outdated, pk=token.pk).update(last_used=now)
    return token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
