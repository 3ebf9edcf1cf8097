"""The bell in a real browser: it shows an unread notice of a scored submission without moving, until it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import sign_up, submit_bundle
from tests.e2e.test_pages import SCHEMES, violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e

WIDTHS: dict[str, ViewportSize] = {"laptop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
NAME = "somebody-with-a-name-that-is-rather-long"


def header(page: Page) -> list[Any]:
    """The positions of the header's links and buttons."""
    parts = page.locator(".site-header a, .site-header button")
    return [parts.nth(place).bounding_box() for place in range(parts.count())]


def test_the_bell_shows_unread_notices_until_they_are_read(
    browser: Browser, browser_context_args: dict[str, Any], instance: Instance
) -> None:
    context = browser.new_context(**browser_context_args)
    page = context.new_page()
    page.set_viewport_size(WIDTHS["laptop"])
    sign_up(page, NAME)
    bell = page.get_by_role("link", name="Notices", exact=True)
    quiet = {}
    for name, size in WIDTHS.items():
        page.set_viewport_size(size)
        page.goto("/docs/")
        expect(bell).to_be_visible()
        quiet[name] = header(page)
    tops = {round(box["y"] / 40) for box in quiet["laptop"] if box}
    assert len(tops) == 1, "the header is one line"
    page.goto("/notices/")
    expect(page.get_by_text("No notices.")).to_be_visible()

    page.set_viewport_size(WIDTHS["laptop"])
    submit_bundle(page, instance.bundle(system="Bell Ringer"))
    ringing = page.get_by_role("link", name="Notices: 1 unread", exact=True)
    expect(page.get_by_text("scored", exact=True).first).to_be_visible(timeout=300_000)
    for name, size in WIDTHS.items():
        page.set_viewport_size(size)
        page.goto("/docs/")
        expect(ringing).to_be_visible()
        assert header(page) == quiet[name], "the number moves no part of the header"
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]

    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.goto("/notices/")
        assert violations(page) == []
        page.goto("/accounts/notices/")
        expect(page.get_by_text("This instance sends no notices by e-mail")).to_be_visible()
        assert violations(page) == []
    page.goto("/docs/")
    ringing.focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Bell Ringer on lmr-mini").press("Enter")
    page.wait_for_url("**/submissions/*/")
    expect(bell).to_be_visible()
    context.close()
