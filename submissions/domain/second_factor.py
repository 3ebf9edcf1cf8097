"""Require a second factor of the roles that the operator names, and list and remove an account's factors.

allauth stores the factors and checks them at sign-in. A factor is an authenticator app or a security key; recovery
codes replace a lost one, and count as none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import transaction

from submissions.domain import endpoint_keys
from submissions.domain.audit import record
from submissions.domain.maintainers import able_maintainers
from submissions.endpoints.sealing import SealError
from submissions.enums import Verb
from submissions.exceptions import WrongStateError
from submissions.models import User

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

MAINTAINERS: Final = "maintainers"
ANNOTATORS: Final = "annotators"
_KINDS: Final = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
_NAMES: Final[dict[str, str]] = {
    Authenticator.Type.TOTP: "authenticator app",
    Authenticator.Type.WEBAUTHN: "security key",
    Authenticator.Type.RECOVERY_CODES: "recovery codes",
}
_CONTEXT: Final = b"second factor"
_SEALED: Final = ("secret", "seed")
"""The members of a factor's data that are sealed: an app's secret, and the seed of recovery codes."""

_HOLDS: Final[dict[str, Callable[[User], bool]]] = {MAINTAINERS: lambda user: user.is_staff}
"""Decide whether a user holds a role. ``reviews`` adds annotators, since imports point the other way."""


class Resealed(NamedTuple):
    """Result of re-sealing all factors. ``lost`` names the accounts whose factor no configured secret opens."""

    resealed: int
    current: int
    lost: list[str]


def define_role(role: str, holds: Callable[[User], bool]) -> None:
    """Define who holds ``role``, which ``REQUIRE_SECOND_FACTOR`` can name."""
    _HOLDS[role] = holds


def has(user: User) -> bool:
    """Return whether the account has a second factor."""
    return Authenticator.objects.filter(user=user, type__in=_KINDS).exists()


def required_as(user: User | AnonymousUser) -> str:
    """Return the role for which this instance requires a second factor of ``user``; empty if it requires none."""
    if not isinstance(user, User):
        return ""
    return next((role for role in settings.ENVIRONMENT.require_second_factor if _HOLDS[role](user)), "")


def missing_as(user: User | AnonymousUser) -> str:
    """Return the role for which ``user`` needs a second factor and has none; empty if nothing is missing."""
    role = required_as(user)
    return "" if not role or has(user) else role  # type: ignore[arg-type]  # only users have roles


def maintainers_without() -> QuerySet[User]:
    """Select the maintainers who can sign in and have no second factor."""
    factors = Authenticator.objects.filter(type__in=_KINDS)
    return able_maintainers().exclude(pk__in=factors.values("user")).order_by("username")


def kinds(user: User) -> list[str]:
    """Return the names of the account's factors, and of its recovery codes, oldest first."""
    stored = Authenticator.objects.filter(user=user).order_by("pk").values_list("type", flat=True)
    return [_NAMES[kind] for kind in stored]


def remove(*, user: User, actor: User | None) -> None:
    """Remove every factor and the recovery codes, for a person who has lost them. Raises :class:`WrongStateError`."""
    with transaction.atomic():
        deleted, _ = Authenticator.objects.filter(user=user).delete()
        if not deleted:
            raise WrongStateError(f"{user.username} has no second factor.")
        record(verb=Verb.FACTOR_REMOVED, subject=user, actor=actor)


def seal(text: str) -> str:
    """Seal an app's secret or the seed of recovery codes, as endpoints' keys are sealed."""
    return endpoint_keys.sealed(text, context=_CONTEXT)


def unseal(text: str) -> str:
    """Return what :func:`seal` sealed. Raises :class:`SealError`."""
    return endpoint_keys.unsealed(text, context=_CONTEXT)


def reseal() -> Resealed:
    """Re-seal the factors that an older secret sealed with the first secret."""
    resealed, current, lost = 0, 0, []
    for pk in _sealed_factors().values_list("pk", flat=True):
        # The lock is the one that allauth takes to use a recovery code, which stores the data again.
        with transaction.atomic():
            factor = _sealed_factors().select_for_update(of=("self",)).filter(pk=pk).first()
            if factor is None:
                continue
            try:
                texts = _texts(factor)
            except SealError:
                lost.append(factor.user.username)
                continue
            if all(endpoint_keys.is_current(factor.data[name]) for name in texts):
                current += 1
                continue
            new = factor.data | {name: seal(text) for name, text in texts.items()}
            resealed += Authenticator.objects.filter(pk=pk).update(data=new)
    return Resealed(resealed, current, sorted(set(lost)))


def unreadable() -> list[str]:
    """Return the names of the accounts with a factor that no secret of this instance opens."""
    lost = set()
    for factor in _sealed_factors():
        try:
            _texts(factor)
        except SealError:
            lost.add(factor.user.username)
    return sorted(lost)


def _texts(factor: Authenticator) -> dict[str, str]:
    return {name: unseal(factor.data[name]) for name in _SEALED if name in factor.data}


def _sealed_factors() -> QuerySet[Authenticator]:
    """Select the factors with a secret; a security key has none here."""
    sealed = Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN)
    return sealed.select_related("user").order_by("pk")
