"""The board in a real browser: landing, filtering, opening a mark, comparing two rows, downloading the data."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e


@pytest.fixture
def board(page: Page, instance: Instance) -> Page:
    """The landing page at the width of a laptop; errors in the console fail the test."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.on("console", lambda message: pytest.fail(message.text) if message.type == "error" else None)
    page.goto("/")
    return page


def systems(page: Page) -> list[str]:
    return page.locator("#board .system-name").all_inner_texts()


def test_ten_rows_are_visible_without_scrolling(board: Page) -> None:
    rows = board.locator("table.board tbody tr")
    boxes = [rows.nth(place).bounding_box() for place in range(rows.count())]
    assert sum(box is not None and box["y"] + box["height"] <= 900 for box in boxes) >= 10
    assert {round(box["height"] / 10) for box in boxes if box} == {4}
    assert board.evaluate("document.fonts.check('1em \"Source Sans 3\"')")
    header = board.locator(".site-header nav, .site-header .wordmark")
    assert len({round(header.nth(place).bounding_box()["y"] / 40) for place in range(header.count())}) == 1  # type: ignore[index]


def test_filters_apply_at_once_and_are_in_the_address(board: Page) -> None:
    everything = systems(board)
    # Thirteen reported rows, and three below them whose answers were measured again.
    assert len(everything) == 16
    board.get_by_label("Inputs given").select_option("paper_only")
    expect(board).to_have_url(re.compile(r"/\?inputs=paper_only$"))
    expect(board.locator("#board .system-name")).to_have_count(3)
    board.get_by_label("Search").fill("gpt-4.1")
    expect(board.locator("#board .system-name")).to_have_count(1)
    expect(board).to_have_url(re.compile(r"/\?q=gpt-4\.1&inputs=paper_only$"))
    shown = systems(board)
    board.reload()
    assert systems(board) == shown
    expect(board.get_by_label("Search")).to_have_value("gpt-4.1")
    board.get_by_role("link", name="Show all").click()
    assert systems(board) == everything


def test_a_link_pressed_after_typing_is_followed(board: Page) -> None:
    """Leaving the search once sent a request whose response moved another link under the pointer."""
    board.get_by_label("Search").press_sequentially("claude")
    expect(board).to_have_url(re.compile(r"\?q=claude$"))
    expect(board.locator("#board .system-name")).to_have_count(1)
    with board.expect_navigation(url="**/board/lmr-bench/matrix/**"):
        board.locator("#board").get_by_role("link", name="Matrix").click(delay=1_000)


def test_the_slider_counts_later_papers_only_by_keyboard_too(board: Page) -> None:
    slider = board.get_by_label("Papers first public")
    expect(slider).to_have_attribute("aria-valuetext", "papers of any date")
    slider.focus()
    board.keyboard.press("End")
    expect(board).to_have_url(re.compile(r"/\?papers=20[0-9]{2}-[0-9]{2}$"))
    expect(board.locator("#board .callout")).to_contain_text("papers that were first public after")
    expect(board.locator("#board th.column-cutoff")).to_have_count(1)
    number = re.search(r"\(([0-9]+)\)", slider.get_attribute("aria-valuetext") or "")
    assert number is not None
    assert board.locator("table.board tbody tr").first.locator("a.m").count() == int(number[1])
    board.keyboard.press("Home")
    expect(board.locator("#board th.column-cutoff")).to_have_count(0)
    expect(board).to_have_url(re.compile(r"/$"))


def test_columns_are_chosen_without_a_new_page(board: Page) -> None:
    board.evaluate("window.neverReloaded = true")
    board.get_by_text("More filters, columns").click()
    board.get_by_label("Backbone", exact=True).last.check()
    expect(board.locator("#board th.column-backbone")).to_have_count(1)
    board.get_by_label("Task by task").uncheck()
    expect(board.locator("#board .marks")).to_have_count(0)
    assert board.evaluate("window.neverReloaded") is True


def test_marks_are_reached_by_the_arrow_keys_and_show_their_title(board: Page) -> None:
    row = board.locator("table.board tbody tr", has_text="GPT-4.1").filter(has=board.locator(".marks")).first
    marks = row.locator("a.m")
    marks.first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp"):
        board.keyboard.press(key)
    expect(marks.nth(2)).to_be_focused()
    words = marks.nth(2).get_attribute("title") or ""
    assert re.fullmatch(r"[a-z/0-9-]+: tests (passed|failed), judge (CC|LC|LI), annotators (CC|LC|LI)", words)
    label = marks.nth(2).evaluate("mark => getComputedStyle(mark, '::after').content")
    assert label == f'"{words}"'
    board.keyboard.press("Enter")
    board.wait_for_url("**/cases/reported/**")
    expect(board.locator("main")).to_contain_text(words.partition(":")[0])


def test_two_systems_are_compared_and_the_table_is_downloaded(board: Page, tmp_path: Path) -> None:
    board.get_by_label("Compare GPT-4.1", exact=True).check()
    board.get_by_label("Compare OpenHands (Claude 3.7)", exact=True).check()
    board.get_by_role("button", name="Compare selected rows").click()
    expect(board.locator(".finding")).to_have_text(
        "OpenHands (Claude 3.7) and GPT-4.1 do not differ significantly on these 28 tasks: "
        "4 against 2 discordant, p = 0.69."
    )
    expect(board.locator("tr.discordant")).to_have_count(6)
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


def test_a_phone_shows_cards_and_keeps_the_filters_in_a_drawer(board: Page) -> None:
    board.set_viewport_size({"width": 390, "height": 844})
    board.reload()
    expect(board.get_by_label("Inputs given")).to_be_hidden()
    board.get_by_text("Filters", exact=True).click()
    board.get_by_label("Inputs given").select_option("paper_only")
    expect(board.locator("#board .system-name")).to_have_count(3)
    for width in (390, 820):
        board.set_viewport_size({"width": width, "height": 844})
        board.goto("/")
        assert board.evaluate("document.documentElement.scrollWidth") == width
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
