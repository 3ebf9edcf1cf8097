"""Sign-in by GitHub and ORCID, from the button to the account, with a local server in the providers' place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.socialaccount.providers.github.views import GitHubOAuth2Adapter
from allauth.socialaccount.providers.orcid.views import OrcidOAuth2Adapter
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client

from leaderboard.settings.sign_in import sign_in_origins, sign_in_providers
from submissions.models import User
from tests.sign_in_server import CODE, IDENTIFIER, TOKEN, SignInServer
from tests.submissions.factories import PASSWORD, UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import Settings

pytestmark = pytest.mark.django_db
PROVIDERS = ["github", "orcid"]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[SignInServer]:
    """Both providers with keys, at the address of the double."""
    keys = {f"{name}_client_{part}": f"client-{part}" for name in PROVIDERS for part in ("id", "secret")}
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **keys)
    settings.SOCIALACCOUNT_PROVIDERS = sign_in_providers(settings.ENVIRONMENT)
    with SignInServer() as server:
        token = f"{server.address}/login/oauth/access_token"
        for adapter in (GitHubOAuth2Adapter, OrcidOAuth2Adapter):
            monkeypatch.setattr(adapter, "access_token_url", token)
        monkeypatch.setattr(GitHubOAuth2Adapter, "profile_url", f"{server.address}/api/v3/user")
        monkeypatch.setattr(GitHubOAuth2Adapter, "emails_url", f"{server.address}/api/v3/user/emails")
        monkeypatch.setattr(OrcidOAuth2Adapter, "profile_url", f"{server.address}/v3.0/%s/record")
        yield server


def started(client: Client, name: str, query: str = "process=login") -> dict[str, str]:
    """Press the button and return what the browser takes to the provider."""
    response = client.post(f"/accounts/{name}/login/?{query}")
    assert response.status_code == 302
    return {key: values[0] for key, values in parse_qs(urlsplit(response["Location"]).query).items()}


def returned(client: Client, name: str, query: str = "process=login") -> Any:
    """Press the button, consent at the provider, and return the site's answer to the way back."""
    state = started(client, name, query)["state"]
    return client.get(f"/accounts/{name}/login/callback/", {"code": CODE, "state": state})


def confirmed(client: Client) -> None:
    """Type the password once more, as connecting demands."""
    assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 302


def connected(user: User, name: str = "github", uid: str = "4711") -> SocialAccount:
    account: SocialAccount = SocialAccount.objects.create(user=user, provider=name, uid=uid)
    return account


class TestWithoutKeys:
    def test_no_button_and_no_address_leads_to_a_provider(self, client: Client) -> None:
        for page in ("/accounts/login/", "/accounts/signup/"):
            assert "3rdparty" not in client.get(page).content.decode()
            assert "GitHub" not in client.get(page).content.decode()
        for name in PROVIDERS:
            for address in (f"/accounts/{name}/login/", f"/accounts/{name}/login/callback/"):
                assert client.get(address).status_code == 404
                assert client.post(address).status_code == 404

    def test_one_provider_with_keys_is_offered_alone(self, client: Client, settings: Settings) -> None:
        settings.SOCIALACCOUNT_PROVIDERS = sign_in_providers(
            replace(settings.ENVIRONMENT, orcid_client_id="client-id", orcid_client_secret="client-secret")
        )
        page = client.get("/accounts/login/?next=/maintain/").content.decode()
        assert 'action="/accounts/orcid/login/?process=login&amp;next=%2Fmaintain%2F"' in page
        assert "GitHub" not in page
        assert client.get("/accounts/github/login/").status_code == 404

    def test_a_connection_of_a_provider_without_keys_can_be_ended(self, client: Client) -> None:
        ada = UserFactory()
        old = connected(ada)
        client.force_login(ada)
        confirmed(client)
        assert "not offered here now" in client.get("/accounts/3rdparty/").content.decode()
        assert client.post("/accounts/3rdparty/", {"account": old.pk}).status_code == 302
        assert not SocialAccount.objects.exists()

    def test_origins_of_the_content_security_policy(self, settings: Settings) -> None:
        assert sign_in_origins(settings.ENVIRONMENT) == []
        both = replace(settings.ENVIRONMENT, github_client_id="a", orcid_client_id="b")
        assert sign_in_origins(both) == ["https://github.com", "https://orcid.org"]
        own = replace(settings.ENVIRONMENT, github_client_id="a", github_url="https://git.example.org")
        assert sign_in_origins(own) == ["https://git.example.org"]
        assert sign_in_providers(own)["github"]["GITHUB_URL"] == "https://git.example.org"


class TestStart:
    def test_a_link_alone_starts_nothing(self, client: Client, provider: SignInServer) -> None:
        page = client.get("/accounts/github/login/?process=login")
        assert (page.status_code, "Continue with GitHub" in " ".join(page.content.decode().split())) == (200, True)
        assert provider.tokens_asked == []

    def test_what_is_sent_to_the_provider(self, client: Client, provider: SignInServer) -> None:
        github, orcid = started(client, "github"), started(client, "orcid")
        assert (github["client_id"], github["scope"]) == ("client-id", "user:email")
        assert github["redirect_uri"] == "http://testserver/accounts/github/login/callback/"
        assert github["code_challenge_method"] == "S256"
        assert orcid["redirect_uri"] == "http://testserver/accounts/orcid/login/callback/"
        assert orcid["scope"] == "/authenticate"
        assert not {"client_secret", "client-secret"} & {*github, *github.values(), *orcid, *orcid.values()}


class TestNewAccount:
    def test_by_github_after_the_form(self, client: Client, provider: SignInServer) -> None:
        assert returned(client, "github", "process=login&next=/submit/")["Location"] == "/accounts/3rdparty/signup/"
        assert not User.objects.exists()
        page = client.get("/accounts/3rdparty/signup/").content.decode()
        assert 'value="octo-ada"' in page
        assert 'value="ada@mail.example"' in page
        response = client.post("/accounts/3rdparty/signup/", {"username": "ada", "email": "ada@mail.example"})
        assert (response.status_code, response["Location"]) == (302, "/submit/")
        user = User.objects.get()
        assert (user.username, user.has_usable_password(), user.is_staff) == ("ada", False, False)
        assert client.get("/my/").status_code == 200
        addresses = EmailAddress.objects.values_list("email", "verified", "primary")
        assert list(addresses) == [("ada@mail.example", True, True)]
        account = SocialAccount.objects.get()
        assert (account.user, account.provider, account.uid) == (user, "github", "4711")
        assert account.extra_data == {"login": "octo-ada", "html_url": "https://github.example/octo-ada"}

    def test_by_orcid_with_a_typed_address(self, client: Client, provider: SignInServer) -> None:
        assert returned(client, "orcid")["Location"] == "/accounts/3rdparty/signup/"
        client.post("/accounts/3rdparty/signup/", {"username": "ada", "email": "typed@mail.example"})
        account = SocialAccount.objects.get()
        assert (account.user.username, account.provider, account.uid) == ("ada", "orcid", IDENTIFIER)
        assert list(account.extra_data) == ["orcid-identifier"]
        assert list(EmailAddress.objects.values_list("email", "verified")) == [("typed@mail.example", False)]

    def test_the_second_time_signs_in(self, client: Client, provider: SignInServer) -> None:
        ada = UserFactory()
        connected(ada)
        assert returned(client, "github")["Location"] == "/my/"
        assert client.session["_auth_user_id"] == str(ada.pk)
        assert SocialAccount.objects.get().extra_data["login"] == "octo-ada"
        assert "company" not in SocialAccount.objects.get().extra_data

    def test_no_token_of_the_provider_is_stored(self, client: Client, provider: SignInServer) -> None:
        connected(UserFactory())
        returned(client, "github")
        assert len(provider.tokens_asked) == 1
        assert (SocialToken.objects.count(), SocialApp.objects.count()) == (0, 0)
        assert all(TOKEN not in str(session.get_decoded()) for session in Session.objects.all())

    def test_closed_sign_up_also_refuses_here(self, client: Client, provider: SignInServer, settings: Settings) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, sign_up_open=False)
        assert "Sign-up is closed" in returned(client, "github").content.decode()
        assert client.get("/accounts/3rdparty/signup/")["Location"] == "/accounts/login/"
        assert not User.objects.exists()
        ada = UserFactory()
        connected(ada)
        assert returned(client, "github")["Location"] == "/my/"

    def test_sign_up_that_is_closed_meanwhile(self, client: Client, provider: SignInServer, settings: Settings) -> None:
        returned(client, "github")
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, sign_up_open=False)
        response = client.post("/accounts/3rdparty/signup/", {"username": "ada", "email": "ada@mail.example"})
        assert "Sign-up is closed" in response.content.decode()
        assert not User.objects.exists()

    def test_a_closed_account_stays_closed(self, client: Client, provider: SignInServer) -> None:
        connected(UserFactory(is_active=False))
        assert returned(client, "github")["Location"] == "/accounts/inactive/"
        assert "_auth_user_id" not in client.session


class TestTakeover:
    """An equal e-mail address opens no account, whatever either side has verified."""

    @pytest.mark.parametrize("verified_there", [True, False])
    @pytest.mark.parametrize("verified_here", [True, False])
    @pytest.mark.parametrize("by_mail", [True, False])
    def test_an_equal_address(
        self,
        client: Client,
        provider: SignInServer,
        settings: Settings,
        *,
        verified_there: bool,
        verified_here: bool,
        by_mail: bool,
    ) -> None:
        if by_mail:
            settings.EMAIL_CONFIGURED, settings.ACCOUNT_PREVENT_ENUMERATION = True, True
            settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
        victim: User = UserFactory(username="victim", email="ada@mail.example")
        EmailAddress.objects.create(user=victim, email=victim.email, verified=verified_here, primary=True)
        provider.emails = [{"email": victim.email, "primary": True, "verified": verified_there}]
        returned(client, "github")
        response = client.post("/accounts/3rdparty/signup/", {"username": "ada", "email": victim.email})
        assert response.status_code in {200, 302}
        assert not SocialAccount.objects.filter(user=victim).exists()
        assert client.session.get("_auth_user_id") != str(victim.pk)
        victim.refresh_from_db()
        assert victim.check_password(PASSWORD)
        if by_mail:
            assert [message.to for message in mail.outbox] in ([[victim.email]], [])
            assert not User.objects.exclude(pk=victim.pk).filter(emailaddress__verified=True).exists()

    def test_an_address_that_the_provider_has_not_verified_is_not_verified_here(
        self, client: Client, provider: SignInServer
    ) -> None:
        provider.emails = [{"email": "ada@mail.example", "primary": True, "verified": False}]
        returned(client, "github")
        client.post("/accounts/3rdparty/signup/", {"username": "ada", "email": "ada@mail.example"})
        assert list(EmailAddress.objects.values_list("email", "verified")) == [("ada@mail.example", False)]


class TestConnections:
    def test_connecting_needs_the_password_once_more(self, client: Client, provider: SignInServer) -> None:
        ada = UserFactory()
        client.force_login(ada)
        assert returned(client, "github", "process=connect")["Location"] == "/accounts/reauthenticate/"
        assert not SocialAccount.objects.exists()
        assert client.post("/accounts/reauthenticate/", {"password": "wrong"}).status_code == 200
        assert not SocialAccount.objects.exists()
        assert client.post("/accounts/reauthenticate/", {"password": PASSWORD})["Location"] == "/accounts/3rdparty/"
        assert SocialAccount.objects.get().user == ada
        assert not EmailAddress.objects.filter(email="ada@mail.example").exists()
        page = client.get("/accounts/3rdparty/").content.decode()
        assert "octo-ada" in page
        assert "The account is connected." in page

    def test_an_account_of_another_person_is_not_moved(self, client: Client, provider: SignInServer) -> None:
        owner, other = UserFactory(), UserFactory()
        connected(owner)
        client.force_login(other)
        confirmed(client)
        assert returned(client, "github", "process=connect")["Location"] == "/accounts/3rdparty/"
        assert "connected to another account of this site" in client.get("/accounts/3rdparty/").content.decode()
        assert SocialAccount.objects.get().user == owner

    def test_only_own_connections_are_shown_and_ended(self, client: Client, provider: SignInServer) -> None:
        owner, other = UserFactory(), UserFactory()
        theirs = connected(owner, uid="S3CRET-UID")
        client.force_login(other)
        confirmed(client)
        assert "S3CRET-UID" not in client.get("/accounts/3rdparty/").content.decode()
        client.post("/accounts/3rdparty/", {"account": theirs.pk})
        assert SocialAccount.objects.get() == theirs

    def test_the_last_way_in_stays(self, client: Client, provider: SignInServer) -> None:
        ada = UserFactory()
        ada.set_unusable_password()
        ada.save()
        only = connected(ada)
        returned(client, "github")
        page = client.post("/accounts/3rdparty/", {"account": only.pk}).content.decode()
        assert "This connection is the only way to sign in to this account" in page
        assert SocialAccount.objects.exists()
        both = {"password1": "a-long-enough-password", "password2": "a-long-enough-password"}
        assert client.post("/accounts/password/set/", both).status_code == 302
        assert client.post("/accounts/reauthenticate/", {"password": both["password1"]}).status_code == 302
        client.post("/accounts/3rdparty/", {"account": only.pk})
        assert not SocialAccount.objects.exists()

    def test_visitors_have_no_connections(self, client: Client) -> None:
        assert client.get("/accounts/3rdparty/")["Location"] == "/accounts/login/?next=/accounts/3rdparty/"


class TestFailures:
    def test_cancelled_at_the_provider(self, client: Client, provider: SignInServer) -> None:
        state = started(client, "github")["state"]
        response = client.get("/accounts/github/login/callback/", {"error": "access_denied", "state": state})
        assert response["Location"] == "/accounts/3rdparty/login/cancelled/"
        assert "You cancelled" in client.get(response["Location"]).content.decode()
        assert provider.tokens_asked == []

    @pytest.mark.parametrize("state", ["", "other"])
    def test_a_way_back_that_this_browser_did_not_start(
        self, client: Client, provider: SignInServer, state: str
    ) -> None:
        foreign = started(Client(), "github")["state"]
        connected(UserFactory())
        started(client, "github")
        query = {"code": CODE, "state": foreign if state else ""}
        response = client.get("/accounts/github/login/callback/", query)
        assert (response.status_code, "Signing in failed" in response.content.decode()) == (401, True)
        assert provider.tokens_asked == []
        assert "_auth_user_id" not in client.session

    def test_a_way_back_works_once(self, client: Client, provider: SignInServer) -> None:
        connected(UserFactory())
        query = {"code": CODE, "state": started(client, "github")["state"]}
        assert client.get("/accounts/github/login/callback/", query).status_code == 302
        client.post("/accounts/logout/")
        assert client.get("/accounts/github/login/callback/", query).status_code == 401
        assert "_auth_user_id" not in client.session

    def test_a_wrong_code(self, client: Client, provider: SignInServer) -> None:
        query = {"code": "guessed", "state": started(client, "github")["state"]}
        assert client.get("/accounts/github/login/callback/", query).status_code == 401
        assert not User.objects.exists()

    def test_a_provider_that_is_down(self, client: Client, provider: SignInServer) -> None:
        state = started(client, "github")["state"]
        provider.http.shutdown()
        provider.http.server_close()
        response = client.get("/accounts/github/login/callback/", {"code": CODE, "state": state})
        assert (response.status_code, "Signing in failed" in response.content.decode()) == (401, True)
