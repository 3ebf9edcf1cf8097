"""A security key as second factor, from adding it to signing in with it, in a real browser with a virtual key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import PASSWORD, sign_up
from tests.e2e.test_pages import violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e
KEY = {
    "protocol": "ctap2",
    "transport": "usb",
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_a_security_key_is_added_and_signs_in(
    browser: Browser, browser_context_args: dict[str, Any], instance: Instance
) -> None:
    # A key belongs to a domain, which an address like 127.0.0.1 is not.
    here = {**browser_context_args, "base_url": f"http://localhost:{instance.port}"}
    with browser.new_context(**here) as context:
        page = context.new_page()
        keys = context.new_cdp_session(page)
        keys.send("WebAuthn.enable")
        keys.send("WebAuthn.addVirtualAuthenticator", {"options": KEY})
        _add_and_use(page)


def _add_and_use(page: Page) -> None:
    sign_up(page, "curlew")
    page.goto("/accounts/2fa/webauthn/add/")
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("blue key")
    assert violations(page) == []
    page.get_by_role("button", name="Add the key").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.goto("/accounts/2fa/webauthn/")
    expect(page.get_by_role("row", name="blue key")).to_contain_text("never")
    assert violations(page) == []

    _sign_out(page)
    _sign_in(page)
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    page.goto("/my/")  # the password alone opens nothing
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Use a security key").click()
    page.wait_for_url("**/my/")
    page.goto("/accounts/2fa/webauthn/")
    expect(page.get_by_role("row", name="blue key")).not_to_contain_text("never")


def _sign_out(page: Page) -> None:
    page.goto("/accounts/logout/")
    page.locator("main").get_by_role("button", name="Sign out").click()


def _sign_in(page: Page) -> None:
    page.goto("/accounts/login/?next=/my/")
    page.get_by_label("User name or e-mail").fill("curlew")
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
