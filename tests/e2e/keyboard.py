"""Reviewing by keyboard, for the browser tests: users without a mouse, and a maintainer who invites them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import sign_up

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Instance

KEY = {"CC": "1", "LC": "2", "LI": "3"}
MAKE_MAINTAINER = "from submissions.models import User; User.objects.filter(username={name!r}).update(is_staff=True)"
TYPED = "The reduction should be a mean, not a sum."
MOST_TABS = 400
NEXT = "form[action='/reviews/next/'] button"


class Person:
    """A user with a browser and a keyboard but no mouse, who reaches fields by Tab."""

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

    def accept(self, link: str) -> None:
        """Accept the invitation, fill in the profile, and read the guidelines."""
        self.page.goto(link)
        self.follow("main form button")
        self.page.goto("/reviews/profile/")
        self.write("[name=affiliation]", "none")
        self.reach("[name=confirmed]")
        self.press("Space")
        self.follow("form[action*='/reviews/profile/#about'] .actions button:not([formaction])")
        self.page.goto("/reviews/guidelines/")
        self.follow("form.have-read button")
        self.page.goto("/reviews/")

    def join(self, link: str) -> None:
        """Become a reviewer: :meth:`accept`, and practise."""
        self.accept(link)
        self.follow(NEXT)
        while "/label/" in self.page.url:
            self.label("LI")
            expect(self.page.locator("main")).to_contain_text("The known label")
            if self.page.get_by_text("Next practice item").count():
                self.follow(NEXT)
        expect(self.page.locator("main")).to_contain_text("You have seen all of them")

    def take(self) -> None:
        """Take the next item, unless locking the previous one has opened it already."""
        if "/label/" not in self.page.url:
            self.page.goto("/reviews/")
            self.follow(NEXT)

    def label(self, label: str, *, typed: str = TYPED) -> None:
        """Give a label with high confidence, with a finding unless it is CC, and lock it."""
        expect(self.page.locator("#label-work[data-started]")).to_have_count(1)
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

    def tick(self, name: str, value: str) -> None:
        """Tick one of several boxes."""
        self.reach(f"[name={name}][value={value}]")
        self.press("Space")

    def find(self, typed: str) -> None:
        """Add a finding on the first line of the candidate."""
        self.reach("button.line")
        self.press("Enter")
        self.page.keyboard.type(typed)


class Maintainer(Person):
    """A user whom an operator has made a maintainer."""

    def __init__(self, page: Page, name: str, instance: Instance) -> None:
        super().__init__(page, name)
        instance.printed("shell", "-c", MAKE_MAINTAINER.format(name=name))

    def invite(self, role: str) -> str:
        """Make an invitation with one role and return its link."""
        self.page.goto("/reviews/people/")
        for name in ("annotator", "adjudicator"):
            box = self.page.locator(f"[name={name}]")
            if box.is_checked() != (name == role):
                self.reach(f"[name={name}]")
                self.press("Space")
        self.follow("form[action*='/reviews/people/invite/'] button")
        link = self.page.locator("#invitation-link").input_value()
        self.reach("[data-copies=invitation-link]")
        self.press("Enter")
        expect(self.page.locator("#announced")).to_have_text("Copied.")
        return link
