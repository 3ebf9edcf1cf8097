"""From a mark to its evidence, the answer, its system and its task, in a real browser; axe finds nothing on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import publish, submit_bundle
from tests.e2e.test_pages import PHONE
from tests.e2e.test_pages import violations_in_both_schemes as violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

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
    expect(page).to_have_url(re.compile(r"/board/lmr-mini/answers/s\d+/[a-z]+/1/$"))
    expect(page.locator(".evidence-panel h1")).to_be_focused()
    found = violations(page)
    page.locator(".evidence-panel").get_by_role("button", name="The answer’s whole page").click()
    expect(page).to_have_url(re.compile(r"/submissions/\d+/answers/[a-z]+/1/1/$"))
    found += violations(page)
    expect(page.locator("#receipt + p + p")).to_contain_text("repeats the test run on your own machine")
    expect(page.locator(".commands", has_text=f"manage.py repeat {page.url}")).to_have_count(1)
    answer = page.url
    receipt = page.locator("#receipt + p").get_by_role("link", name="receipt").get_attribute("href") or ""
    assert owner.request.get(urljoin(answer, receipt)).json()["answer"]["system"] == name
    to_board(page)
    page.get_by_role("link", name=name).first.click()
    expect(page.locator(".history svg circle")).to_have_count(1)
    found += violations(page)
    marks = page.locator("table.board tbody tr").first.locator("a.m")
    marks.first.focus()
    page.keyboard.press("ArrowRight")
    expect(marks.nth(1)).to_be_focused()
    marks.first.click()
    expect(page.locator(".evidence-panel h1")).to_be_focused()
    found += violations(page)
    page.get_by_role("button", name="The answer’s whole page").click()
    expect(page).to_have_url(answer)
    page.locator("dl.facts a", has_text=re.compile(r"^[a-z]+/1$")).first.click()
    expect(page.locator(".task-answers tbody tr", has_text=name)).to_have_count(1)
    found += violations(page)
    narrow(page)
    assert found == []


def test_a_panel_is_stepped_through_by_keyboard_and_closes_where_it_was_opened(page: Page, instance: Instance) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto("/?q=openhands")
    before = page.url
    row = page.locator("table.board tbody tr", has_text="OpenHands (Claude 3.7)")
    marks = row.locator("a.m")
    marks.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    heading = page.locator(".evidence-panel h1")
    expect(heading).to_be_focused()
    first = heading.inner_text()
    page.keyboard.press("ArrowRight")
    expect(heading).not_to_have_text(first)
    expect(page).to_have_url(re.compile("/answers/r-openhands-claude-3.7/"))
    page.keyboard.press("ArrowDown")
    expect(page).not_to_have_url(re.compile("/answers/r-openhands-claude-3.7/"))
    expect(heading).not_to_contain_text("Claude 3.7")
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile("/answers/r-openhands-claude-3.7/"))
    expect(heading).to_contain_text("Claude 3.7")
    page.keyboard.press("Escape")
    expect(page).to_have_url(before)
    expect(marks.nth(2)).to_be_focused()
    # Back closes the panel, too, and Forward opens it again; neither loads the board again.
    page.evaluate("window.neverReloaded = true")
    page.keyboard.press("Enter")
    expect(heading).to_be_focused()
    page.go_back()
    expect(page.locator(".evidence-panel")).to_be_hidden()
    expect(marks.nth(2)).to_be_focused()
    page.go_forward()
    expect(heading).to_be_focused()
    # The event of its closing comes late: the panel may be open again by then, and stays open.
    page.locator(".evidence-panel").evaluate(
        """panel => new Promise((done) => {
          panel.addEventListener("close", () => setTimeout(done, 200), { once: true });
          panel.close();
          panel.showModal();
        })"""
    )
    expect(page.locator(".evidence-panel")).to_be_visible()
    assert page.url != before
    page.locator(".evidence-panel").get_by_role("button", name="Close").click()
    expect(page).to_have_url(before)
    assert page.evaluate("window.neverReloaded") is True


def test_evidence_is_a_page_without_javascript(
    browser: Browser, browser_context_args: dict[str, Any], instance: Instance
) -> None:
    context = browser.new_context(**browser_context_args, java_script_enabled=False, viewport=PHONE)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto("/board/lmr-bench/matrix/")
    page.locator("a.m").first.click()
    expect(page.locator("#evidence .answer-outcome")).to_contain_text("The authors report that the answer")
    page.locator(".evidence-steps a", has_text="Next task").click()
    expect(page.locator("#evidence h1")).to_be_visible()
    context.close()


def to_board(page: Page) -> None:
    """Go to the board of the suite that takes answers by the navigation, which every page has."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Board").click()
    page.get_by_role("navigation", name="Suites").get_by_role("link", name="LMR-Mini").click()
    expect(page).to_have_url(re.compile("/board/lmr-mini/$"))


def narrow(page: Page) -> None:
    """Check that the task's page and the cases fit a phone, and that the list of cases is short."""
    page.set_viewport_size({"width": 390, "height": 844})
    for path in (page.url, "/cases/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.documentElement.scrollHeight") < 4_000
    expect(page.locator("form.filters")).to_be_hidden()
    page.get_by_text("Filters", exact=True).click()
    expect(page.locator("form.filters")).to_be_visible()
