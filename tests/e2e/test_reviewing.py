"""Reviewing in a real browser, by keyboard alone: ten sample disputes from the queue to their decisions."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import REVIEW_LEASE_SECONDS, sign_up
from tests.e2e.test_models import manage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e

CASES = 10
KEY = {"LI": "1", "LC": "2", "CC": "3"}
MAKE_MAINTAINER = "from submissions.models import User; User.objects.filter(username={name!r}).update(is_staff=True)"
MEASURED = """
from evaluator.models import TestRun
from reviews.models import Case
open = TestRun.objects.filter(implementation__in=Case.objects.values("implementation")).exclude(state="done")
print("waiting", open.count())
"""
MEASURED_SECONDS = 300
COMPUTED_MS = 120_000
SAMPLES = "/agreement/lmr-mini/?samples=1"
TYPED = "The reduction should be a mean, not a sum."
NOTE = "To be looked at again."
MOST_TABS = 400
AGAIN = "form[action$='/resume/'] button"
NEXT = "form[action='/reviews/next/'] button"


class Person:
    """Somebody with a browser and a keyboard. The mouse is never used, and fields are reached by Tab."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        sign_up(page, name)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def reach(self, selector: str) -> None:
        """Press Tab until the element has the focus."""
        for _ in range(MOST_TABS):
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            self.press("Tab")
        pytest.fail(f"{selector} cannot be reached by Tab on {self.page.url}")

    def follow(self, selector: str) -> None:
        """Reach a link or button, press Enter, and wait for the next page."""
        self.reach(selector)
        with self.page.expect_navigation():
            self.press("Enter")

    def write(self, selector: str, text: str) -> None:
        self.reach(selector)
        self.page.keyboard.type(text)

    def join(self, link: str) -> None:
        """Accept the invitation, fill in the profile, read the guidelines, and practise."""
        self.page.goto(link)
        self.follow("main form button")
        self.page.goto("/reviews/profile/")
        self.write("[name=affiliation]", "none")
        self.reach("[name=confirmed]")
        self.press("Space")
        self.follow("form[action*='/reviews/profile/#about'] button")
        self.page.goto("/reviews/guidelines/")
        self.follow("form.have-read button")
        self.page.goto("/reviews/")
        self.follow(NEXT)
        while "/label/" in self.page.url:
            self.label("LI")
            expect(self.page.locator("main")).to_contain_text("The known label")
            if self.page.get_by_text("Next practice item").count():
                self.follow(NEXT)
        expect(self.page.locator("main")).to_contain_text("You have seen all of them")

    def take(self) -> None:
        """The next item, unless locking the one before has brought it already."""
        if "/label/" not in self.page.url:
            self.page.goto("/reviews/")
            self.follow(NEXT)

    def label(self, label: str, *, typed: str = TYPED) -> None:
        """Give a label with high confidence, with a finding unless it is CC, and lock it."""
        expect(self.page.locator("html.has-js")).to_have_count(1)
        self.choose(label)
        if label != "CC":
            self.find(typed)
        with self.page.expect_navigation():
            self.press("Control+Enter")

    def choose(self, label: str) -> None:
        self.press(KEY[label])
        self.pick("confidence", "3")

    def pick(self, name: str, value: str) -> None:
        """Choose one of several radio buttons with the arrows."""
        self.reach(f"[name={name}]")
        for _ in range(20):
            self.press("ArrowDown")
            if self.page.evaluate("document.activeElement.value") == value:
                return
        pytest.fail(f"{name} has no {value}")

    def find(self, typed: str) -> None:
        """A finding on the first line of the candidate."""
        self.reach("button.line")
        self.press("Enter")
        self.page.keyboard.type(typed)


@pytest.fixture(scope="module")
def links(instance: Instance, browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[list[str]]:
    """Samples to review, and invitations of two annotators and an adjudicator, made by a maintainer."""
    said = manage(instance, "sample_disputes", "--count", str(CASES))
    assert f"Sample cases: {CASES} ({CASES} opened)" in said
    context = browser.new_context(**browser_context_args)
    maintainer = Person(context.new_page(), "marten")
    manage(instance, "shell", "-c", MAKE_MAINTAINER.format(name="marten"))
    made = []
    for role in ("annotator", "annotator", "adjudicator"):
        maintainer.page.goto("/reviews/people/")
        for name in ("annotator", "adjudicator"):
            box = maintainer.page.locator(f"[name={name}]")
            if box.is_checked() != (name == role):
                maintainer.reach(f"[name={name}]")
                maintainer.press("Space")
        maintainer.follow("form[action*='/reviews/people/invite/'] button")
        link = maintainer.page.locator("#invitation-link").input_value()
        maintainer.reach("[data-copies=invitation-link]")
        maintainer.press("Enter")
        expect(maintainer.page.locator("#invitation-link-copied")).to_have_text("Copied.")
        made.append(link)
    # Whether labels contradict the unit tests is known once these ran.
    deadline = time.monotonic() + MEASURED_SECONDS
    while "waiting 0" not in manage(instance, "shell", "-c", MEASURED) and time.monotonic() < deadline:
        time.sleep(1)
    yield made
    context.close()


def test_ten_disputes_from_the_queue_to_their_decisions(
    browser: Browser, browser_context_args: dict[str, Any], instance: Instance, links: list[str]
) -> None:
    contexts = [browser.new_context(**browser_context_args) for _ in range(3)]
    first, second, third = (
        Person(context.new_page(), name) for context, name in zip(contexts, ("vole", "shrew", "badger"), strict=True)
    )
    for person, link in zip((first, second, third), links, strict=True):
        person.join(link)

    _label_with_a_draft_and_an_expired_lease(first)
    for _ in range(CASES - 1):
        first.take()
        first.label("CC")
    expect(first.page).to_have_url(re.compile("/reviews/$"))

    for number in range(CASES):
        second.take()
        second.label("LI" if number % 2 else "CC")

    decided = _decide_all(third)
    assert decided >= CASES // 2

    page = first.page
    page.goto("/cases/?suite=lmr-mini")
    expect(page.locator("main table tbody tr")).to_have_count(CASES)
    page.locator("main table tbody a[href^='/cases/']").first.click()
    expect(page.locator("main")).to_contain_text(re.compile("judge.s error", re.IGNORECASE))
    page.goto("/board/lmr-mini/")
    # The samples are three trials of each task, and a row counts tasks.
    tasks = f"{decided / 3:.1f}".removesuffix(".0")
    expect(page.locator("main")).to_contain_text(f"{tasks} decided")
    page.goto(SAMPLES)
    expect(page.locator("main")).to_contain_text("Annotators, first label")
    expect(page.locator("main")).to_contain_text("Decisions")
    # A worker computes them, and the page follows by itself.
    expect(page.locator("main")).not_to_contain_text("not computed yet", timeout=COMPUTED_MS)
    expect(page.locator("main")).to_contain_text("Krippendorff")
    for context in contexts:
        context.close()


def _label_with_a_draft_and_an_expired_lease(person: Person) -> None:
    """The draft is there after a reload, and after the lease ran out with the page closed."""
    page = person.page
    person.take()
    item = page.url
    person.choose("LC")
    person.find(TYPED)
    person.press("Escape", "n")
    with page.expect_response(lambda answer: NOTE in (answer.request.post_data or "")):
        page.keyboard.type(NOTE)
    expect(page.locator("#save-state")).to_have_text(re.compile("^Saved"))
    page.reload()
    _expect_draft(page)
    page.goto("/about/")
    time.sleep(REVIEW_LEASE_SECONDS + 1)
    page.goto("/reviews/")
    page.goto(item)
    # The sweep may or may not have come by: what expired is taken up again with its draft.
    if page.locator(AGAIN).count():
        person.follow(AGAIN)
    _expect_draft(page)
    expect(page.locator("html.has-js")).to_have_count(1)
    with page.expect_navigation():
        person.press("Control+Enter")


def _expect_draft(page: Page) -> None:
    expect(page.locator("[name=label][value=LC]")).to_be_checked()
    expect(page.locator("[name=confidence][value='3']")).to_be_checked()
    expect(page.locator("[name=finding-0-text]")).to_have_value(TYPED)
    expect(page.locator("#note")).to_have_value(NOTE)


def _decide_all(person: Person) -> int:
    """Label each dispute blind, then decide it; say how many there were."""
    for number in range(CASES + 1):
        person.take()
        if "/label/" not in person.page.url:
            return number
        person.label("LC")
        expect(person.page).to_have_url(re.compile("/reviews/decide/"))
        person.press("2")
        person.pick("reason", "judge_error")
        person.write("[name=note]", "The judge overlooked an equivalent form.")
        with person.page.expect_navigation():
            person.press("Control+Enter")
    pytest.fail("the queue of disputes does not become empty")
