"""Make, find and revoke the tokens by which programs act for a person."""

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
"""By this beginning people, and programs that look for leaked secrets, recognise a token."""
MOST_TOKENS: Final = 20
"""How many tokens one person may have, expired ones included."""
MOST_DAYS: Final = 366
_SECRET_BYTES: Final = 32
_HINT_LENGTH: Final = 8
_NOTED_EVERY: Final = timedelta(minutes=1)


def make(*, owner: User, name: str, scopes: Iterable[str], days: int) -> tuple[ApiToken, str]:
    """Store a token and return it with its secret, which nobody can be shown again.

    Raises :class:`QuotaExceededError` and :class:`NotAllowedError` (no or an unknown scope, a name that is taken).
    """
    asked = set(scopes)
    if not asked or asked - set(Scope.values) or not 1 <= days <= MOST_DAYS:
        msg = f"A token needs at least one scope of {', '.join(Scope.values)}, and lasts 1 to {MOST_DAYS} days."
        raise NotAllowedError(msg)
    secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    facts = {
        "name": name,
        "hint": secret[:_HINT_LENGTH],
        "scopes": [scope for scope in Scope.values if scope in asked],
        "expires": timezone.now() + timedelta(days=days),
    }
    try:
        with transaction.atomic():
            # The row lock makes two requests at the same moment count one after the other.
            User.objects.select_for_update().get(pk=owner.pk)
            if ApiToken.objects.filter(owner=owner).count() >= MOST_TOKENS:
                msg = f"You have {MOST_TOKENS} tokens, as many as one account may. Revoke one of them first."
                raise QuotaExceededError(msg)
            token = ApiToken.objects.create(owner=owner, digest=_digest(secret), **facts)
            told = {"scopes": token.scopes, "expires": token.expires.isoformat()}
            record(verb=Verb.TOKEN_MADE, subject=token, actor=owner, data=told)
    except IntegrityError:
        msg = f"You have another token called {name}; choose another name."
        raise NotAllowedError(msg) from None
    return token, secret


def revoke(*, token: ApiToken, actor: User) -> None:
    """End a token at once. Raises :class:`NotAllowedError`, and :class:`WrongStateError` where it is gone already."""
    if token.owner_id != actor.pk:
        msg = "A token belongs to the person who made it."
        raise NotAllowedError(msg)
    with transaction.atomic():
        deleted, _ = ApiToken.objects.filter(pk=token.pk).delete()
        if not deleted:
            msg = "This token has been revoked already."
            raise WrongStateError(msg)
        record(verb=Verb.TOKEN_REVOKED, subject=token, actor=actor)


def find(secret: str) -> ApiToken | None:
    """The token of ``secret`` with its owner at hand, if it holds now; notes that it is used."""
    now = timezone.now()
    holding = ApiToken.objects.filter(digest=_digest(secret), expires__gt=now, owner__is_active=True)
    token = holding.select_related("owner").first()
    if token is not None:
        # At most one write a minute, however many requests there are.
        unnoted = Q(last_used=None) | Q(last_used__lte=now - _NOTED_EVERY)
        ApiToken.objects.filter(unnoted, pk=token.pk).update(last_used=now)
    return token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
