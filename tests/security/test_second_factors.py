"""Second factors: adding one, signing in with it, and what an account sees that lacks a required one."""

from __future__ import annotations

import base64
import json
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import caches
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.web.second_factor import NEXT
from submissions.domain import second_factor
from submissions.models import ApiToken, AuditEvent, User
from tests import second_factors
from tests.leaderboard.api.program import Program
from tests.reviews.factories import ReviewerFactory
from tests.second_factors import code, sign_in, with_app
from tests.submissions.factories import PASSWORD, UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import Settings

pytestmark = pytest.mark.django_db

DEEP = base64.urlsafe_b64encode(b"\x81" * 3000).decode().rstrip("=")
"""Lists in lists, in CBOR."""
CUT = {"authenticatorData": base64.urlsafe_b64encode(bytes(32) + b"\x80\0\0\0\0\x19").decode().rstrip("=")}
"""A number whose bytes are missing."""
SMALL_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["AA", "e30", "oWNmbXRkbm9uZQ"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    caches["default"].clear()
    yield
    caches["default"].clear()


@pytest.fixture
def required(settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, require_second_factor=["maintainers", "annotators"])


def signed_in(user: User) -> Client:
    """A browser in which ``user`` typed the password."""
    client = Client()
    assert client.post("/accounts/login/", {"login": user.username, "password": PASSWORD}).status_code == 302
    return client


def added(client: Client) -> list[str]:
    """Add an app through the pages; return the recovery codes."""
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    page = client.get("/accounts/2fa/totp/activate/").content.decode()
    (secret,) = re.findall(r'id="secret" type="text" readonly value="([A-Z2-7]{32})"', page)
    assert 'src="data:image/svg+xml;base64,' in page
    response = client.post("/accounts/2fa/totp/activate/", {"code": code(secret)})
    assert (response.status_code, response["Location"]) == (302, "/accounts/2fa/recovery-codes/")
    return re.findall(r"^\d{8}$", client.get(response["Location"]).content.decode().replace(">", ">\n"), re.MULTILINE)


class TestAdding:
    @pytest.mark.django_db(transaction=True)  # allauth announces a new factor after the commit
    def test_an_app_and_the_next_sign_in(self) -> None:
        ada: User = UserFactory()
        client = signed_in(ada)
        assert client.get("/accounts/2fa/totp/activate/")["Location"].startswith("/accounts/reauthenticate/")
        codes = added(client)
        assert len(codes) == 10
        assert second_factor.kinds(ada) == ["authenticator app", "recovery codes"]
        event = AuditEvent.objects.get(verb="factor_added")
        assert (event.actor, event.subject_text) == (ada, str(ada))
        again = signed_in(ada)
        assert again.get("/my/").status_code == 302
        assert again.get("/accounts/2fa/authenticate/").status_code == 200
        assert "This code is wrong" in again.post("/accounts/2fa/authenticate/", {"code": "000000"}).content.decode()
        assert again.post("/accounts/2fa/authenticate/", {"code": codes[0]})["Location"] == "/my/"
        assert again.get("/my/").status_code == 200
        third = signed_in(ada)
        assert third.post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 200
        assert third.get("/my/").status_code == 302

    def test_a_wrong_code_adds_nothing_and_keeps_the_key(self) -> None:
        ada: User = UserFactory()
        client = signed_in(ada)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        key = re.compile(r'readonly value="([A-Z2-7]{32})"')
        shown = key.findall(client.get("/accounts/2fa/totp/activate/").content.decode())
        page = client.post("/accounts/2fa/totp/activate/", {"code": "000000"}).content.decode()
        assert "This code is wrong" in page
        assert key.findall(page) == shown
        assert not Authenticator.objects.exists()

    def test_a_code_works_once(self) -> None:
        ada: User = UserFactory()
        with_app(ada)
        used = code()
        assert signed_in(ada).post("/accounts/2fa/authenticate/", {"code": used}).status_code == 302
        assert signed_in(ada).post("/accounts/2fa/authenticate/", {"code": used}).status_code == 200

    @pytest.mark.parametrize("later", [31, 45])
    def test_a_code_works_once_as_long_as_it_is_valid(self, later: int) -> None:
        ada: User = UserFactory()
        with_app(ada)
        begin = 30 * (int(time.time()) // 30)
        with time_machine.travel(begin, tick=False) as clock:
            used = format_hotp_value(hotp_value(second_factors.SECRET, begin // 30))
            assert signed_in(ada).post("/accounts/2fa/authenticate/", {"code": used}).status_code == 302
            clock.shift(later)
            assert signed_in(ada).post("/accounts/2fa/authenticate/", {"code": used}).status_code == 200

    def test_guessing_is_stopped(self) -> None:
        ada: User = UserFactory()
        with_app(ada)
        client = signed_in(ada)
        for _ in range(5):
            client.post("/accounts/2fa/authenticate/", {"code": "000000"})
        page = client.post("/accounts/2fa/authenticate/", {"code": code()}).content.decode()
        assert "Too many failed login attempts" in page
        assert client.get("/my/").status_code == 302

    def test_secrets_are_sealed_at_rest(self, settings: Settings) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=["k" * 40])
        ada: User = UserFactory()
        app = with_app(ada)
        assert second_factors.SECRET not in str(app.data)
        assert second_factor.unseal(app.data["secret"]) == second_factors.SECRET
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=["l" * 40])
        page = signed_in(ada).post("/accounts/2fa/authenticate/", {"code": code()}).content.decode()
        assert "This site can no longer read this account" in page

    def test_codes_that_another_secret_sealed_are_explained(self, settings: Settings) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=["k" * 40])
        ada: User = UserFactory()
        with_app(ada)
        client = Client()
        sign_in(client, ada, PASSWORD)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        assert client.get("/accounts/2fa/recovery-codes/").status_code == 200
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=["l" * 40])
        for page in ("", "download/", "generate/"):
            response = client.get(f"/accounts/2fa/recovery-codes/{page}")
            assert (response.status_code, response["Location"]) == (302, "/accounts/2fa/")
            shown = client.get("/accounts/2fa/").content.decode()
            assert "This site can no longer read this account&#x27;s second factor." in shown

    def test_removing_it(self) -> None:
        ada: User = UserFactory()
        client = signed_in(ada)
        added(client)
        assert client.post("/accounts/2fa/totp/deactivate/")["Location"] == "/accounts/2fa/"
        assert not Authenticator.objects.exists()
        assert AuditEvent.objects.filter(verb="factor_removed").get().actor == ada
        assert signed_in(ada).get("/my/").status_code == 200

    def test_only_own_codes_are_shown(self) -> None:
        with_app(UserFactory())
        client = signed_in(UserFactory())
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        for page in ("/accounts/2fa/recovery-codes/", "/accounts/2fa/recovery-codes/download/"):
            assert client.get(page).status_code == 404


class TestSecurityKeys:
    """What browsers never send is refused like a wrong code."""

    MALFORMED = (
        *("", "{", "[]", "1", '"x"', "null", "{}", '{"id": 1}', '{"id": "a", "rawId": "a", "response": []}'),
        '{"id": "AA", "rawId": "AA", "response": {"clientDataJSON": "AA", "attestationObject": "AA"}}',
        '{"id": "AA", "rawId": "AA", "response": {"clientDataJSON": "e30", "attestationObject": "oA"}}',
        '{"id": "AA", "rawId": "AA", "response": {"clientDataJSON": "e30", "attestationObject": "GQ"}}',
        json.dumps({"id": "AA", "rawId": "AA", "response": {"clientDataJSON": "e30", "attestationObject": DEEP}}),
        json.dumps(
            {"id": "AA", "rawId": "AA", "response": {**dict.fromkeys(("signature", "clientDataJSON"), "e30"), **CUT}}
        ),
        '{"id": "AA", "rawId": "AA", "response": {"clientDataJSON": "e30", "authenticatorData": "AA", "signature": 1}}',
    )

    @pytest.mark.parametrize("credential", MALFORMED)
    def test_malformed_data_are_refused(self, credential: str) -> None:
        ada, client = self._adding()
        page = client.post("/accounts/2fa/webauthn/add/", {"name": "My key", "credential": credential})
        assert (page.status_code, second_factor.has(ada)) == (200, False)
        with_app(ada)
        other = signed_in(ada)
        other.get("/accounts/2fa/authenticate/")
        assert other.post("/accounts/2fa/authenticate/", {"credential": credential}).status_code == 200
        assert other.get("/my/").status_code == 302

    @given(
        st.fixed_dictionaries(
            {},
            optional={
                **dict.fromkeys(("id", "rawId", "type"), SMALL_JSON),
                "clientExtensionResults": SMALL_JSON,
                "response": SMALL_JSON
                | st.fixed_dictionaries(
                    {}, optional=dict.fromkeys(("clientDataJSON", "attestationObject", "userHandle"), SMALL_JSON)
                ),
            },
        )
    )
    def test_any_json_is_refused(self, credential: object) -> None:
        ada, client = self._adding()
        client.post("/accounts/2fa/webauthn/add/", {"name": "My key", "credential": json.dumps(credential)})
        assert not second_factor.has(ada)

    def _adding(self) -> tuple[User, Client]:
        ada: User = UserFactory()
        client = signed_in(ada)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        assert client.get("/accounts/2fa/webauthn/add/").status_code == 200
        return ada, client


PAGES = (
    "/",
    "/my/",
    "/reviews/",
    "/maintain/",
    "/accounts/tokens/",
    "/accounts/data/",
    "/accounts/notices/",
    "/submit/",
)
OPEN = ("/accounts/2fa/", "/accounts/email/", "/accounts/password/change/", "/docs/", "/healthz", "/robots.txt")


def maintainer() -> User:
    user: User = UserFactory(is_staff=True)
    return user


def annotator() -> User:
    user: User = ReviewerFactory().user
    return user


ROLES = pytest.mark.parametrize("make", [maintainer, annotator])


@pytest.mark.usefixtures("required")
class TestRequired:
    @ROLES
    def test_only_the_accounts_pages_are_open(self, make: type) -> None:
        client = signed_in(make())
        for page in PAGES:
            response = client.get(page)
            assert (response.status_code, response["Location"]) == (302, "/accounts/2fa/"), page
        for page in OPEN:
            assert client.get(page).status_code == 200, page
        assert client.post("/accounts/logout/").status_code == 302

    @ROLES
    def test_no_act_is_possible(self, make: type) -> None:
        user, other = make(), UserFactory(username="bob")
        client = signed_in(user)
        quota = {"username": "bob", "daily": 99, "reason": "because"}
        assert client.post("/maintain/quota/", quota)["Location"] == "/accounts/2fa/"
        made = {"name": "t", "scopes": ["read"], "days": 1}
        assert client.post("/accounts/tokens/", made)["Location"] == "/accounts/2fa/"
        other.refresh_from_db()
        assert other.daily_submissions is None
        assert not ApiToken.objects.exists()

    @pytest.mark.django_db(transaction=True)
    @ROLES
    def test_adding_one_opens_all_and_leads_back(self, make: type) -> None:
        user = make()
        client = signed_in(user)
        client.get("/reviews/?from=mail")
        page = client.get("/accounts/2fa/").content.decode()
        assert "This site requires a second factor of" in page
        added(client)
        page = client.get("/accounts/2fa/recovery-codes/").content.decode()
        assert '<a href="/reviews/?from=mail">Continue</a>' in page
        assert client.get("/reviews/?from=mail").status_code == 200
        assert "Continue</a>" not in client.get("/accounts/2fa/recovery-codes/").content.decode()
        assert "requires" not in client.get("/accounts/2fa/").content.decode()

    @ROLES
    def test_a_session_from_before_the_factor_has_to_use_it(self, make: type) -> None:
        user = make()
        old = signed_in(user)
        with_app(user)
        assert old.get("/my/?page=2")["Location"] == "/accounts/2fa/reauthenticate/?next=%2Fmy%2F%3Fpage%3D2"
        posted = old.post("/maintain/quota/", {"username": "bob"})
        assert posted["Location"] == "/accounts/2fa/reauthenticate/?next=%2Fmy%2F"
        response = old.post("/accounts/2fa/reauthenticate/", {"code": code(), "next": "/my/"})
        assert (response["Location"], old.get("/my/").status_code) == ("/my/", 200)

    @ROLES
    @pytest.mark.parametrize(
        "page",
        [
            "/accounts/2fa/",
            "/accounts/2fa/webauthn/add/",
            "/accounts/2fa/totp/deactivate/",
            "/accounts/2fa/recovery-codes/",
            "/accounts/password/change/",
            "/accounts/email/",
            "/accounts/reauthenticate/",
        ],
    )
    def test_such_a_session_cannot_replace_the_factor(self, make: type, page: str) -> None:
        user = make()
        old = signed_in(user)
        assert old.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 302
        app = with_app(user)
        for response in (old.get(page), old.post(page, {"password": PASSWORD})):
            assert response["Location"].startswith("/accounts/2fa/reauthenticate/?next=")
        assert Authenticator.objects.filter(user=user, type="totp").get() == app

    @ROLES
    def test_signing_in_with_it_opens_all(self, make: type) -> None:
        user = make()
        with_app(user)
        client = Client()
        sign_in(client, user, PASSWORD)
        assert client.get("/my/").status_code == 200

    @ROLES
    def test_recovery_codes_alone_are_no_factor(self, make: type) -> None:
        user = make()
        with_app(user).delete()
        assert second_factor.kinds(user) == ["recovery codes"]
        assert signed_in(user).get("/my/")["Location"] == "/accounts/2fa/"

    @ROLES
    @pytest.mark.parametrize(("method", "path"), [("GET", "/me"), ("GET", "/suites"), ("GET", "/submissions")])
    def test_tokens_do_not_work_either(self, make: type, method: str, path: str) -> None:
        user = make()
        program = Program(user, "read", "label")
        response = program.send(method, path)
        assert (response.status_code, response.json()["type"]) == (403, "/docs/api/#not-allowed")
        assert (
            "and the token's owner has none. Sign in and add one on the page Two factors" in response.json()["detail"]
        )
        with_app(user)
        assert program.send(method, path).status_code == 200

    def test_a_fragment_is_no_page_to_return_to(self) -> None:
        client = signed_in(maintainer())
        assert client.get("/maintain/", headers={"HX-Request": "true"})["Location"] == "/accounts/2fa/"
        assert client.session[NEXT] == "/my/"

    def test_others_need_none(self) -> None:
        ada: User = UserFactory()
        assert signed_in(ada).get("/my/").status_code == 200
        assert Program(ada).get("/me")["username"] == ada.username
        assert Client().get("/").status_code == 200

    def test_a_role_that_has_ended_requires_none(self) -> None:
        was: User = ReviewerFactory(active=False).user
        assert signed_in(was).get("/my/").status_code == 200

    def test_a_new_role_requires_it_at_once(self) -> None:
        ada: User = UserFactory()
        client = signed_in(ada)
        assert client.get("/my/").status_code == 200
        User.objects.filter(pk=ada.pk).update(is_staff=True)
        assert client.get("/my/")["Location"] == "/accounts/2fa/"


@pytest.mark.parametrize(("setting", "closed"), [([], ()), (["maintainers"], ("m",)), (["annotators"], ("a",))])
def test_only_the_named_roles_need_one(settings: Settings, setting: list[str], closed: tuple[str, ...]) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, require_second_factor=setting)
    for name, user in (("m", maintainer()), ("a", annotator())):
        expected = 302 if name in closed else 200
        assert signed_in(user).get("/my/").status_code == expected
        assert second_factor.missing_as(user) == (setting[0] if name in closed else "")
