"""Checks of every page: accessibility, phone width, both colour schemes, and use without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.e2e.conftest import submit_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.e2e.conftest import Instance

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited")]

PHONE = {"width": 390, "height": 844}
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
PUBLIC = (
    "/",
    "/board/lmr-mini/",
    "/board/lmr-bench/matrix/",
    "/board/lmr-bench/answers/r-no-agent-gpt-4.1/dpo/1/",
    "/compare/lmr-bench/?row=r-no-agent-gpt-4.1&row=r-openhands-claude-3.7&row=r-no-agent-gpt-4o",
    "/agreement/lmr-bench/published/",
    "/analysis/lmr-mini/",
    "/analysis/lmr-bench/figures/scores/",
    "/suites/",
    "/suites/lmr-mini/",
    "/suites/lmr-mini/tasks/dpo/1/",
    "/submit/",
    "/docs/",
    "/search/?q=dpo",
    "/about/",
    "/status/",
    "/accounts/login/",
    "/accounts/signup/",
)
OWN = ("/my/",)


@pytest.fixture(scope="session")
def submission(browser: Browser, browser_context_args: dict[str, Any], signed_up: Any, instance: Instance) -> str:
    """The path of a submission that is scored."""
    context = browser.new_context(**browser_context_args, storage_state=signed_up)
    page = context.new_page()
    submit_bundle(page, instance.bundle(system="Pages"))
    expect(page.locator("#live .state")).to_have_text("scored", timeout=180_000)
    path = page.url.removeprefix(instance.address)
    context.close()
    return path


@pytest.fixture
def paths(submission: str) -> tuple[str, ...]:
    """Every kind of page that a submitter uses."""
    answers = [f"{submission}answers/{task}/1/" for task in ("dpo/1", "bertscore/1", "neuralcrf/1", "eda/1")]
    return (*PUBLIC, *OWN, submission, *answers)


@pytest.fixture
def visits(owner: BrowserContext) -> Iterator[Page]:
    """The owner's page."""
    page = owner.new_page()
    yield page
    page.close()


def violations(page: Page) -> list[str]:
    """The violations that axe finds on the page, with their elements."""
    page.wait_for_load_state()
    return [
        f"{page.url}: {found['id']} at {', '.join(str(node['target']) for node in found['nodes'])}"
        for found in Axe().run(page).response["violations"]
    ]


def violations_in_both_schemes(page: Page) -> list[str]:
    """Axe's violations in light and in dark colours, without transitions, so that axe measures final colours."""
    found: list[str] = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found += [f"{scheme}: {line}" for line in violations(page)]
    return found


def test_axe_finds_nothing(visits: Page, paths: tuple[str, ...]) -> None:
    found: list[str] = []
    for path in paths:
        visits.goto(path)
        found += violations_in_both_schemes(visits)
    assert found == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.in_full)])
def test_phones_never_scroll_sideways(visits: Page, paths: tuple[str, ...], scheme: Any) -> None:
    visits.emulate_media(color_scheme=scheme)
    visits.set_viewport_size(PHONE)  # type: ignore[arg-type]
    too_wide = {}
    for path in paths:
        visits.goto(path)
        excess = visits.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if excess > 0:
            too_wide[path] = excess
    assert too_wide == {}


def test_the_copy_button_covers_no_code(page: Page) -> None:
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/docs/api/")
        frame = page.locator(".copied").first
        button = frame.get_by_role("button", name="Copy").bounding_box()
        code = frame.locator("code").bounding_box()
        assert button is not None
        assert code is not None
        assert code["x"] + code["width"] <= button["x"]


def test_a_submission_is_readable_and_manageable_without_javascript(
    browser: Browser, browser_context_args: dict[str, Any], signed_up: Any, submission: str
) -> None:
    context = browser.new_context(**browser_context_args, storage_state=signed_up, java_script_enabled=False)
    page = context.new_page()
    page.goto(submission)
    expect(page.locator("#live .state")).to_have_text("scored")
    expect(page.locator("table.answers tbody tr")).to_have_count(9)
    page.locator("#publish button").click()
    expect(page.locator("#publish")).to_contain_text("Publishing needs your consent to show the code.")
    context.close()


def test_paper_has_the_line_of_each_case_but_no_other_closed_details(page: Page, instance: Instance) -> None:
    page.goto("/docs/")
    page.locator("main").evaluate(
        """main => main.innerHTML = '<ul class="case-list"><li><details><summary>Case 1</summary></details></li></ul>'
          + '<details><summary>Others</summary></details>'"""
    )
    page.emulate_media(media="print")
    expect(page.get_by_text("Case 1")).to_be_visible()
    expect(page.get_by_text("Others")).to_be_hidden()
