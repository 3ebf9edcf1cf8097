"""Freezing a board in a real browser, and citing it."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import sign_up
from tests.e2e.keyboard import MAKE_MAINTAINER
from tests.e2e.test_pages import SCHEMES, violations
from tests.evaluator.processes import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e
LIST = "/board/lmr-bench/snapshots/"


def test_a_maintainer_freezes_a_board_and_a_visitor_cites_it(
    browser: Browser, browser_context_args: dict[str, Any], instance: Instance
) -> None:
    # Rank bands are computed by a worker, after the first start.
    wait_until(lambda: "column-rank" in instance.get("/board/lmr-bench/")[1], "the ranks", seconds=300)
    maintainer = browser.new_context(**browser_context_args).new_page()
    sign_up(maintainer, "bittern")
    instance.printed("shell", "-c", MAKE_MAINTAINER.format(name="bittern"))
    maintainer.goto("/")
    maintainer.get_by_role("link", name="Maintain").click()
    maintainer.get_by_role("link", name="Suites", exact=True).click()
    maintainer.get_by_role("row", name="LMR-BENCH").get_by_role("link", name="Freeze").click()
    expect(maintainer.get_by_text("16 rows, with")).to_be_visible()
    maintainer.get_by_label("Title").fill("as published")
    maintainer.get_by_label("Why it is frozen").fill("For the first paper.")
    maintainer.get_by_role("button", name="Preview").click()
    expect(maintainer.locator("#preview")).to_contain_text("LMR-BENCH board, snapshot")
    assert violations(maintainer) == []
    # The board may change meanwhile: workers of the new instance still finish.
    maintainer.get_by_role("button", name="Preview again").click()
    maintainer.get_by_role("button", name="Freeze the board").click()
    expect(maintainer.get_by_role("button", name="Copy Citation")).to_be_visible()
    expect(maintainer.get_by_text("The board is frozen as snapshot")).to_be_visible()
    context = browser.new_context(**browser_context_args, permissions=["clipboard-read", "clipboard-write"])
    visitor = context.new_page()
    _cites(visitor)
    maintainer.context.close()
    context.close()


def _cites(page: Page) -> None:
    page.on("console", lambda message: pytest.fail(message.text) if message.type == "error" else None)
    page.goto("/")
    page.get_by_role("link", name="Snapshots to cite").click()
    page.get_by_role("link", name="as published").click()
    expect(page.get_by_text("Every number above is still the current one.")).to_be_visible()
    page.get_by_role("button", name="Copy BibTeX").click()
    expect(page.locator("#announced")).to_have_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("@misc{lmrbenchsnapshot")
    assert page.url in copied
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the archive").click()
    content = Path(download.value.path()).read_bytes()
    assert hashlib.sha256(content).hexdigest() in page.content()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert sum(name.endswith("/board.csv") for name in archive.namelist()) == 1
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        excess = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(excess) <= 0
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert violations(page) == []
    page.get_by_role("link", name="Snapshots", exact=True).click()
    expect(page).to_have_url(re.compile(f"{LIST}$"))
    assert violations(page) == []
