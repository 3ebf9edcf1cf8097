"""The pages of model endpoints: access, content, and that no response contains a key."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evaluator.providers.checking_endpoints import CHECKS_AN_HOUR
from leaderboard.evidence.generations import money
from submissions.domain import endpoints
from submissions.enums import EndpointCheck
from submissions.models import Endpoint
from tests.leaderboard.showing import words_of
from tests.submissions.endpoints.factories import DESCRIBED, KEY
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.http import HttpResponse
    from pytest_django import Settings

    from submissions.models import User

pytestmark = pytest.mark.django_db
PAGES = ("endpoint", "endpoint_progress", "endpoint_change", "run_new")
ACTIONS = ("endpoint_check", "endpoint_forget", "endpoint_delete")
TYPED = {
    "name": "Beta",
    "api": "messages",
    "base_url": "https://api.example.net/",
    "model": "beta-1",
    "key": KEY,
    "max_output_tokens": "4096",
    "context_tokens": "200000",
    "requests_at_once": "4",
    "request_seconds": "120",
    "run_seconds": "3600",
    "price_input": "3",
    "price_output": "15",
}


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture(autouse=True)
def no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept every check without a queue; other tests cover the worker."""
    monkeypatch.setattr("evaluator.providers.checking_endpoints.push_check", lambda _pk: True)


@pytest.fixture
def endpoint(alice: User) -> Endpoint:
    return endpoints.add(owner=alice, described=DESCRIBED, key=KEY)


def address(name: str, endpoint: Endpoint) -> str:
    return reverse(name, args=[endpoint.pk])


@pytest.mark.parametrize("is_staff", [False, True])
def test_only_the_owner_can_act_on_an_endpoint(client: Client, endpoint: Endpoint, is_staff: bool) -> None:
    for code in (302, 404):
        for name in (*ACTIONS, "endpoint_change"):
            response = client.post(address(name, endpoint), TYPED)
            assert (response.status_code, endpoint.model in response.content.decode()) == (code, False)
        client.force_login(UserFactory(is_staff=is_staff))
    endpoint.refresh_from_db()
    assert (endpoints.key_of(endpoint), endpoint.name, endpoint.check_state) == (KEY, "Alpha", EndpointCheck.NONE)


def every_response(client: Client, endpoint: Endpoint) -> list[HttpResponse]:
    """Responses of every page and action, also to valid and invalid forms that contain the key."""
    found = [client.get(reverse("endpoints")), *(client.get(address(name, endpoint)) for name in PAGES)]
    for name in ("endpoint_new", "endpoint_change"):
        where = reverse(name) if name == "endpoint_new" else address(name, endpoint)
        for typed in (TYPED, {**TYPED, "name": ""}, {**TYPED, "base_url": f"https://{KEY}@x"}, {"key": f"{KEY} {KEY}"}):
            found.append(client.post(where, typed, follow=True))  # noqa: PERF401 - two loops read better
    found += [client.post(address(name, endpoint), follow=True) for name in ACTIONS]
    return found  # type: ignore[return-value]


def test_no_response_contains_the_key(as_alice: Client, endpoint: Endpoint) -> None:
    responses = every_response(as_alice, endpoint)
    assert len(responses) == 16
    for response in responses:
        shown = response.content.decode().replace(f"https://{KEY}@x", "")
        assert KEY not in shown
        assert "sealed" not in shown
        assert endpoint.sealed_key not in shown


def test_the_key_is_typed_into_a_password_field_that_is_always_empty(as_alice: Client, endpoint: Endpoint) -> None:
    page = as_alice.get(address("endpoint_change", endpoint)).content.decode()
    field = re.search(r'<input[^>]*name="key"[^>]*>', page)
    assert field
    assert ('type="password"' in field[0], 'autocomplete="off"' in field[0], "value=" in field[0]) == (
        True,
        True,
        False,
    )
    assert "A key is stored." in page


def test_an_invalid_form_keeps_every_field_but_the_key(as_alice: Client) -> None:
    response = as_alice.post(reverse("endpoint_new"), {**TYPED, "model": "", "price_output": ""})
    page = response.content.decode()
    assert (response.status_code, Endpoint.objects.count()) == (422, 0)
    assert ('value="Beta"' in page, 'value="https://api.example.net/"' in page, KEY in page) == (True, True, False)
    errors = {name: list(texts) for name, texts in response.context["form"].errors.items()}
    assert errors == {
        "model": ["This field is required."],
        "price_output": ["Give both prices, or none."],
        "key": ["Keys are never sent back to the browser: enter it again."],
    }


@pytest.mark.parametrize(
    ("preset", "api", "base_url"), [("anthropic", "messages", "https://api.anthropic.com"), ("unknown", None, None)]
)
def test_presets_fill_the_form(as_alice: Client, preset: str, api: str | None, base_url: str | None) -> None:
    form = as_alice.get(reverse("endpoint_new"), {"preset": preset}).context["form"]
    assert (form.initial.get("api"), form.initial.get("base_url")) == (api, base_url)


def test_an_endpoint_can_be_registered(as_alice: Client, alice: User) -> None:
    response = as_alice.post(reverse("endpoint_new"), TYPED)
    made = Endpoint.objects.get()
    assert response["Location"] == made.get_absolute_url()
    assert (made.owner, made.provider, made.api, made.base_url) == (
        alice,
        "anthropic",
        "messages",
        "https://api.example.net",
    )
    assert (made.price_output, made.requests_at_once, made.temperature, made.run_tokens) == (15, 4, None, None)
    assert (endpoints.key_of(made), made.keep_key) == (KEY, False)


def test_the_server_s_parameters_can_be_changed(as_alice: Client) -> None:
    as_alice.post(reverse("endpoint_new"), {**TYPED, "output_limit": "max_completion_tokens", "omit_strict": "on"})
    made = Endpoint.objects.get()
    assert (made.output_limit, made.omit_strict) == ("max_completion_tokens", True)
    words = words_of(as_alice.get(address("endpoint", made)))
    assert "Name of the output limit max_completion_tokens Strict left out of tools and schemas" in words
    form = as_alice.get(address("endpoint_change", made)).context["form"]
    assert (form.initial["output_limit"], form.initial["omit_strict"]) == ("max_completion_tokens", True)
    Endpoint.objects.update(check_state=EndpointCheck.OK)
    as_alice.post(address("endpoint_change", made), {**TYPED, "key": ""})
    made.refresh_from_db()
    assert (made.output_limit, made.omit_strict, made.check_state) == ("", False, EndpointCheck.NONE)


def test_the_provider_s_message_is_escaped(as_alice: Client, endpoint: Endpoint) -> None:
    message = "The provider refused the request. The provider’s words: “<script>alert(1)</script>”."
    Endpoint.objects.update(check_state="failed", check_message=message, checked=timezone.now())
    page = as_alice.get(address("endpoint", endpoint)).content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"output_limit": "max_words"}, "output_limit", "max_words is not one of the available choices"),
        ({"base_url": "https://me:pw@api.example.net"}, "base_url", "Leave user name and password out"),
        (
            {"base_url": "http://169.254.169.254/v1"},
            "base_url",
            "This address is not allowed: it is not public. The operator of this site can allow it.",
        ),
        ({"key": "sk with blank"}, "key", "A key has no spaces"),
        ({"run_dollars": "5", "price_input": "", "price_output": ""}, "run_dollars", "give both below"),
        ({"name": "a\u202eb"}, "name", "direction character"),
    ],
)
def test_errors_are_shown_at_their_field(as_alice: Client, changes: dict[str, str], field: str, message: str) -> None:
    response = as_alice.post(reverse("endpoint_new"), {**TYPED, **changes})
    assert (response.status_code, Endpoint.objects.exists()) == (422, False)
    assert message in " ".join(response.context["form"].errors[field])


def test_an_ip_address_that_the_operator_allows_is_accepted(as_alice: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_networks=["10.1.2.3/32"])
    for address, accepted in (("http://10.1.2.3:8000/v1", True), ("http://10.1.2.4:8000/v1", False)):
        as_alice.post(reverse("endpoint_new"), {**TYPED, "name": address, "base_url": address})
        assert Endpoint.objects.filter(base_url=address).exists() is accepted


def test_a_connection_test_is_queued_and_polled(as_alice: Client, endpoint: Endpoint) -> None:
    page = as_alice.post(address("endpoint_check", endpoint), follow=True).content.decode()
    endpoint.refresh_from_db()
    polled = address("endpoint_progress", endpoint)
    assert (endpoint.check_state, f'hx-get="{polled}"' in page) == (EndpointCheck.WAITING, True)
    assert f'<a href="{endpoint.get_absolute_url()}">reload</a>' in page
    assert (as_alice.get(polled).status_code, as_alice.get(polled).content) == (204, b"")
    Endpoint.objects.update(check_state="failed", check_message="Wrong <key>.", checked=timezone.now())
    part = as_alice.get(polled).content.decode()
    assert ("Wrong &lt;key&gt;." in part, "hx-get" in part) == (True, False)


def test_a_duplicate_name_is_reported_and_the_form_keeps_its_fields(as_alice: Client, endpoint: Endpoint) -> None:
    response = as_alice.post(reverse("endpoint_new"), {**TYPED, "name": "Alpha"})
    assert (response.status_code, "another endpoint called Alpha" in words_of(response)) == (422, True)
    assert 'value="beta-1"' in response.content.decode()


def test_changing_keeps_the_key_until_the_address_changes(as_alice: Client, endpoint: Endpoint) -> None:
    where, typed = address("endpoint_change", endpoint), {**TYPED, "key": ""}
    as_alice.post(where, {**typed, "base_url": endpoint.base_url})
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoints.key_of(endpoint)) == ("Beta", KEY)
    text = words_of(as_alice.post(where, typed, follow=True))
    endpoint.refresh_from_db()
    assert (endpoint.has_key, "so the key was deleted" in text) == (False, True)


def test_the_key_and_the_endpoint_can_be_deleted(as_alice: Client, endpoint: Endpoint) -> None:
    assert "Delete the key" in words_of(as_alice.get(address("endpoint", endpoint)))
    text = words_of(as_alice.post(address("endpoint_forget", endpoint), follow=True))
    endpoint.refresh_from_db()
    assert (endpoint.has_key, "The key is deleted." in text, "No key is stored." in text) == (False, True, True)
    text = words_of(as_alice.post(address("endpoint_delete", endpoint), follow=True))
    assert (Endpoint.objects.exists(), "Alpha is deleted" in text, "No endpoint yet." in text) == (False, True, True)


@pytest.mark.usefixtures("half_past_noon")
def test_too_many_checks_are_refused(as_alice: Client, endpoint: Endpoint) -> None:
    for _ in range(CHECKS_AN_HOUR):
        as_alice.post(address("endpoint_check", endpoint))
    Endpoint.objects.update(check_state=EndpointCheck.NONE)
    text = words_of(as_alice.post(address("endpoint_check", endpoint), follow=True))
    endpoint.refresh_from_db()
    assert (f"{CHECKS_AN_HOUR} times within this hour" in text, endpoint.check_state) == (True, EndpointCheck.NONE)


@pytest.mark.parametrize(("dollars", "text"), [(5, "5.00"), (0.25, "0.25"), (0.0192, "0.0192"), (1.5, "1.50")])
def test_amounts_have_two_or_four_decimals(dollars: float, text: str) -> None:
    assert money(dollars) == text
