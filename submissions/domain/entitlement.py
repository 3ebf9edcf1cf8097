"""Decide which accounts may use the names of registered organisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.account.models import EmailAddress
from django.conf import settings

from submissions.domain.audit import record
from submissions.domain.organisation_names import folded, matching_domain
from submissions.enums import Confirmed, Verb
from submissions.exceptions import OrganisationRefusedError
from submissions.models import Organisation, OrganisationGrant, User

if TYPE_CHECKING:
    from django.db.models import QuerySet


def organisation_named(name: str) -> Organisation | None:
    """Return the registered organisation whose name equals ``name`` as compared (``folded``); None if there is none."""
    compared = folded(name)
    return Organisation.objects.filter(folded=compared).first() if compared else None


def live_grants(account: User, organisation: Organisation) -> QuerySet[OrganisationGrant]:
    """Select an account's grants of one name that have not ended."""
    return OrganisationGrant.objects.filter(account=account, organisation=organisation, ended=None)


def refusal(*, account: User, name: str) -> str:
    """Return why ``account`` may not use the organisation's ``name``; empty if it may, or if it is not registered."""
    organisation = organisation_named(name)
    if organisation is None or _granted_by_hand(account, organisation) or _domain_of(account, organisation):
        return ""
    return _why(account, organisation)


def remark_on(name: str) -> str:
    """Return a remark for an account that is not known; empty if the name is not registered."""
    organisation = organisation_named(name)
    if organisation is None:
        return ""
    return (
        f"{organisation.name!r} is a registered organisation: only accounts that may use its name can submit with it."
    )


def lock(account: User) -> None:
    """Lock an account. Each change of what uses a name locks it before the organisation, so that none deadlock."""
    User.objects.select_for_update(no_key=True).get(pk=account.pk)


def use_name(*, account: User, name: str) -> OrganisationGrant | None:
    """Return the grant by which ``account`` uses a registered name; None if the name is not registered.

    Call it inside the transaction that stores the name. The first use by an e-mail domain makes the grant. Raises
    :class:`OrganisationRefusedError` if the account may not use it.
    """
    if not folded(name):
        return None
    lock(account)
    organisation = Organisation.objects.select_for_update(no_key=True).filter(folded=folded(name)).first()
    if organisation is None:
        return None
    found = _granted_by_hand(account, organisation)
    if found is not None:
        return found
    domain = _domain_of(account, organisation)
    if not domain:
        raise OrganisationRefusedError(_why(account, organisation))
    grant, created = live_grants(account, organisation).get_or_create(
        how=Confirmed.DOMAIN, domain=domain, defaults={"account": account, "organisation": organisation}
    )
    if created:
        record(verb=Verb.NAME_GRANTED, subject=organisation, actor=None, data={"account": account.pk, "domain": domain})
    return grant


def _granted_by_hand(account: User, organisation: Organisation) -> OrganisationGrant | None:
    return live_grants(account, organisation).filter(how=Confirmed.HAND).first()


def _domain_of(account: User, organisation: Organisation) -> str:
    """Return the organisation's domain at which the account has a verified address; empty if there is none.

    An account whose use a maintainer has ended needs a grant by hand from then on.
    """
    if _is_barred(account, organisation):
        return ""
    addresses = EmailAddress.objects.filter(user=account, verified=True).order_by("-primary", "pk")
    found = (matching_domain(email, organisation.domains) for email in addresses.values_list("email", flat=True))
    return next(filter(None, found), "")


def _is_barred(account: User, organisation: Organisation) -> bool:
    return OrganisationGrant.objects.filter(account=account, organisation=organisation, ended__isnull=False).exists()


def _why(account: User, organisation: Organisation) -> str:
    contact = settings.ENVIRONMENT.contact
    ask = f"ask a maintainer{f' ({contact})' if contact else ''} to let this account use it"
    whose = f"{organisation.name!r} is a registered organisation, and this account may not use its name"
    if _is_barred(account, organisation):
        return f"{whose}: a maintainer has ended that. To use it, {ask}; or leave the organisation out."
    domains = " or ".join(organisation.domains) if settings.EMAIL_CONFIGURED else ""
    verify = f"add and verify an e-mail address at {domains} (Account, E-mail addresses), or " if domains else ""
    return f"{whose}. To use it, {verify}{ask}; or leave the organisation out."
