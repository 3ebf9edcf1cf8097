"""The keys of the labelling page: what is shipped, and what a reviewer made of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviews.models import Reviewer

DEFAULT_KEYS: Final[dict[str, str]] = {
    "label_li": "1",
    "label_lc": "2",
    "label_cc": "3",
    "next_finding": "j",
    "previous_finding": "k",
    "toggle_diff": "d",
    "guidelines": "g",
    "note": "n",
    "skip": "s",
    "undo": "u",
    "help": "?",
    "submit": "Ctrl+Enter",
    "next_confidence": "c",
    "find": "f",
    "add_finding": "a",
    "ignore_blanks": "w",
    "unfold": "x",
    "wide": "e",
    "pane_label": "l",
    "pane_task": "t",
    "pane_paper": "p",
    "pane_code": "m",
    "pane_changes": "o",
    "search_paper": "/",
    "save": "r",
}
"""Action to key: first as JUDGING section 4 has them, then the rest, since every action has one."""

ACTIONS: Final[dict[str, str]] = {
    "label_li": "Logically incorrect (LI)",
    "label_lc": "Logically correct (LC)",
    "label_cc": "Completely correct (CC)",
    "next_finding": "Next finding",
    "previous_finding": "Previous finding",
    "toggle_diff": "Side by side or unified",
    "guidelines": "Guidelines",
    "note": "Write a note",
    "skip": "Skip this item",
    "undo": "Undo the last change",
    "help": "Show the keys",
    "submit": "Lock the label",
    "next_confidence": "Next confidence: low, medium, high",
    "find": "Finding on the chosen lines",
    "add_finding": "Add a finding",
    "ignore_blanks": "Ignore blanks",
    "unfold": "Unfold all",
    "wide": "Wider pane",
    "pane_label": "Show the label",
    "pane_task": "Show the task",
    "pane_paper": "Show the paper",
    "pane_code": "Show the masked code",
    "pane_changes": "Show other changes",
    "search_paper": "Search the paper",
    "save": "Save the draft now",
}
"""Action to what pages call it."""

_OFF: Final = "off"
_NAMES: Final = ("Enter", "Escape", "Space", "Tab", "Home", "End", "PageUp", "PageDown", "Insert", "Delete")
_NAMED = "|".join([*_NAMES, "F[1-9]", "F1[0-2]"])
_KEY: Final = re.compile(rf"(?P<modifiers>(?:(?:Ctrl|Alt|Shift)\+)*)(?P<key>[!-~]|{_NAMED})", re.ASCII | re.IGNORECASE)
_MODIFIERS: Final = ("Ctrl", "Alt", "Shift")
_IN_USE: Final = frozenset({"Enter", "Space", "Escape", "Tab"})
"""What the page needs for itself when pressed without Ctrl or Alt: buttons, dialogs, moving on, lines."""
_OF_BROWSERS: Final = {
    "Ctrl": frozenset("acflnpqrtvwxyz0123456789+-") | {"Tab", "PageUp", "PageDown", "Delete", "F4", "F5"},
    "Alt": frozenset({"Tab", "Space", "Escape", "Home", "F4"}),
    "": frozenset({"F1", "F5", "F6", "F11", "F12"}),
}
"""What browsers keep for themselves with Ctrl, with Alt, and alone, with or without Shift: tabs, windows, reloading,
zoom, search, and what one needs while typing. Pages do not get some of them at all."""


def keys_of(reviewer: Reviewer) -> dict[str, str]:
    """The key of each action of :data:`DEFAULT_KEYS`, empty where it is switched off."""
    if keys_are_off(reviewer):
        return dict.fromkeys(DEFAULT_KEYS, "")
    return chosen_keys(reviewer)


def chosen_keys(reviewer: Reviewer) -> dict[str, str]:
    """As :func:`keys_of`, whether or not they are all switched off.

    A shipped key that the reviewer has given to another action is that other action's alone.
    """
    own = {action: str(key) for action, key in reviewer.keys.items() if action in DEFAULT_KEYS}
    taken = set(own.values())
    return {action: own.get(action, "" if default in taken else default) for action, default in DEFAULT_KEYS.items()}


def keys_are_off(reviewer: Reviewer) -> bool:
    """Whether the reviewer has switched all keys off."""
    return reviewer.keys.get(_OFF) is True


def written(key: str) -> str:
    """A typed key in the one spelling that pages compare: ``ctrl + enter`` becomes ``Ctrl+Enter``, empty stays empty.

    Raises ``ValueError`` with a sentence for what is no key, or one that page or browser need themselves.
    """
    typed = re.sub(r"\s+", "", key)
    if not typed:
        return ""
    match = _KEY.fullmatch(typed)
    if match is None:
        msg = f"“{key[:30]}” is not a key; write one character, or a name like Enter, F2 or Ctrl+Enter."
        raise ValueError(msg)
    given = {modifier for modifier in _MODIFIERS if modifier.lower() in match["modifiers"].lower()}
    name = match["key"]
    name = name.lower() if len(name) == 1 else _named(name)
    if name in _IN_USE and not given & {"Ctrl", "Alt"}:
        msg = f"{name} is needed by the page itself; choose another key, or add Ctrl or Alt."
        raise ValueError(msg)
    if len(name) == 1 and not name.isalpha():
        given.discard("Shift")  # Which characters need Shift depends on the keyboard.
    spelt = "+".join([*(modifier for modifier in _MODIFIERS if modifier in given), name])
    if name in _OF_BROWSERS.get("+".join(sorted(given - {"Shift"}, reverse=True)), ()):
        msg = f"Browsers keep {spelt} for themselves; choose another key."
        raise ValueError(msg)
    return spelt


def changed_keys(chosen: Mapping[str, str], *, off: bool) -> dict[str, str | bool]:
    """What ``Reviewer.keys`` stores: only what differs from the shipped keys."""
    own: dict[str, str | bool] = {
        action: key for action, key in chosen.items() if action in DEFAULT_KEYS and key != DEFAULT_KEYS[action]
    }
    return {_OFF: True, **own} if off else own


def twice_used(chosen: Mapping[str, str]) -> dict[str, str]:
    """Of each action whose key an earlier action has already: that earlier action."""
    first: dict[str, str] = {}
    return {action: first[key] for action, key in chosen.items() if key and first.setdefault(key, action) != action}


def _named(name: str) -> str:
    return next((each for each in _NAMES if each.lower() == name.lower()), name.upper())
