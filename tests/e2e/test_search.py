"""Searching from the documentation, by keyboard."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.test_pages import violations_in_both_schemes as violations

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.e2e


def test_a_visitor_finds_a_system_and_a_section_by_keyboard(page: Page) -> None:
    page.on("console", lambda message: pytest.fail(message.text) if message.type == "error" else None)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/docs/")
    page.get_by_role("searchbox").focus()
    page.keyboard.type("openhands claude")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/search/\?q=openhands\+claude$"))
    expect(page.locator("main").get_by_role("link", name="OpenHands (Claude 3.7)", exact=True)).to_be_visible()
    assert violations(page) == []
    page.get_by_role("searchbox").fill("expected outputs")
    page.keyboard.press("Enter")
    hit = page.locator("ul.hits li", has=page.locator("mark")).first
    expect(hit.locator("mark").first).to_be_visible()
    hit.get_by_role("link").press("Enter")
    expect(page).to_have_url(re.compile(r"/(docs/[a-z-]+|about)/#"))
    page.get_by_role("link", name="All pages").press("Enter")
    expect(page.get_by_role("navigation", name="Documentation")).to_be_in_viewport()
