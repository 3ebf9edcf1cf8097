"""Creating, finding and revoking API tokens, and their page."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from submissions.domain import tokens
from submissions.exceptions import NotAllowedError, QuotaExceededError, WrongStateError
from submissions.models import ApiToken, AuditEvent, User

if TYPE_CHECKING:
    from django.test import Client
    from time_machine import TimeMachineFixture

pytestmark = pytest.mark.django_db


def made(owner: User, **facts: Any) -> tuple[ApiToken, str]:
    return tokens.make(owner=owner, **{"name": "CI", "scopes": ["submit", "read"], "days": 90, **facts})


def test_only_the_digest_of_a_token_is_stored(alice: User) -> None:
    token, secret = made(alice)
    assert re.fullmatch(r"lmr_[A-Za-z0-9_-]{43}", secret)
    stored = ApiToken.objects.get()
    assert (stored.digest, stored.hint) == (hashlib.sha256(secret.encode()).hexdigest(), secret[:8])
    assert stored.scopes == ["read", "submit"]
    assert timedelta(days=89, hours=23) < stored.expires - timezone.now() <= timedelta(days=90)
    event = AuditEvent.objects.get()
    assert (event.verb, event.subject_id, event.actor) == ("token_made", str(token.pk), alice)
    assert event.data == {"scopes": ["read", "submit"], "expires": stored.expires.isoformat()}
    assert secret not in repr([vars(stored), vars(event)])


def test_a_token_is_found_by_its_secret_until_it_expires(alice: User, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-11-01T12:00:00Z", tick=False)
    token, secret = made(alice, days=7)
    assert tokens.find(secret) == token
    assert [tokens.find(wrong) for wrong in ("", "lmr_", secret[:-1], secret.lower(), "lmr_\udcff")] == [None] * 5
    time_machine.move_to("2026-11-08T11:59:59Z", tick=False)
    assert tokens.find(secret) == token
    time_machine.move_to("2026-11-08T12:00:00Z", tick=False)
    assert tokens.find(secret) is None
    assert ApiToken.objects.get().expired


def test_tokens_of_closed_accounts_are_not_found(alice: User) -> None:
    _, secret = made(alice)
    User.objects.update(is_active=False)
    assert tokens.find(secret) is None


def test_use_is_recorded_once_a_minute(
    alice: User, time_machine: TimeMachineFixture, django_assert_num_queries: Any
) -> None:
    time_machine.move_to("2026-11-01T12:00:00Z", tick=False)
    _, secret = made(alice)
    with django_assert_num_queries(2):
        tokens.find(secret)
    time_machine.move_to("2026-11-01T12:00:59Z", tick=False)
    tokens.find(secret)
    assert ApiToken.objects.get().last_used.isoformat() == "2026-11-01T12:00:00+00:00"
    time_machine.move_to("2026-11-01T12:01:00Z", tick=False)
    tokens.find(secret)
    assert ApiToken.objects.get().last_used.isoformat() == "2026-11-01T12:01:00+00:00"


@pytest.mark.parametrize("facts", [{"scopes": []}, {"scopes": ["read", "rule"]}, {"days": 0}, {"days": 367}])
def test_a_token_without_scopes_or_end_is_refused(alice: User, facts: dict[str, Any]) -> None:
    with pytest.raises(
        NotAllowedError, match=r"at least one scope of read, submit, endpoints, label, notices, and a lifetime of 1 to"
    ):
        made(alice, **facts)
    assert (ApiToken.objects.count(), AuditEvent.objects.count()) == (0, 0)


def test_token_names_are_unique_per_owner(alice: User, bob: User) -> None:
    made(alice)
    made(bob)
    with pytest.raises(NotAllowedError, match="You have another token called CI; choose another name"):
        made(alice)


def test_an_account_has_a_limited_number_of_tokens(alice: User) -> None:
    for number in range(tokens.MOST_TOKENS):
        made(alice, name=str(number))
    with pytest.raises(QuotaExceededError, match="You have 20 tokens"):
        made(alice)


def test_only_its_owner_revokes_a_token_and_only_once(alice: User, maintainer: User) -> None:
    token, secret = made(alice)
    with pytest.raises(NotAllowedError):
        tokens.revoke(token=token, actor=maintainer)
    assert tokens.find(secret) == token
    tokens.revoke(token=token, actor=alice)
    assert tokens.find(secret) is None
    event = AuditEvent.objects.first()
    assert (event.verb, event.subject_id, event.subject_text) == ("token_revoked", str(token.pk), str(token))
    with pytest.raises(WrongStateError):
        tokens.revoke(token=token, actor=alice)


def test_the_page_shows_a_secret_once(as_alice: Client, bob: User) -> None:
    made(bob, name="of Bob")
    address = reverse("tokens")
    page = as_alice.post(address, {"name": "Otter", "scopes": ["read"], "days": "7"}).content.decode()
    found = re.search(r'value="(lmr_[^"]+)"', page)
    assert found is not None
    token = tokens.find(found[1])
    assert token is not None
    assert (token.owner.username, token.name, token.scopes) == ("alice", "Otter", ["read"])
    again = as_alice.get(address)
    assert found[1] not in again.content.decode()
    assert "no-store" in again.headers["Cache-Control"]
    assert "Otter" in again.content.decode()
    assert "of Bob" not in again.content.decode()


def test_the_page_shows_errors_and_keeps_the_input(as_alice: Client, alice: User) -> None:
    made(alice)
    address = reverse("tokens")
    response = as_alice.post(address, {"name": "CI", "scopes": ["read"], "days": "30"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "You have another token called CI" in page
    assert '<option value="30" selected>' in page
    nothing = as_alice.post(address, {"name": "a\u202eb", "days": "1000"})
    assert nothing.status_code == 422
    assert list(nothing.context["form"].errors) == ["name", "scopes", "days"]
    assert ApiToken.objects.count() == 1


def test_revoking_on_the_page(as_alice: Client, alice: User, bob: User) -> None:
    mine, other = made(alice)[0], made(bob)[0]
    assert as_alice.post(reverse("token_revoke", args=[other.pk])).status_code == 404
    response = as_alice.post(reverse("token_revoke", args=[mine.pk]), follow=True)
    assert response.redirect_chain == [(reverse("tokens"), 302)]
    assert "CI is revoked." in response.content.decode()
    assert list(ApiToken.objects.all()) == [other]
