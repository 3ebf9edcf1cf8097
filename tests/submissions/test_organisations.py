"""Registering organisations, granting and ending the use of their names, confirming and revoking systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import IntegrityError, transaction

from submissions.domain import entitlement, organisations
from submissions.domain.audit import history
from submissions.domain.erasure import erase
from submissions.enums import Confirmed, Verb
from submissions.exceptions import NotAllowedError, OrganisationRefusedError, WrongStateError
from submissions.models import Organisation, OrganisationGrant
from tests.at_once import at_once
from tests.submissions.factories import SubmissionFactory, SystemFactory, UserFactory
from tests.submissions.organisations import has_address, registered

if TYPE_CHECKING:
    from submissions.models import System, User

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def lab(maintainer: User) -> Organisation:
    """Example Lab, with the domain example.org."""
    return registered("Example Lab", "example.org", by=maintainer)


def use(account: User, name: str = "Example Lab") -> OrganisationGrant | None:
    with transaction.atomic():
        return entitlement.use_name(account=account, name=name)


def events(lab: Organisation) -> list[tuple[str, Any, dict[str, Any]]]:
    """Verb, actor's name and data of an organisation's events, oldest first."""
    found = [(event.verb, event.actor and event.actor.username, event.data) for event in history(lab)]
    return found[::-1]


def test_a_maintainer_registers_a_name(maintainer: User) -> None:
    made = organisations.register(
        name="  Example   Lab ", homepage="https://e.example", domains=["Example.org", "example.org"], actor=maintainer
    )
    assert (made.name, made.folded, made.domains, made.added_by) == (
        "Example Lab",
        "exampieiab",
        ["example.org"],
        maintainer,
    )
    data = {"domains": ["example.org"], "homepage": "https://e.example"}
    assert events(made) == [(Verb.ORGANISATION_ADDED, "carol", data)]


@pytest.mark.parametrize(
    ("name", "domains", "field", "words"),
    [
        ("EXAMPLE-LAB", [], "name", "'Example Lab' is registered already"),
        ("Ex\u0430mple Lab", [], "name", "'Example Lab' is registered already"),
        ("!?", [], "name", "characters or digits"),
        ("none", [], "name", "characters or digits"),
        ("\ufdfa" * 20, [], "name", "too long"),
        ("Other", ["org", "a b"], "domains", "'org', 'a b': no e-mail domain"),
    ],
)
def test_what_cannot_be_registered(
    maintainer: User, lab: Organisation, name: str, domains: list[str], field: str, words: str
) -> None:
    with pytest.raises(organisations.InvalidOrganisationError) as refused:
        organisations.register(name=name, homepage="", domains=domains, actor=maintainer)
    assert list(refused.value.errors) == [field]
    assert words in refused.value.errors[field]
    assert Organisation.objects.get() == lab


def test_only_maintainers_decide_and_with_a_reason(alice: User, bob: User, maintainer: User, lab: Organisation) -> None:
    system = SystemFactory(owner=alice, organisation="Example Lab")
    for actor, reason, words in ((alice, "Because.", "Only maintainers"), (maintainer, " ", "Give a reason")):
        by: dict[str, Any] = {"actor": actor, "reason": reason}
        for act in (
            lambda by=by: organisations.grant(organisation=lab, account=bob, **by),
            lambda by=by: organisations.end(organisation=lab, account=bob, **by),
            lambda by=by: organisations.confirm(system=system, **by),
            lambda by=by: organisations.revoke(system=system, **by),
            lambda by=by: organisations.remove(organisation=lab, **by),
        ):
            with pytest.raises(NotAllowedError, match=words):
                act()
    with pytest.raises(NotAllowedError, match="Only maintainers"):
        organisations.register(name="Mine", homepage="", domains=[], actor=alice)
    with pytest.raises(NotAllowedError, match="Only maintainers"):
        organisations.change(organisation=lab, homepage="", domains=[], actor=alice)
    assert (OrganisationGrant.objects.count(), len(events(lab))) == (0, 1)


def test_an_address_at_a_listed_domain_gives_the_right_once_it_is_verified(alice: User, lab: Organisation) -> None:
    has_address(alice, "alice@example.org", verified=False)
    with pytest.raises(OrganisationRefusedError, match="'Example Lab' is a registered organisation"):
        use(alice)
    assert "may not use its name" in entitlement.refusal(account=alice, name="example lab")
    alice.emailaddress_set.update(verified=True)
    assert entitlement.refusal(account=alice, name="example lab") == ""
    first, second = use(alice), use(alice, "EXAMPLE-LAB")
    assert first is not None
    assert first == second
    assert (first.how, first.domain, first.granted_by, first.account) == ("domain", "example.org", None, alice)
    assert events(lab)[1:] == [(Verb.NAME_GRANTED, None, {"account": alice.pk, "domain": "example.org"})]


def test_names_that_are_not_registered_need_no_right(alice: User, lab: Organisation) -> None:
    assert [use(alice, name) for name in ("", "none", "Example Laboratory", "\0")] == [None] * 4
    assert entitlement.refusal(account=alice, name="Example Laboratory") == ""


def test_the_refusal_says_what_to_do(
    alice: User, bob: User, maintainer: User, lab: Organisation, settings: Any
) -> None:
    settings.EMAIL_CONFIGURED = True
    assert entitlement.refusal(account=alice, name="Example Lab") == (
        "'Example Lab' is a registered organisation, and this account may not use its name. To use it, add and verify "
        "an e-mail address at example.org (Account, E-mail addresses), or ask a maintainer to let this account use it; "
        "or leave the organisation out."
    )
    settings.EMAIL_CONFIGURED = False
    assert "verify" not in entitlement.refusal(account=alice, name="Example Lab")
    has_address(bob, "bob@example.org")
    use(bob)
    organisations.end(organisation=lab, account=bob, actor=maintainer, reason="Left.")
    assert "a maintainer has ended that" in entitlement.refusal(account=bob, name="Example Lab")


def test_a_grant_by_hand_lasts_until_it_is_ended(alice: User, maintainer: User, lab: Organisation) -> None:
    made = organisations.grant(organisation=lab, account=alice, actor=maintainer, reason="Known.")
    assert use(alice) == made
    with pytest.raises(WrongStateError, match="alice may already use 'Example Lab'"):
        organisations.grant(organisation=lab, account=alice, actor=maintainer, reason="Again.")
    organisations.end(organisation=lab, account=alice, actor=maintainer, reason="Left.")
    with pytest.raises(OrganisationRefusedError):
        use(alice)
    with pytest.raises(WrongStateError, match="no use of 'Example Lab'"):
        organisations.end(organisation=lab, account=alice, actor=maintainer, reason="Again.")
    made.refresh_from_db()
    assert (made.reason, made.end_reason, made.ended_by, made.granted_by) == ("Known.", "Left.", maintainer, maintainer)
    assert made.ended is not None
    assert [verb for verb, *_ in events(lab)[1:]] == [Verb.NAME_GRANTED, Verb.NAME_ENDED]


def test_who_was_ended_needs_a_grant_by_hand_in_spite_of_the_address(
    alice: User, maintainer: User, lab: Organisation
) -> None:
    has_address(alice, "alice@example.org")
    use(alice)
    organisations.end(organisation=lab, account=alice, actor=maintainer, reason="Left.")
    with pytest.raises(OrganisationRefusedError, match="a maintainer has ended that"):
        use(alice)
    by_hand = organisations.grant(organisation=lab, account=alice, actor=maintainer, reason="Came back.")
    assert use(alice) == by_hand


def test_a_lost_address_or_domain_ends_new_uses_only(
    alice: User, bob: User, maintainer: User, lab: Organisation
) -> None:
    has_address(alice, "alice@example.org")
    has_address(bob, "bob@example.org")
    system = SystemFactory(owner=alice, organisation="Example Lab", confirmation=use(alice))
    use(bob)
    bob.emailaddress_set.all().delete()
    with pytest.raises(OrganisationRefusedError):
        use(bob)
    assert [(each.grant.account, each.usable) for each in organisations.grants_of(lab)] == [(bob, False), (alice, True)]
    organisations.change(organisation=lab, homepage=lab.homepage, domains=["example.net"], actor=maintainer)
    with pytest.raises(OrganisationRefusedError):
        use(alice)
    system.refresh_from_db()
    claim = organisations.claim_of(system)
    assert (claim.how, claim.domain, claim.registered) == (Confirmed.DOMAIN, "example.org", True)
    assert [each.usable for each in organisations.grants_of(lab)] == [False, False]
    assert events(lab)[-1] == (
        Verb.ORGANISATION_CHANGED,
        "carol",
        {"changed": {"domains": [["example.org"], ["example.net"]]}},
    )
    count = len(events(lab))
    organisations.change(organisation=lab, homepage=lab.homepage, domains=["example.net"], actor=maintainer)
    assert len(events(lab)) == count


def uses(alice: User, bob: User) -> tuple[System, System]:
    """Systems of Alice and Bob from before the name was registered."""
    return (
        SystemFactory(owner=alice, name="A", organisation="EXAMPLE-LAB"),
        SystemFactory(owner=bob, name="B", organisation="Ex\u0430mple lab"),
    )


def test_systems_from_before_stay_unconfirmed_until_a_maintainer_confirms_them(
    alice: User, bob: User, maintainer: User
) -> None:
    first, second = uses(alice, bob)
    SystemFactory(owner=alice, name="Other", organisation="Example Laboratory")
    SystemFactory(owner=None, name="Reported", organisation="Example Lab")
    assert organisations.claim_of(first) == ("", "", None, False)
    lab = registered("Example Lab", by=maintainer)
    newest = SubmissionFactory(owner=alice, system=first)
    unconfirmed: Any = organisations.unconfirmed_systems(lab)
    assert list(unconfirmed.values_list("name", "newest")) == [("A", newest.pk), ("B", None)]
    assert organisations.claim_of(second) == ("", "", None, True)
    organisations.confirm(system=first, actor=maintainer, reason="Their paper says so.")
    assert (first.organisation, first.organisation_confirmed) == ("Example Lab", Confirmed.HAND)
    assert first.confirmation is not None
    assert (first.confirmation.granted_by, first.confirmation.account) == (maintainer, alice)
    assert organisations.claim_of(first) == ("hand", "", first.confirmation.created, True)
    assert list(organisations.confirmed_systems(lab)) == [first]
    assert list(organisations.unconfirmed_systems(lab)) == [second]
    assert organisations.with_counts([lab]) == [(lab, 1, 1, 1)]
    assert use(alice) == first.confirmation
    second.refresh_from_db()
    assert (second.organisation, second.organisation_confirmed) == ("Ex\u0430mple lab", None)
    assert events(lab)[1:] == [
        (Verb.NAME_GRANTED, "carol", {"account": alice.pk}),
        (Verb.NAME_CONFIRMED, "carol", {"system": first.slug, "declared": "EXAMPLE-LAB"}),
    ]


def test_what_cannot_be_confirmed_or_revoked(alice: User, maintainer: User, lab: Organisation) -> None:
    mine = SystemFactory(owner=alice, organisation="Example Lab")
    others = SystemFactory(owner=None, organisation="Example Lab")
    unknown = SystemFactory(owner=alice, name="Unknown", organisation="Elsewhere")
    by: dict[str, Any] = {"actor": maintainer, "reason": "Because."}
    for system, words in ((others, "reported by others"), (unknown, "'Elsewhere' is not a registered")):
        with pytest.raises(WrongStateError, match=words):
            organisations.confirm(system=system, **by)
    with pytest.raises(WrongStateError, match="is not confirmed"):
        organisations.revoke(system=mine, **by)
    organisations.confirm(system=mine, **by)
    with pytest.raises(WrongStateError, match="is confirmed already"):
        organisations.confirm(system=mine, **by)


def test_revoking_ends_the_account_s_use_too(alice: User, maintainer: User, lab: Organisation) -> None:
    has_address(alice, "alice@example.org")
    used = use(alice)
    first = SystemFactory(owner=alice, name="A", organisation="Example Lab", confirmation=used)
    second = SystemFactory(owner=alice, name="B", organisation="Example Lab", confirmation=used)
    organisations.revoke(system=first, actor=maintainer, reason="Not theirs.")
    assert (first.organisation, first.confirmation) == ("Example Lab", None)
    second.refresh_from_db()
    assert second.confirmation == used
    with pytest.raises(OrganisationRefusedError):
        use(alice)
    assert [verb for verb, *_ in events(lab)[-2:]] == [Verb.NAME_REVOKED, Verb.NAME_ENDED]


def test_a_name_is_removed_only_when_unused(alice: User, maintainer: User, lab: Organisation) -> None:
    by: dict[str, Any] = {"actor": maintainer, "reason": "Registered by mistake."}
    system = SystemFactory(owner=alice, organisation="Example Lab")
    organisations.confirm(system=system, **by)
    with pytest.raises(WrongStateError, match="End every account's use"):
        organisations.remove(organisation=lab, **by)
    organisations.end(organisation=lab, account=alice, **by)
    with pytest.raises(WrongStateError, match="revoke its confirmed systems"):
        organisations.remove(organisation=lab, **by)
    system.confirmation = None
    system.save()
    number = lab.pk
    organisations.remove(organisation=lab, **by)
    assert (Organisation.objects.count(), OrganisationGrant.objects.count()) == (0, 0)
    lab.pk = number
    assert events(lab)[-1][0] == Verb.ORGANISATION_REMOVED
    assert use(alice) is None


def test_erasing_an_account_ends_its_use_and_keeps_what_is_confirmed(
    alice: User, maintainer: User, lab: Organisation
) -> None:
    system = SystemFactory(owner=alice, organisation="Example Lab")
    organisations.confirm(system=system, actor=maintainer, reason="Known.")
    erase(user=alice, actor=maintainer)
    system.refresh_from_db()
    assert system.confirmation is not None
    assert (system.confirmation.ended_by, system.confirmation.end_reason) == (maintainer, "The account was erased.")
    assert system.confirmation.ended is not None
    assert organisations.claim_of(system).how == Confirmed.HAND


@pytest.mark.parametrize(
    "facts",
    [
        {"how": "hand", "domain": ""},
        {"how": "hand", "domain": "example.org", "granted_by": True},
        {"how": "domain", "domain": ""},
        {"how": "domain", "domain": "example.org", "granted_by": True},
    ],
)
def test_the_database_refuses_contradictory_grants(
    alice: User, maintainer: User, lab: Organisation, facts: dict[str, Any]
) -> None:
    given = {**facts, "granted_by": maintainer if facts.get("granted_by") else None}
    with pytest.raises(IntegrityError), transaction.atomic():
        OrganisationGrant.objects.create(organisation=lab, account=alice, **given)


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_who_register_a_name_one_is_refused(maintainer: User) -> None:
    def register(name: str) -> str:
        try:
            return registered(name, by=maintainer).name
        except organisations.InvalidOrganisationError as error:
            return error.errors["name"]

    first, second = sorted(at_once(register, ["Example Lab", "EXAMPLE-LAB"]), key=len)
    assert Organisation.objects.get().name == first
    assert second == f"{first!r} is registered already, and the two names are compared as equal."


@pytest.mark.django_db(transaction=True)
def test_two_first_uses_at_once_make_one_grant(alice: User, lab: Organisation) -> None:
    has_address(alice, "alice@example.org")
    assert len(set(at_once(lambda _: use(alice), range(4)))) == 1
    assert OrganisationGrant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_grants_at_once_are_one(maintainer: User, lab: Organisation) -> None:
    account = UserFactory()

    def grant(number: int) -> str:
        try:
            organisations.grant(organisation=lab, account=account, actor=maintainer, reason=f"Reason {number}.")
        except WrongStateError as error:
            return str(error)
        return ""

    results = sorted(at_once(grant, range(2)))
    assert results == ["", f"{account.username} may already use 'Example Lab'."]
    assert OrganisationGrant.objects.filter(ended=None).count() == 1
