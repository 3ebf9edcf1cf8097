"""From a mark of the matrix to the answer, its system and its task, in a real browser; axe finds nothing on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import publish, submit_bundle
from tests.e2e.test_pages import violations_in_both_schemes as violations

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e


def test_from_a_mark_to_the_answer_the_system_and_the_task(
    owner: BrowserContext, instance: Instance, audited: None
) -> None:
    page = owner.new_page()
    name = "Walker"
    submit_bundle(page, instance.bundle(system=name))
    expect(page.locator("#publish")).to_be_visible(timeout=120_000)
    publish(page)
    to_board(page)
    page.locator("#board").get_by_role("link", name="Matrix").first.click()
    row = page.locator(".matrix tbody tr", has_text=name)
    row.locator("a.m").first.click()
    expect(page).to_have_url(re.compile(r"/submissions/\d+/answers/[a-z]+/1/1/$"))
    found = violations(page)
    expect(page.locator("#receipt + p + p")).to_contain_text("repeats the test run on your own machine")
    expect(page.locator(".code", has_text=f"manage.py repeat {page.url}")).to_have_count(1)
    answer = page.url
    receipt = page.locator("#receipt + p").get_by_role("link", name="receipt").get_attribute("href") or ""
    assert owner.request.get(urljoin(answer, receipt)).json()["answer"]["system"] == name
    to_board(page)
    page.get_by_role("link", name=name).first.click()
    expect(page.locator(".history svg circle")).to_have_count(1)
    found += violations(page)
    page.locator("a.m").first.click()
    expect(page).to_have_url(answer)
    page.locator("dl.facts a", has_text=re.compile(r"^[a-z]+/1$")).first.click()
    expect(page.locator(".task-answers tbody tr", has_text=name)).to_have_count(1)
    found += violations(page)
    narrow(page)
    assert found == []


def to_board(page: Page) -> None:
    """Go to the board of the suite that takes answers by the navigation, which every page has."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Board").click()
    page.get_by_role("navigation", name="Suites").get_by_role("link", name="LMR-Mini").click()
    expect(page.locator("h1")).to_have_text("LMR-Mini board")


def narrow(page: Page) -> None:
    """Check that the task's page and the cases fit a phone, and that the list of cases is short."""
    page.set_viewport_size({"width": 390, "height": 844})
    for path in (page.url, "/cases/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.documentElement.scrollHeight") < 4_000
    expect(page.locator("form.filters")).to_be_hidden()
    page.get_by_text("Filters", exact=True).click()
    expect(page.locator("form.filters")).to_be_visible()
