"""Each shortcut of the labelling page in a real browser: its effect, and its message where it cannot act."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from reviews.labelling.keys import KEYS
from tests.e2e.keyboard import NEXT, Maintainer, Person

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page, Route

    from tests.e2e.conftest import Instance

pytestmark = pytest.mark.e2e

FIRST_CHANGE = "#label-diff .changes tr:not(.docstring) button.line[data-side=candidate] >> nth=0"
MESSAGE = "#key-said"
SAVED_SECONDS = 30
ALL_SAVED = "!Object.keys(localStorage).some((key) => key.startsWith('lmr-board-label-'))"
LAST_TEXT = ".finding:last-child textarea"


@pytest.fixture(scope="module")
def annotator(instance: Instance, browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[Person]:
    """An annotator who has joined and holds the first practice item."""
    instance.printed("sample_disputes", "--count", "1")
    contexts = [browser.new_context(**browser_context_args) for _ in range(2)]
    link = Maintainer(contexts[0].new_page(), "stoat", instance).invite("annotator")
    person = Person(contexts[1].new_page(), "weasel")
    person.accept(link)
    person.follow(NEXT)
    yield person
    for context in contexts:
        context.close()


@pytest.fixture
def page(annotator: Person) -> Page:
    """The reloaded item. It has the text of earlier tests, so each test compares before with after."""
    load_again(annotator.page)
    return annotator.page


def load_again(page: Page) -> None:
    """Reload once all is saved."""
    await_saved(page)
    page.reload()
    expect(page.locator("html.has-js")).to_have_count(1)


def await_saved(page: Page) -> None:
    """Wait until the browser's copy of unsaved text is gone. The site's policy forbids a wait inside the page."""
    deadline = time.monotonic() + SAVED_SECONDS
    while not page.evaluate(ALL_SAVED):
        assert time.monotonic() < deadline, page.locator("#banners").inner_text()
        page.wait_for_timeout(50)


def press(page: Page, *actions: str) -> None:
    for action in actions:
        page.keyboard.press(KEYS[action].key.replace("Ctrl", "Control"))


def chooses(page: Page, action: str, label: str) -> None:
    press(page, "label_cc" if label == "LI" else "label_li", action)
    expect(page.locator(f"[name=label][value={label}]")).to_be_checked()


def turns(page: Page, action: str, button: str) -> None:
    """The key toggles the state that ``button`` shows, twice."""
    shown = page.locator(f'#label-diff [data-act="{button}"]')
    before = shown.get_attribute("aria-pressed")
    press(page, action)
    expect(shown).to_have_attribute("aria-pressed", "false" if before == "true" else "true")
    press(page, action)
    expect(shown).to_have_attribute("aria-pressed", before or "")


def opens(page: Page, action: str, dialog: str) -> None:
    press(page, action)
    expect(page.locator(f"#{dialog}")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(f"#{dialog}")).not_to_be_visible()


def shows(page: Page, action: str, pane: str) -> None:
    press(page, "pane_task" if pane == "pane-label" else "pane_label", action)
    expect(page.locator(f"#{pane}")).to_be_visible()
    expect(page.locator(f".label-tabs a[href='#{pane}']")).to_be_focused()


def focuses(page: Page, action: str, field: str) -> None:
    """The key moves the focus to a field, in which keys are no shortcuts."""
    press(page, action)
    expect(page.locator(field)).to_be_focused()
    before = page.locator(field).input_value()
    page.keyboard.type("c2f")
    expect(page.locator(field)).to_have_value(f"{before}c2f")


def adds(page: Page, action: str, start: str) -> None:
    """The key adds a finding on line ``start``, and text typed next goes into it: its keys are no shortcuts."""
    before = page.locator(".finding").count()
    label = page.locator("[name=label]:checked").get_attribute("value", timeout=1000) if before else None
    press(page, action)
    page.keyboard.type("1 just types, and 2 or 3 do too?")
    expect(page.locator(".finding")).to_have_count(before + 1)
    expect(page.locator(LAST_TEXT)).to_have_value("1 just types, and 2 or 3 do too?")
    expect(page.locator(".finding:last-child [name$=-start]")).to_have_value(start)
    if label:
        expect(page.locator(f"[name=label][value={label}]")).to_be_checked()


def moves(page: Page, action: str, place: int) -> None:
    """Without a focused finding the key goes to the first or last one; after the end a message is shown."""
    for text in ("one", "the other"):
        press(page, "add_finding")
        page.keyboard.type(text)
        page.keyboard.press("Escape")
    load_again(page)
    press(page, action)
    expect(page.locator(".finding").nth(place)).to_be_focused()
    for _ in range(page.locator(".finding").count()):
        press(page, action)
    explains(page, action, "there is no further finding.")


def explains(page: Page, action: str, why: str) -> None:
    """The key cannot act, and the page gives the reason."""
    press(page, action)
    expect(page.locator(MESSAGE)).to_have_text(f"{KEYS[action].key}: {why}")


def undoes(page: Page, action: str, label: str) -> None:
    press(page, "label_li", "label_cc", action)
    expect(page.locator(f"[name=label][value={label}]")).to_be_checked()


def cycles(page: Page, action: str, name: str) -> None:
    seen = set()
    for _ in range(3):
        press(page, action)
        seen.add(page.locator(f"[name={name}]:checked").get_attribute("value"))
    assert seen == {"1", "2", "3"}


def unfolds(page: Page, action: str, button: str) -> None:
    if not page.locator("#label-diff tbody.fold-button").count():
        explains(page, action, "no unchanged lines are folded here.")
        return
    press(page, action)
    expect(page.locator(f'#label-diff [data-act="{button}"]')).to_have_attribute("aria-pressed", "true")


def posts(page: Page, action: str, method: str) -> None:
    with page.expect_response(lambda answer: answer.request.method == method and answer.status == 200):
        press(page, action)


def refuses(page: Page, action: str, message: str) -> None:
    """An incomplete label is not locked, and the page names the missing part."""
    press(page, "label_li")
    while page.locator(".finding").count():
        page.locator('[data-act="remove-finding"]').first.click()
    press(page, action)
    expect(page.locator("#banners")).to_contain_text(message)


CHECKS: dict[str, tuple[Callable[[Page, str, Any], None], Any]] = {
    "label_cc": (chooses, "CC"),
    "label_lc": (chooses, "LC"),
    "label_li": (chooses, "LI"),
    "next_finding": (moves, 0),
    "previous_finding": (moves, -1),
    "toggle_diff": (turns, "layout"),
    "guidelines": (opens, "guidelines"),
    "note": (focuses, "#note"),
    "skip": (opens, "leave"),
    "undo": (undoes, "LI"),
    "help": (opens, "keys-help"),
    "submit": (refuses, "Not locked yet."),
    "next_confidence": (cycles, "confidence"),
    "add_finding": (adds, ""),
    "ignore_blanks": (turns, "whitespace"),
    "unfold": (unfolds, "unfold"),
    "wide": (turns, "wide"),
    "pane_label": (shows, "pane-label"),
    "pane_task": (shows, "pane-task"),
    "pane_paper": (shows, "pane-paper"),
    "pane_code": (shows, "pane-code"),
    "pane_changes": (explains, "the answer changes nothing else."),
    "search_paper": (focuses, '[data-paper="query"]'),
    "save": (posts, "POST"),
}


@pytest.mark.parametrize("action", [action for action in KEYS if action != "find"])
def test_each_shortcut_acts_from_the_initial_focus(page: Page, action: str) -> None:
    check, subject = CHECKS[action]
    check(page, action, subject)


def test_a_finding_on_the_first_change_takes_one_key(page: Page) -> None:
    line = page.locator(FIRST_CHANGE)
    expect(line).to_be_focused()
    adds(page, "find", line.get_attribute("data-line") or "")


def test_a_phone_shows_title_and_task_first(page: Page) -> None:
    size = page.viewport_size
    assert size
    page.set_viewport_size({"width": 390, "height": 500})
    page.goto(page.url)  # a reload would restore the scroll position
    expect(page.locator(FIRST_CHANGE)).to_be_focused()
    assert page.evaluate("scrollY") == 0
    page.set_viewport_size(size)


def test_a_list_without_findings_explains_how_to_add_one(page: Page) -> None:
    """The empty list contains a line feed, as in templates."""
    hint = "list => (list.replaceChildren('\\n'), getComputedStyle(list, '::before').content)"
    assert "press f" in page.locator("#label-findings").evaluate(hint)
    page.reload()


def test_arrows_move_over_the_lines_from_the_start_and_after_a_field(page: Page) -> None:
    first = int(page.locator(FIRST_CHANGE).get_attribute("data-line") or "")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    chosen = page.locator("#label-diff button.line[aria-current=true]")
    assert [line.get_attribute("data-line") for line in chosen.all()] == [str(first + 1), str(first + 2)]
    press(page, "note")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#label-diff button.line[aria-current=true]")).to_have_attribute("data-line", str(first + 1))


def test_a_key_that_cannot_act_gives_the_reason(page: Page) -> None:
    explains(page, "undo", "there is nothing to undo.")
    press(page, "help", "label_li")
    expect(page.locator("#keys-help")).to_contain_text("3: Close this first, with Esc.")
    page.keyboard.press("Escape")
    press(page, "label_li")
    expect(page.locator(MESSAGE)).to_have_text("")


def test_text_for_a_missing_field_triggers_no_shortcut(page: Page) -> None:
    """Without a line to choose, as with removed code, ``f`` shows a message, and keys typed next are no shortcuts."""
    press(page, "label_li")
    await_saved(page)

    def without_lines(route: Route) -> None:
        answer = route.fetch()
        start, _, rest = answer.text().partition('<table class="compare" role="table">')
        route.fulfill(response=answer, body=start + rest.partition("</table>")[2])

    page.route(page.url, without_lines)
    page.reload()
    expect(page.locator("html.has-js")).to_have_count(1)
    page.keyboard.type("f2 or 3 lines are wrong")
    expect(page.locator(MESSAGE)).to_have_text("f: there is no line to choose.")
    expect(page.locator("[name=label][value=LI]")).to_be_checked()
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.unroute(page.url)
