"""A newcomer's walk: the finding, its evidence, a comparison, a citation, an embedded chart, and a submission."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.e2e.conftest import Instance

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited")]
LEADER, SECOND = "OpenHands (Claude 3.7)", "GPT-4.1"


@pytest.fixture
def visitor(page: Page, instance: Instance) -> Page:
    """The front page, whose ranks are computed; errors in the console fail the test."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.on("console", lambda message: pytest.fail(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto("/")
    return page


def copied(page: Page, button: str) -> str:
    """The text that a Copy button puts on the clipboard."""
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator("#announced")).to_have_text("Copied.")
    text: str = page.evaluate("navigator.clipboard.readText()")
    page.evaluate("document.getElementById('announced').textContent = ''")
    return text


def test_from_the_finding_to_an_embedded_chart(visitor: Page, browser: Browser) -> None:
    _reads_the_finding(visitor)
    _steps_through_the_evidence(visitor)
    _compares_the_leaders(visitor)
    _cites(visitor)
    _embeds(visitor, browser)


def _reads_the_finding(page: Page) -> None:
    expect(page.locator("h1")).to_have_text(f"{LEADER} solves 14 of 28 tasks.")
    expect(page.locator(".certainty")).to_have_text(
        "With 28 tasks, it cannot be distinguished from three of the four other systems measured task by task."
    )
    lines = page.locator(".finding-chart .line-name").all_inner_texts()
    assert lines == page.locator("#board .system-name").all_inner_texts()
    expect(page.locator(".line-rank").first).to_have_text("1st to 4th")


def _steps_through_the_evidence(page: Page) -> None:
    row = page.locator("#board tbody tr", has_text=SECOND).first
    mark = row.locator("a.m").first
    mark.focus()
    page.keyboard.press("Enter")
    panel = page.locator("dialog[open]")
    tasks = [(each.get_attribute("aria-label") or "").partition(":")[0] for each in row.locator("a.m").all()[:3]]
    for task, key in zip(tasks, ("ArrowRight", "ArrowRight", "ArrowDown"), strict=True):
        expect(panel.locator("h1, h2").first).to_have_text(re.compile(f"{task} by {SECOND}"))
        expect(page).to_have_url(re.compile(f"/board/lmr-bench/answers/r-no-agent-gpt-4.1/{task}/$"))
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(f"/board/lmr-bench/answers/r-no-agent-o4-mini/{tasks[2]}/$"))
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/$"))


def _compares_the_leaders(page: Page) -> None:
    for name in (LEADER, SECOND):
        page.get_by_label(f"Compare {name}", exact=True).check()
    page.get_by_role("button", name="Compare 2").click()
    expect(page.locator(".finding")).to_contain_text("a fair coin does as well")
    expect(page.locator(".compare-tasks tbody")).to_have_count(6)


def _cites(page: Page) -> None:
    page.get_by_role("link", name="Cite", exact=True).click()
    expect(page).to_have_url(re.compile("/about/#cite$"))
    text = copied(page, "Copy code 1")
    assert text.startswith("@inproceedings{yan2025lmrbench,")
    assert text.rstrip().endswith("}")


def _embeds(page: Page, browser: Browser) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Analysis").click()
    title = page.locator(".analysis-figure h2").first.inner_text()
    page.get_by_role("link", name="Link and embed").first.click()
    expect(page.locator("h1")).to_contain_text(title)
    line = copied(page, "Copy the line to embed the chart")
    assert title in line
    with _another_site(f"<!doctype html><title>Elsewhere</title>{line}") as address:
        other = browser.new_page()
        other.goto(address)
        expect(other.frame_locator("iframe").locator("svg").first).to_be_visible()
        other.close()


@contextmanager
def _another_site(html: str) -> Iterator[str]:
    """Serve a page on a port of its own, so from another origin; not a routed one, whose frames browsers block."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_the_three_commands_lead_to_a_result(visitor: Page, owner: BrowserContext, tmp_path: Path) -> None:
    expect(visitor.get_by_role("heading", name="Try it in ten minutes on LMR-Mini")).to_be_visible()
    commands = [copied(visitor, f"Copy {what}") for what in _COMMANDS]
    tokens = owner.new_page()
    tokens.goto("/accounts/tokens/")
    tokens.locator("main [name=name]").fill("first try")
    tokens.locator("main form button[type=submit]").last.click()
    token = tokens.get_by_label("Token", exact=True).input_value()
    environment = {**os.environ, "LMR_BOARD_TOKEN": token, "HOME": str(tmp_path)}
    for command in commands:
        if command.startswith("curl ") and not shutil.which("curl"):
            _, _, address = command.rpartition(" ")
            with urlopen(address) as response:
                (tmp_path / "lmr_board.py").write_bytes(response.read())
            continue
        shell = ["bash", "-c", command]
        ended = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        # The stubs are no answers, so the last command reports that tasks failed, and no other error.
        assert "Traceback" not in ended.stderr, ended.stderr
        assert ended.returncode == 0 or command is commands[-1], ended.stderr
    assert "0 of 9" in ended.stdout
    tokens.goto("/my/")
    expect(tokens.locator("tbody tr", has_text="My first system")).to_contain_text("scored")


_COMMANDS = (
    "the command that downloads the client",
    "the command that downloads and unpacks the kit",
    "the command that submits",
)
