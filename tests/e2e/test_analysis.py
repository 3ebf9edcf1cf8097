"""The charts of the analysis pages in a real browser, under the site's policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.test_pages import PHONE, violations
from tests.evaluator.processes import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e

ANALYSIS = "/analysis/lmr-bench/"
DRAWN = 9
"""Charts of the shipped results, whose cost, dates and agents' steps are unknown."""


@pytest.fixture(scope="module", autouse=True)
def _computed(instance: Instance) -> None:
    """Wait until a worker has computed the analysis."""
    wait_until(lambda: "A worker computes this" not in instance.get(ANALYSIS)[1], "the analysis", seconds=600)


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """Messages of the browser's console: errors, warnings, and violations of the policy."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: messages.append(str(error)))
    return messages


def drawn(page: Page) -> None:
    """Scroll to every chart, and wait until all are drawn."""
    for chart in page.locator("figure.chart").all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator("svg.main-svg").first).to_be_visible()
    expect(page.locator("figure.chart[data-drawn]")).to_have_count(DRAWN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn_without_console_messages(page: Page, complaints: list[str], scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(ANALYSIS)
    expect(page.locator("figure.chart")).to_have_count(DRAWN)
    drawn(page)
    ink = page.evaluate("getComputedStyle(document.body).color")
    written = page.locator("#scores .ytick text").first
    assert written.evaluate("text => getComputedStyle(text).fill") == ink
    assert violations(page) == []
    assert complaints == []


def test_the_library_is_loaded_after_the_page_and_only_for_charts(page: Page) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto("/board/lmr-bench/")
    assert not [url for url in requests if "plotly" in url]
    # Only the page's own script has its address, and requests it when a chart comes into view.
    assert 'src="/static/vendor/plotly' not in page.request.get(ANALYSIS).text()
    page.goto(ANALYSIS)
    expect(page.locator("#scores svg.main-svg").first).to_be_visible()
    assert len([url for url in requests if "plotly-basic" in url]) == 1
    # Charts below the fold are not requested yet.
    assert not [url for url in requests if "figure=errors" in url]


def test_switching_colours_redraws(page: Page, complaints: list[str]) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(ANALYSIS)
    label = page.locator("#scores .ytick text").first
    expect(label).to_be_visible()
    light = label.evaluate("text => getComputedStyle(text).fill")
    page.locator("#theme-toggle").click()
    expect(page.locator("#scores figure.chart")).to_have_attribute("data-drawn", "dark")
    assert label.evaluate("text => getComputedStyle(text).fill") not in {light, ""}
    assert complaints == []


def test_every_point_can_be_read_by_keyboard(page: Page) -> None:
    page.goto(ANALYSIS)
    box, status = page.locator("#scores .chart-box"), page.locator("#scores [role=status]")
    expect(box).to_have_attribute("role", "application")
    box.focus()
    page.keyboard.press("ArrowRight")
    expect(status).to_have_text("OpenHands (Claude 3.7) (reported): 50.0 % of tests, 95 % interval 32.6 to 67.4")
    expect(page.locator("#scores .hoverlayer")).to_contain_text("Claude 3.7")
    page.keyboard.press("End")
    expect(status).to_contain_text("OpenHands (GPT-4o)")
    page.keyboard.press("Escape")
    expect(status).to_be_empty()
    # The chart does not trap the focus: Tab leads on.
    page.keyboard.press("Tab")
    expect(page.locator("#scores summary")).to_be_focused()


def test_a_figure_can_be_downloaded(page: Page, complaints: list[str], tmp_path: Path) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(ANALYSIS)
    with page.expect_download() as begun:
        page.locator("#scores").get_by_role("button", name="SVG").click()
    assert begun.value.suggested_filename == "lmr-bench-scores.svg"
    begun.value.save_as(tmp_path / "scores.svg")
    drawing = (tmp_path / "scores.svg").read_text(encoding="utf-8")
    assert "OpenHands (Claude 3.7)" in drawing
    # The background is white in any colour scheme, for use in papers.
    assert "rgb(255, 255, 255)" in drawing
    with page.expect_download() as begun:
        page.locator("#scores").get_by_role("link", name="CSV").click()
    assert begun.value.suggested_filename == "lmr-bench-v1-scores.csv"
    assert complaints == []


def test_without_javascript_the_tables_have_all_values(browser: Browser, browser_context_args: dict[str, Any]) -> None:
    context = browser.new_context(**browser_context_args, java_script_enabled=False)
    page = context.new_page()
    page.goto(ANALYSIS)
    expect(page.locator("#scores tbody tr")).to_have_count(7)
    expect(page.locator("#scores tbody tr").first).to_contain_text("50.0")
    expect(page.locator("figure.chart").first).to_be_hidden()
    context.close()


def test_a_phone_never_scrolls_sideways(page: Page, complaints: list[str]) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(ANALYSIS)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert complaints == []
