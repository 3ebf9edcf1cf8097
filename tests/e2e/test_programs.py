"""Programs that act for a user: making a token, the client from kit to results, and the API's viewer."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.test_pages import SCHEMES, violations

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext

    from tests.e2e.conftest import Instance

OF_THE_VIEWER = {
    "button-name",  # the buttons that copy requests and responses are icons without text
    "heading-order",  # a level is missing between the title and the groups of operations
    "nested-interactive",  # the element that opens an operation contains a link and a button
    "scrollable-region-focusable",  # a long response scrolls, and cannot be focused
}
"""Violations that axe finds in Swagger UI's own elements once an operation was tried; we cannot change these.

Its colours are corrected in css/site.css. Without JavaScript the page is a plain table of the operations.
"""

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited")]


def test_from_a_token_to_results(instance: Instance, owner: BrowserContext, tmp_path: Path) -> None:
    page = owner.new_page()
    page.goto("/")
    page.get_by_role("navigation", name="Account").get_by_role("link", name="otter").click()
    page.get_by_role("link", name="Tokens").click()
    page.get_by_label("Name").fill("CI of otter")
    page.get_by_role("button", name="Create").click()
    secret = page.get_by_label("Token", exact=True).input_value()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(page) == []
    page.goto("/accounts/tokens/")
    expect(page.get_by_role("row", name="CI of otter")).to_contain_text("never")
    assert secret not in page.content()

    client, bundle = tmp_path / "lmr_board.py", tmp_path / "answers.zip"
    client.write_text(instance.get("/client/lmr_board.py")[1], encoding="utf-8")
    bundle.write_bytes(instance.bundle(system="Programmed Otter"))

    def printed(*arguments: str, code: int = 0) -> str:
        result = subprocess.run(
            [sys.executable, "-I", str(client), *arguments],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LMR_BOARD_TOKEN": secret},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert result.returncode == code, (result.stdout, result.stderr)
        return result.stdout

    with zipfile.ZipFile(tmp_path / printed("kit", "lmr-mini").strip()) as kit:
        assert "tasks.json" in kit.namelist()
    applying = printed("validate", "answers.zip", code=int("bad_patch" in instance.outcomes.values()))
    assert "can be submitted: " in applying
    number = printed("submit", "answers.zip", "--anyway").strip()
    assert f"submission {number} (Programmed Otter on lmr-mini): scored, " in printed(
        "status", number, "--watch", "--timeout", "200"
    )
    rows = [line.split(",") for line in printed("results", number, "--csv").splitlines()[1:]]
    assert {row[0]: row[2] for row in rows} == instance.outcomes
    page.goto("/accounts/tokens/")
    expect(page.get_by_role("row", name="CI of otter")).not_to_contain_text("never")
    page.get_by_role("button", name="Revoke CI of otter").click()
    expect(page.get_by_text("CI of otter is revoked.")).to_be_visible()
    printed("status", number, code=3)


def test_the_viewer_draws_every_operation_under_the_strict_policy(owner: BrowserContext) -> None:
    page = owner.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text) if message.type in {"error", "warning"} else None)
    page.goto("/api/v1/docs/")
    paths = page.request.get("/api/v1/openapi.json").json()["paths"]
    expect(page.locator(".opblock")).to_have_count(sum(map(len, paths.values())))
    page.locator(".opblock", has_text="/api/v1/suites").first.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("200")
    assert messages == []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert {found.split(": ")[1].split(" at ")[0] for found in violations(page)} == OF_THE_VIEWER
