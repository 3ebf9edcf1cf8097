"""The board in a real browser: finding, filters, evidence behind a mark, comparing two rows, downloading the data."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e
LEADER = "OpenHands (Claude 3.7) solves 14 of 28 tasks."


@pytest.fixture
def board(page: Page, instance: Instance) -> Page:
    """The landing page at the width of a laptop; errors in the console fail the test."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.on("console", lambda message: pytest.fail(message.text) if message.type == "error" else None)
    page.goto("/")
    return page


def systems(page: Page) -> list[str]:
    return page.locator("#board .system-name").all_inner_texts()


def ends(part: Locator) -> float:
    """The lower edge of a part of the page."""
    box = part.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def test_finding_chart_and_eight_rows_fit_the_first_screen(board: Page) -> None:
    expect(board.locator("h1")).to_have_text(LEADER)
    assert ends(board.locator(".finding-chart")) < 500
    rows = board.locator("table.board tbody tr").all()
    assert len(rows) == 7
    heights = {round((row.bounding_box() or {"height": 0})["height"] / 10) for row in rows}
    assert heights == {4}
    # Of the seven systems' rows none is below the eighth place.
    assert ends(rows[0]) + 7 * 44 <= 900
    assert board.evaluate("document.fonts.check('1em \"Source Sans 3\"')")
    header = board.locator(".site-header nav, .site-header .wordmark")
    assert len({round(header.nth(place).bounding_box()["y"] / 40) for place in range(header.count())}) == 1  # type: ignore[index]


def test_a_phone_shows_the_finding_and_the_first_three_rows(board: Page) -> None:
    board.set_viewport_size({"width": 390, "height": 844})
    board.goto("/")
    expect(board.locator("h1")).to_have_text(LEADER)
    assert ends(board.locator("table.board tbody tr").nth(2)) <= 844


def test_filters_apply_at_once_to_rows_and_finding_and_are_in_the_address(board: Page) -> None:
    everything = systems(board)
    assert len(everything) == 7
    board.get_by_text("More filters and columns").click()
    board.get_by_label("Inputs given").select_option("paper_only")
    expect(board).to_have_url(re.compile(r"/\?inputs=paper_only$"))
    expect(board.locator("#board .system-name")).to_have_count(3)
    expect(board.locator("h1")).to_have_text(
        "Of the systems shown, OpenHands (o4-mini), paper only solves most: 11 of 28 tasks."
    )
    board.get_by_label("Search").fill("gpt-4.1")
    expect(board.locator("#board .system-name")).to_have_count(1)
    expect(board).to_have_url(re.compile(r"/\?q=gpt-4\.1&inputs=paper_only$"))
    shown = systems(board)
    board.reload()
    assert systems(board) == shown
    expect(board.get_by_label("Search")).to_have_value("gpt-4.1")
    board.get_by_role("link", name="Show all").click()
    expect(board.locator("#board .system-name")).to_have_count(len(everything))
    assert systems(board) == everything
    expect(board.locator("h1")).to_have_text(LEADER)


def test_a_link_pressed_after_typing_is_followed(board: Page) -> None:
    """Leaving the search once sent a request whose response moved another link under the pointer."""
    board.get_by_label("Search").press_sequentially("claude")
    expect(board).to_have_url(re.compile(r"\?q=claude$"))
    expect(board.locator("#board .system-name")).to_have_count(1)
    with board.expect_navigation(url="**/board/lmr-bench/matrix/**"):
        board.locator("#board").get_by_role("link", name="Matrix").click(delay=1_000)


def test_the_slider_counts_later_papers_only_by_keyboard_too(board: Page) -> None:
    slider = board.get_by_role("slider", name="Papers first public")
    expect(slider).to_have_attribute("aria-valuetext", "papers of any date")
    slider.focus()
    board.keyboard.press("End")
    expect(board).to_have_url(re.compile(r"/\?papers=20[0-9]{2}-[0-9]{2}$"))
    expect(board.locator("#board .callout")).to_contain_text("of papers first public after")
    expect(board.locator("h1")).to_contain_text("of papers first public after")
    expect(board.locator("#board th.column-cutoff")).to_have_count(1)
    number = re.search(r"\(([0-9]+)\)", slider.get_attribute("aria-valuetext") or "")
    assert number is not None
    assert board.locator("table.board tbody tr").first.locator("a.m").count() == int(number[1])
    board.keyboard.press("Home")
    expect(board.locator("#board th.column-cutoff")).to_have_count(0)
    expect(board).to_have_url(re.compile(r"/$"))


def test_columns_are_chosen_without_a_new_page(board: Page) -> None:
    board.evaluate("window.neverReloaded = true")
    board.get_by_text("More filters and columns").click()
    board.get_by_label("Backbone", exact=True).last.check()
    expect(board.locator("#board th.column-backbone")).to_have_count(1)
    board.get_by_label("Task by task").uncheck()
    expect(board.locator("#board .marks")).to_have_count(0)
    assert board.evaluate("window.neverReloaded") is True


def test_a_system_s_other_rows_are_shown_below_its_leading_one(board: Page) -> None:
    rows = board.locator("table.board tbody tr")
    more = board.get_by_role("link", name="3 more rows").first
    more.click()
    expect(rows).to_have_count(10)
    expect(board.locator("tr.other-row")).to_have_text(
        [re.compile(each) for each in ("paper only", "paper \\+", "re-meas")]
    )
    expect(more).to_have_attribute("aria-expanded", "true")
    more.click()
    expect(board.locator("tr.other-row:visible")).to_have_count(0)
    expect(board).to_have_url(re.compile(r"/$"))


def test_marks_are_reached_by_the_arrow_keys_and_open_the_evidence(board: Page) -> None:
    row = board.locator("table.board tbody tr", has_text="GPT-4.1").filter(has=board.locator(".marks")).first
    marks = row.locator("a.m")
    marks.first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp"):
        board.keyboard.press(key)
    expect(marks.nth(2)).to_be_focused()
    words = marks.nth(2).get_attribute("aria-label") or ""
    assert re.fullmatch(r"[a-z/0-9-]+: tests (passed|failed), judge (CC|LC|LI), annotators (CC|LC|LI)", words)
    label = marks.nth(2).evaluate("mark => getComputedStyle(mark, '::after').content")
    assert label == f'"{words}"'
    board.keyboard.press("Enter")
    task = words.partition(":")[0]
    expect(board).to_have_url(re.compile(f"/board/lmr-bench/answers/r-no-agent-gpt-4.1/{task}/$"))
    expect(board.locator("dialog[open]")).to_contain_text(task)
    board.keyboard.press("Escape")
    expect(board).to_have_url(re.compile(r"/$"))
    expect(marks.nth(2)).to_be_focused()


def test_selected_rows_stay_selected_and_are_compared(board: Page, tmp_path: Path) -> None:
    bar = board.locator(".compare-bar")
    expect(bar).to_be_hidden()
    board.get_by_label("Compare GPT-4.1", exact=True).check()
    expect(bar.get_by_role("button", name="Compare 1")).to_be_disabled()
    board.get_by_label("Search").fill("claude")
    expect(board.locator("#board .system-name")).to_have_count(1)
    board.get_by_label("Compare OpenHands (Claude 3.7)", exact=True).check()
    expect(bar).to_contain_text("GPT-4.1 · OpenHands (Claude 3.7)")
    assert ends(bar) <= 900, "in sight"
    bar.get_by_role("button", name="Compare 2").click()
    assert sorted(re.findall(r"row=([^&]+)", board.url)) == ["r-no-agent-gpt-4.1", "r-openhands-claude-3.7"]
    expect(board.locator(".finding")).to_have_text(
        "4 of these 28 tasks are solved by OpenHands (Claude 3.7) only, 2 by GPT-4.1 only: "
        "a fair coin does as well. p = 0.69"
    )
    expect(board.locator(".compare-tasks tbody")).to_have_count(6)
    with board.expect_download() as download:
        board.get_by_role("link", name="CSV").click()
    file = tmp_path / "comparison.csv"
    download.value.save_as(file)
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    passed: Counter[str] = Counter()
    for row in rows:
        passed[row["system"]] += row["tests"] == "1.0"
    assert passed == {"GPT-4.1": 12, "OpenHands (Claude 3.7)": 14}
    board.go_back()
    expect(board.get_by_label("Compare OpenHands (Claude 3.7)", exact=True)).to_be_checked()
    bar.get_by_role("button", name="Clear").click()
    expect(bar).to_be_hidden()
    expect(board.get_by_label("Compare OpenHands (Claude 3.7)", exact=True)).not_to_be_checked()


def test_a_phone_shows_cards_and_keeps_the_filters_in_a_drawer(board: Page) -> None:
    board.set_viewport_size({"width": 390, "height": 844})
    board.reload()
    expect(board.get_by_label("Category")).to_be_hidden()
    board.get_by_text("Filters", exact=True).click()
    board.get_by_text("More filters and columns").click()
    board.get_by_label("Inputs given").select_option("paper_only")
    expect(board.locator("#board .system-name")).to_have_count(3)
    for width in (390, 820):
        board.set_viewport_size({"width": width, "height": 844})
        board.goto("/")
        assert board.evaluate("document.documentElement.scrollWidth <= innerWidth")
        rows = board.locator("table.board tbody tr")
        boxes = [rows.nth(place).bounding_box() for place in range(rows.count())]
        assert [box for box in boxes if box is None or box["x"] + box["width"] > width] == []
        # A card begins with the system's name, whatever columns are chosen.
        board.goto("/?columns=backbone&columns=cost&columns=tests")
        corners = [cell.bounding_box() for cell in board.locator("table.board tbody tr").first.locator("th, td").all()]
        shown = [(box["y"], box["x"]) for box in corners if box]
        name = board.locator("table.board tbody .column-system").first.bounding_box()
        assert name is not None
        assert (name["y"], name["x"]) == min(shown)


def test_cards_are_sorted_by_a_list_and_no_key_leads_out_of_sight(board: Page) -> None:
    board.set_viewport_size({"width": 820, "height": 1180})
    board.goto("/")
    board.get_by_label("Sort by").select_option("System ↑")
    expect(board).to_have_url(re.compile(r"/\?sort=system$"))
    expect(board.locator("#board .system-name").first).to_have_text("GPT-4.1")
    assert systems(board) == sorted(systems(board), key=str.lower)
    board.get_by_label("Search").fill("gpt")
    expect(board.locator("#board .system-name")).to_have_count(4)
    assert systems(board) == sorted(systems(board), key=str.lower)
    matrix = board.locator("form.facets").get_by_role("link", name="Matrix")
    expect(matrix).to_have_attribute("href", re.compile(r"/matrix/\?q=gpt&sort=system$"))
    board.reload()
    expect(board.get_by_label("Sort by")).to_have_value("system")
    board.locator(".legend").get_by_role("link", name="Glossary").focus()
    board.keyboard.press("Tab")
    expect(board.locator("#board .scroll")).to_be_focused()
    board.keyboard.press("Tab")
    expect(board.get_by_label("Compare GPT-4.1", exact=True)).to_be_focused()
    label = board.locator("table.board .column-rater .triple-label").first
    assert label.evaluate("label => getComputedStyle(label).clipPath") == "none"
    board.goto("/systems/reported-openhands-gpt-4o/")
    expect(board.get_by_text("total only").filter(visible=True)).to_have_count(2)
    expect(board.get_by_text("totals only").filter(visible=True)).to_have_count(0)


def test_the_menu_holds_every_link_on_a_phone(board: Page) -> None:
    links = board.locator("#site-menu a").all_inner_texts()
    board.set_viewport_size({"width": 390, "height": 844})
    menu = board.locator("#site-menu")
    expect(menu).to_be_hidden()
    assert ends(board.locator(".site-header")) < 60
    board.get_by_role("button", name="Menu").click()
    expect(menu).to_be_visible()
    assert board.locator("#site-menu a:visible").all_inner_texts() == links
    board.keyboard.press("Escape")
    expect(menu).to_be_hidden()


def test_the_list_of_keys_and_the_search_open_by_key(board: Page) -> None:
    keys = board.locator("#site-keys")
    board.keyboard.press("?")
    expect(keys).to_be_visible()
    expect(keys).to_contain_text("Show or close this list")
    board.keyboard.press("?")
    expect(keys).to_be_hidden()
    board.keyboard.press("/")
    expect(board.get_by_label("Search")).to_be_focused()
    board.keyboard.press("?")
    expect(keys).to_be_hidden()
    board.goto("/status/")
    board.keyboard.press("/")
    expect(board).to_have_url(re.compile("/search/$"))
