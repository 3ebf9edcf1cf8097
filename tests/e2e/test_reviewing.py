"""Reviewing in a real browser, by keyboard alone: sample disputes from the queue to their decisions."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.conftest import IN_FULL
from tests.e2e.conftest import REVIEW_LEASE_SECONDS
from tests.e2e.keyboard import TYPED, Maintainer, Person

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.e2e.conftest import Instance

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited")]

# The samples are three trials of each task.
CASES = 6 if IN_FULL else 3
MEASURED = """
import time
from evaluator.models import TestRun
from reviews.models import Case
deadline = time.monotonic() + 250
open = TestRun.objects.filter(implementation__in=Case.objects.values("implementation")).exclude(state="done")
while open.count() and time.monotonic() < deadline:
    time.sleep(0.5)
"""
# The first annotator has practised by keyboard; in short runs the others need not.
PRACTISED = """
from reviews.annotators.practice import next_practice
from reviews.labelling.locking import lock
from reviews.models import Reviewer
for reviewer in Reviewer.objects.filter(user__username__in=["shrew", "badger"]):
    while assignment := next_practice(reviewer):
        lock(assignment=assignment, label="CC", confidence=3, findings=[])
"""
SAMPLES = "/agreement/lmr-mini/?samples=1"
NOTE = "To be looked at again."
AGAIN = "button[name=act][value=resume]"
FIRST_CHANGES = "#label-diff .changes:has(tr:not(.docstring, .finding)) >> nth=0"


@pytest.fixture(scope="module")
def links(instance: Instance, browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[list[str]]:
    """Samples to review, and invitations of two annotators and an adjudicator, made by a maintainer."""
    output = instance.printed("sample_disputes", "--count", str(CASES))
    assert f"Sample cases: {CASES} (" in output
    context = browser.new_context(**browser_context_args)
    maintainer = Maintainer(context.new_page(), "marten", instance)
    made = [maintainer.invite(role) for role in ("annotator", "annotator", "adjudicator")]
    # Labels are compared with the unit tests once these have run.
    instance.printed("shell", "-c", MEASURED)
    yield made
    context.close()


def test_disputes_from_the_queue_to_their_decisions(
    browser: Browser, browser_context_args: dict[str, Any], instance: Instance, links: list[str]
) -> None:
    contexts = [browser.new_context(**browser_context_args) for _ in range(3)]
    first, second, third = (
        Person(context.new_page(), name) for context, name in zip(contexts, ("vole", "shrew", "badger"), strict=True)
    )
    first.join(links[0])
    item = _begin_with_a_draft(first)
    left_at = time.monotonic()
    for person, link in zip((second, third), links[1:], strict=True):
        if IN_FULL:
            person.join(link)
        else:
            person.accept(link)
    if not IN_FULL:
        instance.printed("shell", "-c", PRACTISED)
    # Wait until the draft's lease has expired.
    time.sleep(max(0, left_at + REVIEW_LEASE_SECONDS + 1 - time.monotonic()))
    _finish_the_draft(first, item)
    for _ in range(CASES - 1):
        first.take()
        first.label("CC")
    # There is nothing else to label: this instance samples no answers at random.
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
    # A row counts tasks; each task has three trials.
    tasks = f"{decided / 3:.1f}".removesuffix(".0")
    expect(page.locator("main")).to_contain_text(f"{tasks} decided")
    page.goto(SAMPLES)
    expect(page.locator("main")).to_contain_text("Annotators, first label")
    expect(page.locator("main")).to_contain_text("Decisions")
    expect(page.locator("main")).to_contain_text("Krippendorff")
    for context in contexts:
        context.close()


def _begin_with_a_draft(person: Person) -> str:
    """Save a draft, check it after a reload, leave the page, and return its address."""
    page = person.page
    person.take()
    item = page.url
    person.choose("LC")
    person.find(TYPED)
    person.press("Escape", "n")
    # Wait for the last word: forms encode the spaces between words.
    with page.expect_response(lambda answer: NOTE.split()[-1] in (answer.request.post_data or "")):
        page.keyboard.type(NOTE)
    expect(page.locator("#save-state")).to_have_text(re.compile("^Saved"))
    page.reload()
    _expect_draft(page)
    page.goto("/about/")
    return item


def _finish_the_draft(person: Person, item: str) -> None:
    """Lock the draft, which is kept after its lease has expired."""
    page = person.page
    page.goto("/reviews/")
    page.goto(item)
    # If the sweep has run, the item has expired and is resumed with its draft.
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


def _take_over(person: Person) -> None:
    """Take over each annotator's label and the first finding by keys, then choose another label and a shorter note."""
    page, note = person.page, person.page.locator("#note")
    expect(page.locator("#label-work[data-started]")).to_have_count(1)
    expect(page.locator(FIRST_CHANGES).locator("button.line:focus")).to_have_count(1)
    for name in "ab":
        label = page.locator(f"[value=take-{name.upper()}]").get_attribute("data-label")
        person.press(name)
        expect(page.locator(f"[name=label][value={label}]")).to_be_checked()
    person.press("j")
    expect(page.locator(".compare .finding button >> nth=0")).to_be_focused()
    person.press("f")
    expect(note).to_have_value(re.compile(re.escape(TYPED)))
    expect(page.locator("#save-state")).to_have_text(re.compile("^Saved"))
    person.press("u", "2")
    expect(note).to_have_value("")
    for key, pane in (("v", "judges"), ("i", "tests"), ("l", "label")):
        person.press(key)
        expect(page.locator(f"#pane-{pane}")).to_be_visible()


def _decide_all(person: Person) -> int:
    """Label each dispute blind, then decide it; return their number."""
    for number in range(CASES + 1):
        person.take()
        if "/label/" not in person.page.url:
            return number
        person.label("LC")
        expect(person.page).to_have_url(re.compile("/reviews/decide/"))
        _take_over(person)
        person.tick("reasons", "judge_error")
        person.tick("reasons", "equivalent")
        person.write("[name=note]", "The judge overlooked an equivalent form.")
        with person.page.expect_navigation():
            person.press("Control+Enter")
    pytest.fail("the queue of disputes does not become empty")
