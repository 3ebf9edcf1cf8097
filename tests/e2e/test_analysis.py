"""The charts of the analysis pages in a real browser, under the site's policy, and on another site."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.test_pages import PHONE, violations
from tests.evaluator.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e

ANALYSIS = "/analysis/lmr-bench/"
SCORES = f"{ANALYSIS}figures/scores/"
DRAWN = 11
"""Charts of the shipped results, whose cost, dates, agents' steps and marked errors are unknown."""
LONGEST = 3500


@pytest.fixture(scope="module", autouse=True)
def _computed(instance: Instance) -> None:
    """Wait until a worker has computed the analysis."""
    wait_until(lambda: "a worker computes this" not in instance.get(ANALYSIS)[1], "the analysis", seconds=600)


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """Messages of the browser's console: errors, warnings, and violations of the policy."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: messages.append(str(error)))
    return messages


@contextmanager
def another_site(body: str) -> Iterator[str]:
    """Serve one page from another origin, which is another port: browsers let no public page frame a local one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b'<link rel="icon" href="data:,">' + body.encode())

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn_in_the_page_s_colours(page: Page, complaints: list[str], scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(ANALYSIS)
    expect(page.locator("figure.chart svg.drawing")).to_have_count(DRAWN)
    ink = page.evaluate("getComputedStyle(document.body).color")
    name = page.locator("#scores svg text").get_by_text("OpenHands (Claude 3.7)", exact=True)
    assert name.evaluate("text => getComputedStyle(text).fill") == ink
    assert violations(page) == []
    assert complaints == []


def test_the_page_is_short_and_its_list_of_figures_follows(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(ANALYSIS)
    assert page.locator("main").evaluate("main => main.scrollHeight") <= LONGEST
    current = page.locator(".figure-list [aria-current]")
    expect(current.first).to_have_text("Scores with intervals")
    page.locator(".figure-list").get_by_role("link", name="Tasks by category").click()
    expect(page.locator("#tasks h2")).to_be_in_viewport()
    expect(current.last).to_have_text("Tasks by category")
    expect(current.last).to_be_in_viewport()


def test_points_show_their_values_to_the_pointer_and_to_the_keyboard(page: Page, complaints: list[str]) -> None:
    best = "OpenHands (Claude 3.7) (reported): 50.0 % of tests, 95 % interval 32.6 to 67.4"
    page.goto(ANALYSIS)
    chart = page.locator("#scores figure.chart")
    tip, status = chart.locator(".chart-tip"), chart.locator("[role=status]")
    chart.locator(".mark").first.hover()
    expect(tip).to_have_text(best)
    page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    expect(chart).to_have_attribute("role", "application")
    chart.focus()
    page.keyboard.press("ArrowRight")
    expect(status).to_have_text(best)
    expect(tip).to_have_text(best)
    page.keyboard.press("End")
    expect(status).to_contain_text("OpenHands (GPT-4o)")
    page.keyboard.press("Escape")
    expect(status).to_be_empty()
    expect(tip).to_be_hidden()
    # The chart does not trap the focus: Tab leads on.
    page.keyboard.press("Tab")
    expect(page.locator("#scores summary").first).to_be_focused()
    assert complaints == []


def test_a_figure_is_linked_downloaded_and_embedded(page: Page, complaints: list[str], instance: Instance) -> None:
    page.goto(ANALYSIS)
    page.locator("#scores h2 a").click()
    expect(page).to_have_url(f"{instance.address}{SCORES}")
    expect(page.locator("#figure-address")).to_have_value(f"{instance.address}{SCORES}")
    assert violations(page) == []
    with page.expect_download() as begun:
        page.get_by_role("link", name="CSV").click()
    assert begun.value.suggested_filename == "lmr-bench-v1-scores.csv"
    for form, kind in (("svg", "image/svg+xml"), ("png", "image/png")):
        assert page.request.get(f"{ANALYSIS}figures/scores.{form}").headers["content-type"] == kind
    line = page.locator("#figure-embed").input_value()
    with another_site(line) as address:
        page.goto(address)
        frame = page.frame_locator("iframe")
        expect(frame.locator("svg.drawing").first).to_be_visible()
        expect(frame.get_by_role("heading")).to_contain_text("OpenHands (Claude 3.7) passes the most, 14 of 28")
        assert frame.locator("html").evaluate("root => root.scrollHeight <= root.clientHeight")
    assert complaints == []


def test_without_javascript_charts_and_tables_have_all_values(
    browser: Browser, browser_context_args: dict[str, Any]
) -> None:
    context = browser.new_context(**browser_context_args, java_script_enabled=False)
    page = context.new_page()
    page.goto(SCORES)
    expect(page.locator("tbody tr")).to_have_count(7)
    expect(page.locator("tbody tr").first).to_contain_text("50.0")
    expect(page.locator("figure.wide-chart svg")).to_be_visible()
    title = page.locator("figure.wide-chart .mark title").first
    assert "95 % interval 32.6 to 67.4" in (title.text_content() or "")
    context.close()


def test_a_phone_never_scrolls_sideways(page: Page, complaints: list[str]) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for address in (ANALYSIS, SCORES, f"{SCORES}embed/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    expect(page.locator("figure.narrow-chart svg")).to_be_visible()
    expect(page.locator("figure.wide-chart svg")).to_be_hidden()
    assert complaints == []


def test_paper_has_figures_without_closed_data_and_links(page: Page, instance: Instance) -> None:
    page.goto(ANALYSIS)
    data = page.locator(".analysis-figure .data")
    expect(data.first).to_be_visible()
    page.emulate_media(media="print")
    expect(data.filter(visible=True)).to_have_count(0)
    expect(page.get_by_role("link", name="How each figure is computed")).to_be_hidden()
    expect(page.locator(".analysis-figure .chart").first).to_be_visible()
