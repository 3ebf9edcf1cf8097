"""The main job in a real browser: from signing up to a row on the board, and one failing answer opened."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from evaluator.outcomes import Outcome
from tests.e2e.conftest import PRINTED, publish, sign_up, submit_bundle

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Instance

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited")]

SYSTEM = "Otter Solver"
SCORED_MS = 180_000


def outcomes_shown(page: Page) -> dict[str, str]:
    """Outcome by task, from the submission's table."""
    rows = page.locator("table.answers tbody tr").all()
    return {row.locator("th").inner_text(): row.locator(".outcome").inner_text() for row in rows}


def test_from_sign_up_to_the_board(page: Page, instance: Instance) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    sign_up(page, "beaver")

    page.goto("/suites/lmr-mini/")
    with page.expect_download() as download:
        page.get_by_text("Download the task kit").click()
    with zipfile.ZipFile(download.value.path()) as kit:
        names = kit.namelist()
    assert any(name.endswith("tasks.json") for name in names)
    assert not [name for name in names if "golden" in name]

    submit_bundle(page, instance.bundle(system=SYSTEM))
    # From here on the page must update without a reload.
    page.evaluate("window.neverReloaded = true")
    # An element that a visitor resizes, or an extension marks, has a style attribute. htmx once copied it to updated
    # elements, which violates the policy, so that the browser logged an error at each update.
    page.evaluate("document.addEventListener('securitypolicyviolation', (event) => console.error(event.sample))")
    page.evaluate("document.querySelector('#live #progress').style.outline = '1px solid'")
    expect(page.locator("#live .state")).to_have_text("scored", timeout=SCORED_MS)
    assert page.evaluate("window.neverReloaded") is True
    assert outcomes_shown(page) == {task: Outcome(outcome).words for task, outcome in instance.outcomes.items()}
    passed = sum(outcome == "passed" for outcome in instance.outcomes.values())

    publish(page)
    page.goto("/board/lmr-mini/")
    row = page.locator("table.board tr", has_text=SYSTEM)
    expect(row).to_contain_text(f"{passed} of {len(instance.outcomes)}")
    row.get_by_role("link", name="uploaded").click()

    raised = next(task for task, outcome in instance.outcomes.items() if outcome == "raised")
    page.get_by_role("link", name=raised, exact=True).click()
    expect(page.locator(".answer-outcome")).to_have_text("The answer fails its unit tests: it raises an error.")
    expect(page.locator("pre.log")).to_contain_text(PRINTED)
    added = page.locator(".unified .compare tr:not(.equal) .text.right")
    expect(added.filter(has_text="return compute_as_in_the_paper()")).to_have_count(1)
    expect(added.filter(has_text=PRINTED)).to_contain_text("only new text:")
    removed = page.locator(".unified .compare tr:not(.equal) .text.left")
    expect(removed.filter(has_text="raise NotImplementedError")).to_have_count(1)
    assert complaints == []

    # An anonymous visitor sees the same answer, without actions.
    page.context.clear_cookies()
    page.reload()
    expect(page.locator("pre.log")).to_contain_text(PRINTED)
    page.get_by_role("link", name=re.compile("submission")).first.click()
    expect(page.get_by_role("button", name="Withdraw")).to_have_count(0)
    expect(page.get_by_text("download as sent")).to_have_count(0)
