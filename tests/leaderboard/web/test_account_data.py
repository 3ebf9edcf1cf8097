"""The page of an account's own data: counting, exporting and erasing, each only one's own."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core.cache import caches
from django.test import Client

from benchmark_tasks.domain.content import put_file
from submissions.domain import tokens
from submissions.models import ApiToken, AuditEvent, User
from tests.leaderboard.judging import JudgeFactory
from tests.second_factors import SECRET, with_app
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.factories import PASSWORD, SubmissionFactory, UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_django import Settings

pytestmark = pytest.mark.django_db
EXPORT, ERASE = "/accounts/data/export/", "/accounts/data/erase/"


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> Iterator[None]:
    settings.DATA_DIR = tmp_path / "data"
    caches["default"].clear()
    yield
    caches["default"].clear()


def account(name: str) -> User:
    user: User = UserFactory(username=name)
    tokens.make(owner=user, name=f"token of {name}", scopes=["read"], days=1)
    SubmissionFactory(owner=user, notes=f"notes of {name}", bundle=put_file(f"bundle of {name}".encode()))
    SocialAccount.objects.create(user=user, provider="github", uid=f"uid-{name}", extra_data={"login": f"at-{name}"})
    return user


def browser(user: User, *, confirmed: bool = True) -> Client:
    client = Client()
    client.post("/accounts/login/", {"login": user.username, "password": PASSWORD})
    if confirmed:
        assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 302
    return client


def downloaded(response: Any) -> tuple[str, list[bytes]]:
    assert (response.status_code, response["Content-Type"]) == (200, "application/zip")
    content = b"".join(response.streaming_content)
    # Not response.close(), which ends the request and with it the test's own database connection.
    for close in response._resource_closers:
        close()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        data, *files = archive.namelist()
        return archive.read(data).decode(), [archive.read(name) for name in files]


class TestPage:
    def test_it_counts_what_is_stored_of_the_account_only(self) -> None:
        ada, other = account("ada"), account("xanthippe")
        tokens.make(owner=other, name="another", scopes=["read"], days=1)
        page = " ".join(browser(ada).get("/accounts/data/").content.decode().split())
        for model, kind in (("ApiToken", "Tokens"), ("Submission", "Submissions")):
            assert re.search(rf'title="submissions.{model}">{kind}</th> <td[^>]*>1</td>', page)
        assert re.search('title="socialaccount.SocialAccount">Connected accounts</th> <td[^>]*>1</td>', page)
        assert "xanthippe" not in page

    def test_visitors_sign_in_first(self, client: Client) -> None:
        assert client.get("/accounts/data/")["Location"] == "/accounts/login/?next=/accounts/data/"
        for address in (EXPORT, ERASE):
            assert client.post(address)["Location"] == "/accounts/login/?next=/accounts/data/"


class TestExport:
    def test_own_rows_and_files_and_no_secret(self) -> None:
        ada, _ = account("ada"), account("eve")
        with_app(ada)
        client = browser(ada, confirmed=False)
        client.force_login(ada)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        response = client.post(EXPORT)
        assert response["Content-Disposition"] == 'attachment; filename="lmr-board-ada.zip"'
        text, files = downloaded(response)
        assert files == [b"bundle of ada"]
        rows = json.loads(text)
        assert [row["uid"] for row in rows["socialaccount.SocialAccount"]] == ["uid-ada"]
        assert [row["type"] for row in rows["mfa.Authenticator"]] == ["recovery_codes", "totp"]
        assert all("data" not in row for row in rows["mfa.Authenticator"])
        assert SECRET not in text
        assert all(factor.data.get("secret", "-") not in text for factor in Authenticator.objects.filter(type="totp"))
        for what in ("token of", "notes of"):
            assert f"{what} ada" in text
        assert "eve" not in text

    def test_it_needs_the_password_once_more_and_then_goes_on(self) -> None:
        ada = account("ada")
        client = browser(ada, confirmed=False)
        response = client.post(EXPORT)
        assert response["Location"] == "/accounts/reauthenticate/?next=%2Faccounts%2Fdata%2Fexport%2F"
        again = client.post("/accounts/reauthenticate/", {"password": "wrong", "next": EXPORT})
        assert again["Content-Type"].startswith("text/html")
        after = client.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": EXPORT})
        assert downloaded(after)[1] == [b"bundle of ada"]

    def test_a_confirmation_of_long_ago_does_not_count(self) -> None:
        client = browser(account("ada"))
        with time_machine.travel(time.time() + 301):
            assert client.post(EXPORT).status_code == 302

    def test_five_an_hour(self) -> None:
        client, other = browser(account("ada")), browser(account("eve"))
        with time_machine.travel("2026-11-30 12:00:10+00:00"):
            client.post("/accounts/reauthenticate/", {"password": PASSWORD})
            for _ in range(5):
                downloaded(client.post(EXPORT))
            response = client.post(EXPORT, follow=True)
            assert "That was more than 5 exports within an hour. Try again in 60 min." in response.content.decode()
            other.post("/accounts/reauthenticate/", {"password": PASSWORD})
            downloaded(other.post(EXPORT))


class TestErase:
    def test_the_typed_name_erases_and_signs_out(self) -> None:
        ada, eve = account("ada"), account("eve")
        with_app(ada)
        with_app(eve)
        client = Client()
        client.force_login(ada)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        response = client.post(ERASE, {"typed": "ada"}, follow=True)
        assert "Your account is erased, and you are signed out." in response.content.decode()
        assert "_auth_user_id" not in client.session
        ada.refresh_from_db()
        assert (ada.username, ada.is_active) == (f"deleted:{ada.pk}", False)
        for model in (ApiToken, SocialAccount, Authenticator):
            owners = model.objects.values_list("owner" if model is ApiToken else "user", flat=True)
            assert set(owners) == {eve.pk}
        assert AuditEvent.objects.get(verb="erased").actor == ada

    @pytest.mark.parametrize("typed", ["", "eve", "Ada", "yes"])
    def test_another_name_erases_nothing(self, typed: str) -> None:
        ada, _ = account("ada"), account("eve")
        response = browser(ada).post(ERASE, {"typed": typed})
        assert response.status_code == 422
        assert f'value="{typed}"' in response.content.decode() or not typed
        assert set(User.objects.filter(is_active=True).values_list("username", flat=True)) >= {"ada", "eve"}

    def test_it_needs_the_password_and_keeps_the_typed_name(self) -> None:
        ada = account("ada")
        client = browser(ada, confirmed=False)
        assert client.post(ERASE, {"typed": "ada"})["Location"].startswith("/accounts/reauthenticate/")
        ada.refresh_from_db()
        assert ada.is_active
        after = client.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": ERASE})
        assert after["Location"] == "/"
        ada.refresh_from_db()
        assert not ada.is_active

    def test_the_only_maintainer_stays(self) -> None:
        ada = account("ada")
        User.objects.filter(pk=ada.pk).update(is_staff=True)
        response = browser(ada).post(ERASE, {"typed": "ada"})
        assert (response.status_code, "ada is the only maintainer" in response.content.decode()) == (422, True)
        ada.refresh_from_db()
        assert (ada.is_staff, ada.is_active, ApiToken.objects.count()) == (True, True, 1)

    def test_an_endpoint_that_a_judge_uses_stays(self) -> None:
        ada = account("ada")
        judge = JudgeFactory(endpoint=EndpointFactory(owner=ada), name="Weekly judge")
        response = browser(ada).post(ERASE, {"typed": "ada"})
        page = response.content.decode()
        assert (response.status_code, judge.slug in page or judge.name in page) == (422, True)
        assert "Retire them first" in page
        ada.refresh_from_db()
        assert (ada.is_active, ApiToken.objects.count()) == (True, 1)


class TestWithoutPassword:
    """An account that signs in only by another site has nothing to type: it signs in again there."""

    @pytest.fixture
    def client(self) -> Client:
        ada = account("ada")
        ada.set_unusable_password()
        ada.save()
        client = Client()
        client.force_login(ada)
        return client

    def test_a_sign_in_of_long_ago(self, client: Client, settings: Settings) -> None:
        settings.SOCIALACCOUNT_PROVIDERS = {"github": {"APP": {"client_id": "a", "secret": "b"}}}
        for address in (EXPORT, ERASE):
            response = client.post(address, {"typed": "ada"})
            page = response.content.decode()
            assert (response.status_code, "needs a sign-in within the last minutes" in page) == (403, True)
            assert 'action="/accounts/github/login/?process=login&amp;next=%2Faccounts%2Fdata%2F"' in page
        assert User.objects.get(username="ada").is_active

    @pytest.mark.parametrize(
        "page",
        [
            "/accounts/password/set/",
            "/accounts/3rdparty/",
            "/accounts/2fa/totp/activate/",
            "/accounts/2fa/webauthn/add/",
        ],
    )
    def test_no_other_way_in_is_added_by_a_session_of_long_ago(self, client: Client, page: str) -> None:
        both = {"password1": "a-long-enough-password", "password2": "a-long-enough-password"}
        for response in (client.get(page), client.post(page, both)):
            assert response["Location"] == "/accounts/logout/"
        assert "First sign out and in again" in client.get("/accounts/logout/").content.decode()
        assert not User.objects.get(username="ada").has_usable_password()

    @pytest.mark.parametrize(("ago", "status"), [(10, 200), (301, 403)])
    def test_a_recent_sign_in(self, client: Client, ago: int, status: int) -> None:
        session = client.session
        session[AUTHENTICATION_METHODS_SESSION_KEY] = [{"method": "socialaccount", "at": time.time() - ago}]
        session["account_authentication_methods_user"] = str(User.objects.get(username="ada").pk)
        session.save()
        response = client.post(EXPORT)
        assert response.status_code == status
        if status == 200:
            assert downloaded(response)[1] == [b"bundle of ada"]
