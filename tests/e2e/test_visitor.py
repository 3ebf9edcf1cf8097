"""A visitor's path from the landing page by clicks alone, and a maintainer's tasks by keyboard alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.keyboard import Maintainer
from tests.e2e.test_pages import violations_in_both_schemes as violations
from tests.evaluator.processes import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _complaints(page: Page, instance: Instance) -> None:
    """Fail on errors in the console, and wait for rank bands."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.on("console", lambda message: pytest.fail(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    wait_until(lambda: "column-rank" in instance.get("/")[1], "the ranks", seconds=300)


def arrived(page: Page, address: str, heading: str) -> None:
    """Check the page's address and heading, and that axe finds no violation."""
    expect(page).to_have_url(re.compile(address))
    expect(page.locator("h1")).to_contain_text(heading)
    assert violations(page) == []


def test_from_the_landing_page_by_clicks_alone(page: Page) -> None:
    page.goto("/")
    arrived(page, "/$", "OpenHands (Claude 3.7) solves 14 of 28 tasks.")
    _find_the_suite_and_the_legend(page)
    _open_a_cell(page)
    _compare(page)
    header = page.get_by_role("navigation", name="Main")
    for name, address in (("Analysis", "/analysis/"), ("Cases", "/cases/"), ("Docs", "/docs/"), ("Board", "/$")):
        header.get_by_role("link", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(address))
        assert violations(page) == []


def _find_the_suite_and_the_legend(page: Page) -> None:
    """Find the research question, the suite that takes answers, its tasks, and the meaning of the marks."""
    expect(page.locator(".board-finding .eyebrow")).to_contain_text("Can language models re-implement research?")
    tabs = page.get_by_role("navigation", name="Suites")
    expect(tabs).to_contain_text("LMR-BENCH · 28 tasks · published")
    page.get_by_role("button", name="Try it in ten minutes").click()
    expect(page).to_have_url(re.compile("/#try$"))
    tabs.get_by_role("link", name="LMR-Mini · 9 tasks · open").click()
    page.get_by_role("link", name="Tasks", exact=True).last.click()
    arrived(page, "/suites/lmr-mini/$", "LMR-Mini")
    with page.expect_download() as kit:
        page.get_by_role("button", name="Download the task kit").click()
    assert kit.value.suggested_filename.endswith(".zip")
    page.get_by_role("link", name="dpo/1", exact=True).click()
    arrived(page, "/suites/lmr-mini/tasks/dpo/1/$", "dpo/1 preference_objective")
    page.get_by_role("link", name="LMR-Board").first.click()
    expect(page.locator(".legend").first).to_contain_text(
        "Marks of a task, from the top: unit tests (passed, failed), judge, annotators"
    )
    page.locator(".legend").first.get_by_role("link", name="Glossary").click()
    arrived(page, "/docs/glossary/$", "Glossary")
    page.go_back()


def _open_a_cell(page: Page) -> None:
    page.get_by_label("Search").fill("claude")
    expect(page.locator("#board .system-name")).to_have_count(1)
    page.locator("#board").get_by_role("link", name="Matrix").click()
    arrived(page, "/board/lmr-bench/matrix/", "Task by task")
    cell = page.locator(".matrix tbody tr", has_text="OpenHands (Claude 3.7)").locator("a.m").first
    cell.hover()
    label = cell.get_attribute("aria-label") or ""
    expect(cell).to_have_attribute("title", label)
    task = label.partition(":")[0]
    cell.click()
    expect(page).to_have_url(re.compile(f"/board/lmr-bench/answers/.*{task}/$"))
    expect(page.locator(".evidence-panel h1")).to_contain_text(task)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(cell).to_be_focused()
    page.get_by_role("link", name="LMR-Board").first.click()


def _compare(page: Page) -> None:
    """Compare a system of the board with its neighbour, and download the table."""
    page.locator("#board .system-name", has_text="OpenHands (o4-mini)").first.click()
    arrived(page, "/systems/", "OpenHands (o4-mini)")
    page.locator("p", has_text="Compare it with").get_by_role("link").first.click()
    arrived(page, "/compare/lmr-bench/", "Compare systems")
    expect(page.locator(".finding")).to_contain_text("OpenHands (o4-mini)")
    with page.expect_download() as file:
        page.get_by_role("link", name="CSV").click()
    assert file.value.suggested_filename.endswith(".csv")
    page.locator(".compare-tasks tbody a").first.click()
    expect(page).to_have_url(re.compile("/suites/lmr-bench/tasks/"))
    assert violations(page) == []


def test_filtering_comparing_freezing_and_a_token_by_keyboard_alone(page: Page, instance: Instance) -> None:
    plover = Maintainer(page, "plover", instance)
    page.goto("/")
    plover.write("[name=q]", "openhands")
    expect(page).to_have_url(re.compile(r"\?q=openhands$"))
    plover.reach(".facets .more > summary")
    plover.press("Enter")
    plover.reach("select[name=inputs]")
    # Typing the beginning of an option's text selects it.
    page.keyboard.type(page.locator("select[name=inputs] option[value=paper_only]").inner_text()[:12])
    expect(page.locator("#board .system-name")).to_have_count(3)
    for place in (1, 2):
        plover.reach(f"table.board tbody tr:nth-child({place}) input[name=row]")
        plover.press("Space")
    plover.follow(".compare-bar button")
    expect(page.locator(".finding")).to_have_count(1)

    plover.follow(".account-nav a[href='/maintain/']")
    plover.follow("main a[href='/maintain/suites/']")
    plover.follow("main a[href='/board/lmr-bench/snapshots/#freeze']")
    plover.write("[name=title]", "by keyboard")
    plover.write("[name=note]", "To see that it can be done.")
    plover.follow("#freeze ~ form button[name=preview]")
    plover.follow("#freeze ~ form button:not([name=preview])")
    expect(page.get_by_text("The board is frozen as snapshot")).to_be_visible()

    plover.follow(".account-name")
    plover.follow("main a[href='/accounts/tokens/']")
    plover.write("main [name=name]", "for a workflow")
    plover.follow("main form button[type=submit]")
    expect(page.get_by_label("Token", exact=True)).to_have_value(re.compile("."))
