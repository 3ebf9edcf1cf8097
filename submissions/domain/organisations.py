"""Register organisations, let accounts use their names, and confirm or revoke what systems declare."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from allauth.account.models import EmailAddress
from django.db import IntegrityError, transaction
from django.db.models import Count, F, Max, Q
from django.utils import timezone

from submissions.domain.audit import record
from submissions.domain.entitlement import live_grants, lock, organisation_named
from submissions.domain.organisation_names import folded, listed_domain, matching_domain
from submissions.domain.ownership import manages
from submissions.enums import Confirmed, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Organisation, OrganisationGrant, System, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

_LONGEST_FOLDED = 200


class InvalidOrganisationError(NotAllowedError):
    """A name or a domain cannot be registered. ``errors`` has the reasons by field."""

    def __init__(self, **errors: str) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors


class Claim(NamedTuple):
    """What is known of the organisation that a system declares.

    ``how`` and ``date`` are of its confirmation (empty and None without one), ``domain`` is the e-mail domain that
    confirmed it. ``registered`` is whether the name is that of a registered organisation.
    """

    how: str
    domain: str
    date: datetime | None
    registered: bool


class AccountGrant(NamedTuple):
    """A grant, and whether the account may use the name now: it may have lost its address, or the name its domain."""

    grant: OrganisationGrant
    usable: bool


class OrganisationCounts(NamedTuple):
    """An organisation with the numbers of its accounts, confirmed systems, and systems that use the name without."""

    organisation: Organisation
    accounts: int
    confirmed: int
    unconfirmed: int


def register(*, name: str, homepage: str, domains: Sequence[str], actor: User) -> Organisation:
    """Register an organisation's name. Systems that use it already stay unconfirmed until a maintainer confirms them.

    Raises :class:`NotAllowedError` for other users than maintainers, and :class:`InvalidOrganisationError` for a name
    that is none, or equals a registered one as compared, and for invalid domains.
    """
    _require_maintainer(actor)
    name = " ".join(name.split())
    compared, listed = folded(name), _domains(domains)
    if not compared:
        raise InvalidOrganisationError(name="Give a name with alphabetic characters or digits, other than “none”.")
    if len(compared) > _LONGEST_FOLDED:
        raise InvalidOrganisationError(name="This name is too long; give a shorter one.")
    try:
        with transaction.atomic():
            organisation = Organisation.objects.create(
                name=name, folded=compared, homepage=homepage, domains=listed, added_by=actor
            )
            data = {"domains": listed, "homepage": homepage}
            record(verb=Verb.ORGANISATION_ADDED, subject=organisation, actor=actor, data=data)
    except IntegrityError:
        known = Organisation.objects.filter(folded=compared).first()
        message = f"{known.name if known else name!r} is registered already, and the two names are compared as equal."
        raise InvalidOrganisationError(name=message) from None
    return organisation


def change(*, organisation: Organisation, homepage: str, domains: Sequence[str], actor: User) -> None:
    """Change homepage and e-mail domains. What is confirmed stays so; a removed domain allows no new uses.

    Raises as :func:`register`.
    """
    _require_maintainer(actor)
    listed = _domains(domains)
    with transaction.atomic():
        stored = Organisation.objects.select_for_update().get(pk=organisation.pk)
        after = {"domains": listed, "homepage": homepage}
        changed = {name: [getattr(stored, name), new] for name, new in after.items() if getattr(stored, name) != new}
        if not changed:
            return
        Organisation.objects.filter(pk=stored.pk).update(**after)
        record(verb=Verb.ORGANISATION_CHANGED, subject=stored, actor=actor, data={"changed": changed})
    organisation.refresh_from_db()


def remove(*, organisation: Organisation, actor: User, reason: str) -> None:
    """Remove a name that was registered by mistake, with its ended grants; the audit events stay.

    Raises :class:`NotAllowedError`, and :class:`WrongStateError` while an account may use it or a system is confirmed.
    """
    _require_maintainer(actor, reason)
    with transaction.atomic():
        stored = Organisation.objects.select_for_update().get(pk=organisation.pk)
        if stored.grants.filter(Q(ended=None) | Q(systems__isnull=False)).exists():
            msg = f"End every account's use of {stored.name!r} and revoke its confirmed systems before you remove it."
            raise WrongStateError(msg)
        data = {"domains": stored.domains, "homepage": stored.homepage}
        record(verb=Verb.ORGANISATION_REMOVED, subject=stored, actor=actor, reason=reason, data=data)
        stored.delete()


def grant(*, organisation: Organisation, account: User, actor: User, reason: str) -> OrganisationGrant:
    """Let an account use the name from now on.

    Raises :class:`NotAllowedError`, and :class:`WrongStateError` if it has a grant by hand already.
    """
    _require_maintainer(actor, reason)
    with transaction.atomic():
        lock(account)
        found, created = _granted_by_hand(organisation, account, actor, reason)
        if not created:
            raise WrongStateError(f"{account.username} may already use {organisation.name!r}.")
    return found


def end(*, organisation: Organisation, account: User, actor: User, reason: str) -> None:
    """End an account's use of the name: from now on it needs a grant by hand. Confirmed systems stay confirmed.

    Raises :class:`NotAllowedError`, and :class:`WrongStateError` if the account has no grant.
    """
    _require_maintainer(actor, reason)
    with transaction.atomic():
        lock(account)
        stored = _locked(organisation)
        if not _end(live_grants(account, stored), actor, reason):
            raise WrongStateError(f"{account.username} has no use of {stored.name!r} that could be ended.")


def end_all(*, account: User, actor: User | None) -> None:
    """End every use of a name by an account that is being erased."""
    with transaction.atomic():
        _end(OrganisationGrant.objects.filter(account=account, ended=None), actor, "The account was erased.")


def confirm(*, system: System, actor: User, reason: str) -> None:
    """Confirm the organisation that a system declares, and let its owner use the name from now on.

    The system takes the registered spelling. Raises :class:`NotAllowedError`, and :class:`WrongStateError` if the name
    is not registered, already confirmed, or of a reported system, and for a team's system whose first sender has left.
    """
    _require_maintainer(actor, reason)
    if system.owner is None:
        raise WrongStateError("This system was reported by others; its organisation is that of the publication.")
    if not manages(system.owner, system):
        raise WrongStateError(
            f"{system.owner.username} has left the team {system.team}. Let a member use the name, and have them submit "
            "with it."
        )
    with transaction.atomic():
        lock(system.owner)
        stored = System.objects.select_for_update(of=("self",), no_key=True).get(pk=system.pk)
        organisation = organisation_named(stored.organisation)
        if organisation is None:
            raise WrongStateError(f"{stored.organisation or stored.name!r} is not a registered organisation.")
        if stored.confirmation_id is not None:
            raise WrongStateError(f"{stored.name} is confirmed already.")
        stored.confirmation, _ = _granted_by_hand(organisation, system.owner, actor, reason)
        declared, stored.organisation = stored.organisation, organisation.name
        stored.save(update_fields=["confirmation", "organisation"])
        data = {"system": stored.slug, "declared": declared}
        record(verb=Verb.NAME_CONFIRMED, subject=organisation, actor=actor, reason=reason, data=data)
    system.refresh_from_db()


def revoke(*, system: System, actor: User, reason: str) -> None:
    """Revoke a system's confirmation: its organisation is self-declared again, and the account may not use the name.

    Otherwise the next submission would confirm it again. Raises :class:`NotAllowedError`, and :class:`WrongStateError`
    if it is not confirmed.
    """
    _require_maintainer(actor, reason)
    with transaction.atomic():
        used = OrganisationGrant.objects.filter(systems=system).select_related("account", "organisation").first()
        if used is not None:
            lock(used.account)
        stored = System.objects.select_for_update(of=("self",), no_key=True).get(pk=system.pk)
        if used is None or stored.confirmation_id != used.pk:
            raise WrongStateError(f"The organisation of {stored.name} is not confirmed.")
        organisation = _locked(used.organisation)
        stored.confirmation = None
        stored.save(update_fields=["confirmation"])
        data = {"system": stored.slug, "grant": used.pk}
        record(verb=Verb.NAME_REVOKED, subject=organisation, actor=actor, reason=reason, data=data)
        _end(live_grants(used.account, organisation), actor, reason)
    system.refresh_from_db()


def claim_of(system: System) -> Claim:
    """Return what is known of the organisation that a system declares. At most two queries."""
    used = system.confirmation
    if used is not None:
        return Claim(used.how, used.domain, used.created, registered=True)
    return Claim("", "", None, registered=organisation_named(system.organisation) is not None)


def with_counts(organisations: Iterable[Organisation]) -> list[OrganisationCounts]:
    """Count each organisation's accounts and systems. Three queries."""
    listed = list(organisations)
    ids = [each.pk for each in listed]
    live = OrganisationGrant.objects.filter(organisation__in=ids, ended=None).order_by()
    accounts = dict(live.values_list("organisation").annotate(Count("account", distinct=True)))
    confirmed = System.objects.filter(confirmation__organisation__in=ids).order_by()
    systems = dict(confirmed.values_list("confirmation__organisation").annotate(Count("pk")))
    unconfirmed: dict[str, int] = defaultdict(int)
    for declared, number in _unconfirmed().order_by().values_list("organisation").annotate(Count("pk")):
        unconfirmed[folded(declared)] += number
    return [
        OrganisationCounts(each, accounts.get(each.pk, 0), systems.get(each.pk, 0), unconfirmed[each.folded])
        for each in listed
    ]


def grants_of(organisation: Organisation) -> list[AccountGrant]:
    """Return every grant of the name, live ones first, then the newest first. Two queries."""
    listed = list(
        organisation.grants.select_related("account", "granted_by", "ended_by").order_by(
            F("ended").desc(nulls_first=True), "-created", "-pk"
        )
    )
    verified = EmailAddress.objects.filter(user__in={each.account_id for each in listed}, verified=True)
    by_address = {
        user for user, email in verified.values_list("user", "email") if matching_domain(email, organisation.domains)
    }
    return [
        AccountGrant(each, each.ended is None and (each.how == Confirmed.HAND or each.account_id in by_address))
        for each in listed
    ]


def unconfirmed_systems(organisation: Organisation) -> QuerySet[System]:
    """Select the systems that use the name without confirmation, by name, each with its owner and newest submission.

    Spellings are compared in Python: SQLite folds only ASCII.
    """
    spellings = _unconfirmed().order_by().values_list("organisation", flat=True).distinct()
    same = [each for each in spellings if folded(each) == organisation.folded]
    found = (
        _unconfirmed().filter(organisation__in=same).select_related("owner", "team").annotate(newest=Max("submissions"))
    )
    return found.order_by("name", "pk")


def confirmed_systems(organisation: Organisation) -> QuerySet[System]:
    """Select the systems that use the name with confirmation, by name, with owner and grant."""
    found = System.objects.filter(confirmation__organisation=organisation)
    return found.select_related("owner", "team", "confirmation__granted_by").order_by("name", "pk")


def _unconfirmed() -> QuerySet[System]:
    """Select the submitted systems with an unconfirmed organisation; reported ones have that of the publication."""
    return System.objects.filter(confirmation=None, owner__isnull=False).exclude(organisation="")


def _locked(organisation: Organisation) -> Organisation:
    return Organisation.objects.select_for_update().get(pk=organisation.pk)


def _granted_by_hand(
    organisation: Organisation, account: User, actor: User, reason: str
) -> tuple[OrganisationGrant, bool]:
    """Return the account's live grant by hand, made now if there is none, and whether it was."""
    stored = _locked(organisation)
    found = live_grants(account, stored).filter(how=Confirmed.HAND).first()
    if found is not None:
        return found, False
    made = OrganisationGrant.objects.create(
        organisation=stored, account=account, how=Confirmed.HAND, granted_by=actor, reason=reason
    )
    record(verb=Verb.NAME_GRANTED, subject=stored, actor=actor, reason=reason, data={"account": account.pk})
    return made, True


def _end(grants: QuerySet[OrganisationGrant], actor: User | None, reason: str) -> int:
    """End ``grants``, with an audit event for each organisation; return how many there were."""
    ended = list(grants.select_related("organisation"))
    grants.update(ended=timezone.now(), ended_by=actor, end_reason=reason)
    for organisation, account in {(each.organisation, each.account_id) for each in ended}:
        record(verb=Verb.NAME_ENDED, subject=organisation, actor=actor, reason=reason, data={"account": account})
    return len(ended)


def _domains(given: Sequence[str]) -> list[str]:
    """Return domains in the form in which they are compared, each once. Raises :class:`InvalidOrganisationError`."""
    listed = {text: listed_domain(text) for text in given}
    wrong = [text for text, domain in listed.items() if not domain]
    if wrong:
        named = ", ".join(map(repr, wrong))
        message = f"{named}: no e-mail domain. Write example.org, or *.example.org for its subdomains."
        raise InvalidOrganisationError(domains=message)
    return list(dict.fromkeys(listed.values()))


def _require_maintainer(actor: User, reason: str = "not needed") -> None:
    if not actor.is_staff:
        raise NotAllowedError("Only maintainers may decide who uses an organisation's name.")
    if not reason.strip():
        raise NotAllowedError("Give a reason: maintainers read it later.")
