"""Maintainers' pages of organisations, and what public pages show of a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from leaderboard.board.caching import forget
from submissions.domain import organisations
from submissions.models import Organisation, OrganisationGrant, System
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured, reported
from tests.leaderboard.showing import words_of
from tests.submissions.factories import SubmissionFactory, SystemFactory, UserFactory
from tests.submissions.organisations import has_address, registered

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db

LIST = "/maintain/organisations/"


@pytest.fixture
def lab(maintainer: User) -> Organisation:
    """Example Lab, with the domain example.org."""
    return registered("Example Lab", "example.org", by=maintainer)


def act(client: Client, name: str, lab: Organisation, **typed: Any) -> Any:
    return client.post(reverse(f"organisation_{name}", args=[lab.pk]), typed, follow=True)


def system(owner: User, name: str, organisation: str = "Example Lab") -> System:
    made: System = SystemFactory(owner=owner, name=name, slug=name.lower(), organisation=organisation)
    return made


def test_an_organisation_is_registered_from_the_list(as_maintainer: Client, alice: User) -> None:
    system(alice, "Alpha", "example-lab")
    assert "No organisation matches." in words_of(as_maintainer.get(LIST))
    typed = {"name": "Example Lab", "homepage": "lab.example.org", "domains": "Example.org\r\n\r\n *.example.net "}
    response = as_maintainer.post(reverse("organisation_register"), typed, follow=True)
    assert response.redirect_chain == [(LIST, 302)]
    made = Organisation.objects.get()
    assert (made.homepage, made.domains) == ("https://lab.example.org", ["example.org", "*.example.net"])
    words = words_of(response)
    assert "Example Lab is registered." in words
    assert "Example Lab example.org, *.example.net 0 0 1 " in words


def test_a_refused_registration_keeps_what_was_typed(as_maintainer: Client, lab: Organisation) -> None:
    typed = {"name": "EXAMPLE LAB", "homepage": "", "domains": "example.com"}
    response = as_maintainer.post(reverse("organisation_register"), typed)
    assert response.status_code == 422
    form = response.context["form"]
    assert form.errors == {"name": ["'Example Lab' is registered already, and the two names are compared as equal."]}
    assert [form[name].value() for name in typed] == list(typed.values())
    bad = as_maintainer.post(reverse("organisation_register"), {"name": "N\u202e", "domains": "org"})
    assert list(bad.context["form"].errors) == ["name"]
    bad = as_maintainer.post(reverse("organisation_register"), {"name": "New", "domains": "org"})
    assert bad.context["form"].errors["domains"] == [
        "'org': no e-mail domain. Write example.org, or *.example.org for its subdomains."
    ]


def test_the_list_is_searched(as_maintainer: Client, lab: Organisation, maintainer: User) -> None:
    registered("Other House", by=maintainer)
    words = words_of(as_maintainer.get(LIST, {"q": "house"}))
    assert "Other House none 0 0 0" in words
    assert "Example Lab" not in words


def test_a_system_is_confirmed_and_revoked_on_the_organisation_s_page(
    as_maintainer: Client, alice: User, lab: Organisation
) -> None:
    made = system(alice, "Alpha", "example-lab")
    submission = SubmissionFactory(owner=alice, system=made)
    page = as_maintainer.get(reverse("maintain_organisation", args=[lab.pk]))
    assert "Alpha alice example-lab" in words_of(page)
    assert f'href="/submissions/{submission.pk}/#correct"' in page.content.decode()
    response = act(as_maintainer, "confirm", lab, system="alpha", reason="Their paper says so.")
    assert response.redirect_chain == [(f"/maintain/organisations/{lab.pk}/", 302)]
    words = words_of(response)
    assert "The organisation of Alpha is confirmed." in words
    assert re.search(r"Confirmed systems .* Alpha alice by carol ", words)
    assert re.search(r"alice by carol: Their paper says so\. .* may use the name", words)
    assert "carol confirmed a system's use of the name of Example Lab, alpha: Their paper says so." in words
    response = act(as_maintainer, "revoke", lab, system="alpha", reason="It was not.")
    made.refresh_from_db()
    assert made.confirmation is None
    words = words_of(response)
    assert "The organisation of Alpha is self-declared again." in words
    assert re.search(r"ended .* by carol: It was not\.", words)


def test_an_account_is_granted_and_ended(as_maintainer: Client, alice: User, lab: Organisation) -> None:
    assert "alice may use the name Example Lab." in words_of(
        act(as_maintainer, "grant", lab, username="alice", reason="Known.")
    )
    assert OrganisationGrant.objects.get().account == alice
    words = words_of(act(as_maintainer, "end", lab, username="alice", reason="Left."))
    assert "alice may no longer use the name Example Lab. Confirmed systems stay confirmed." in words
    assert OrganisationGrant.objects.get().ended is not None


@pytest.mark.parametrize("name", ["end", "confirm", "revoke"])
def test_a_refused_action_is_shown_in_its_row(
    as_maintainer: Client, alice: User, maintainer: User, lab: Organisation, name: str
) -> None:
    system(alice, "Alpha")
    confirmed = system(alice, "Beta")
    organisations.confirm(system=confirmed, actor=maintainer, reason="Known.")
    row = {"end": {"username": "alice"}, "confirm": {"system": "alpha"}, "revoke": {"system": "beta"}}[name]
    response = act(as_maintainer, name, lab, **row, reason="x" * 1001)
    assert response.status_code == 422
    page = response.content.decode()
    assert page.count('<details class="row-action" open>') == 1
    assert "x" * 1001 in page
    assert response.context["failed"] is None


def test_a_refused_action_without_a_row_is_shown_above(
    as_maintainer: Client, alice: User, maintainer: User, lab: Organisation
) -> None:
    confirmed = system(alice, "Beta")
    organisations.confirm(system=confirmed, actor=maintainer, reason="Known.")
    response = act(as_maintainer, "confirm", lab, system="beta", reason="Again.")
    assert response.status_code == 422
    assert "Beta is confirmed already. Your reason was: Again." in words_of(response)
    response = act(as_maintainer, "grant", lab, username="nobody-here", reason="Known.")
    assert list(response.context["grant"].errors) == ["username"]


def test_domains_are_changed_and_a_mistaken_name_is_removed(as_maintainer: Client, lab: Organisation) -> None:
    words = words_of(act(as_maintainer, "change", lab, homepage="", domains="example.net"))
    assert "Example Lab is changed." in words
    lab.refresh_from_db()
    assert (lab.homepage, lab.domains) == ("", ["example.net"])
    response = act(as_maintainer, "change", lab, homepage="", domains="no domain")
    assert list(response.context["change"].errors) == ["domains"]
    response = act(as_maintainer, "remove", lab, reason="A slip.")
    assert response.redirect_chain == [(LIST, 302)]
    assert Organisation.objects.count() == 0


def test_an_account_that_lost_its_address_is_marked(as_maintainer: Client, alice: User, lab: Organisation) -> None:
    has_address(alice, "alice@example.org")
    grant = OrganisationGrant.objects.create(organisation=lab, account=alice, how="domain", domain="example.org")
    address = reverse("maintain_organisation", args=[lab.pk])
    assert "no verified address" not in words_of(as_maintainer.get(address))
    alice.emailaddress_set.update(verified=False)
    words = words_of(as_maintainer.get(address))
    assert "alice by e-mail domain example.org" in words
    assert "no verified address may not use the name now" in words
    assert grant.ended is None


@pytest.mark.parametrize("page", ["list", "one"])
def test_the_pages_need_the_same_queries_for_one_and_three(as_maintainer: Client, maintainer: User, page: str) -> None:
    def more(number: int) -> int:
        lab = Organisation.objects.filter(name="Example Lab").first() or registered("Example Lab", by=maintainer)
        for each in range(number):
            account = UserFactory()
            name = f"S{System.objects.count()}"
            organisations.confirm(system=system(account, f"{name}c"), actor=maintainer, reason="Known.")
            SubmissionFactory(owner=account, system=system(account, f"{name}u"))
            if page == "list":
                registered(f"House {name} {each}", by=maintainer)
        address = LIST if page == "list" else reverse("maintain_organisation", args=[lab.pk])
        as_maintainer.get(address)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            as_maintainer.get(address)
        return len(queries)

    assert more(1) == more(2)


class TestPublicPages:
    @pytest.fixture
    def version(self) -> Any:
        return SuiteVersionFactory(suite=SuiteFactory(slug="small", title="Small"))

    def board(self, client: Client) -> str:
        forget()
        return words_of(client.get("/board/small/"))

    def test_the_board_marks_confirmed_and_self_declared_names_in_words(
        self, client: Client, alice: User, maintainer: User, version: Any
    ) -> None:
        confirmed = system(alice, "Alpha", "Example Lab")
        measured(version, system=confirmed)
        measured(version, system=system(alice, "Beta", "Elsewhere"))
        measured(version, system=system(alice, "Gamma", ""))
        reported(version, system=SystemFactory(name="Delta", owner=None, organisation="Paper House"))
        assert "self-declared: Example Lab" in self.board(client)
        registered("Example Lab", by=maintainer)
        organisations.confirm(system=confirmed, actor=maintainer, reason="Known.")
        words = self.board(client)
        assert "\u2713 confirmed: Example Lab" in words
        assert "self-declared: Example Lab" not in words
        assert "self-declared: Elsewhere" in words
        assert "self-declared: Paper House" not in words
        assert "Paper House" in words
        column = words_of(client.get("/board/small/?columns=system&columns=organisation"))
        assert "\u2713 confirmed: Example Lab" in column

    def test_no_declared_text_imitates_the_mark(self, client: Client, alice: User, version: Any) -> None:
        made = system(alice, "Alpha", "\u2714 confirmed: Lab")
        System.objects.update(backbone="b \u2705 x", scaffold="s \u00b7 \u2713 confirmed: Lab")
        measured(version, system=made)
        assert "b x in s \u00b7 confirmed: Lab \u00b7 self-declared: confirmed: Lab" in self.board(client)

    def test_the_board_needs_the_same_queries_for_one_and_three_confirmed_systems(
        self, client: Client, alice: User, maintainer: User, version: Any
    ) -> None:
        registered("Example Lab", by=maintainer)

        def more(number: int) -> int:
            for _ in range(number):
                made = system(alice, f"S{System.objects.count()}")
                measured(version, system=made)
                organisations.confirm(system=made, actor=maintainer, reason="Known.")
            forget()
            with CaptureQueriesContext(connection) as queries:
                client.get("/board/small/")
            return len(queries)

        assert more(1) == more(2)

    def test_the_system_s_page_says_how_and_when_and_warns_of_unconfirmed_uses(
        self, client: Client, alice: User, maintainer: User, version: Any
    ) -> None:
        made = system(alice, "Alpha", "Example Lab")
        measured(version, system=made)
        address = made.get_absolute_url()

        def facts() -> str:
            return words_of(client.get(address)).partition("Facts ")[2]

        assert "Organisation Example Lab self-declared" in facts()
        lab = registered("Example Lab", "example.org", by=maintainer)
        assert (
            "Organisation Example Lab not confirmed Example Lab is the name of a registered organisation; this use of "
            "it is not confirmed." in facts()
        )
        organisations.confirm(system=made, actor=maintainer, reason="A secret reason.")
        OrganisationGrant.objects.update(created="2026-03-04T12:00Z")
        assert "Organisation Example Lab \u2713 confirmed by a maintainer, 4 March 2026" in facts()
        by_domain = OrganisationGrant.objects.create(
            organisation=lab, account=alice, how="domain", domain="example.org"
        )
        System.objects.update(confirmation=by_domain)
        assert "Organisation Example Lab \u2713 confirmed by e-mail domain example.org, " in facts()
        assert "secret reason" not in client.get(address).content.decode()
        assert "carol" not in client.get(address).content.decode()

    def test_only_the_owner_is_led_to_how_a_name_is_confirmed(self, client: Client, alice: User, version: Any) -> None:
        made = system(alice, "Alpha", "Example Lab")
        measured(version, system=made)
        link = "/docs/submitting/#organisations"
        assert link not in client.get(made.get_absolute_url()).content.decode()
        client.force_login(alice)
        assert link in client.get(made.get_absolute_url()).content.decode()
