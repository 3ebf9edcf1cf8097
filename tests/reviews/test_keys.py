"""The keys of the labelling page: shipped, changed, switched off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from reviews.labelling import keys
from reviews.labelling.keys import DEFAULT_KEYS, changed_keys, keys_of, twice_used, written
from reviews.models import Reviewer

ROOT: Final = Path(__file__).parents[2]
ARROWS: Final = ("↑", "↓", "←", "→", "Home", "End")


def test_the_shipped_keys() -> None:
    assert keys_of(Reviewer()) == {
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
    assert keys.ACTIONS.keys() == DEFAULT_KEYS.keys()
    assert twice_used(DEFAULT_KEYS) == {}
    assert {written(key) for key in DEFAULT_KEYS.values()} == set(DEFAULT_KEYS.values())


def test_the_page_acts_on_every_key() -> None:
    script = (ROOT / "static/js/labelling.js").read_text(encoding="utf-8")
    acts = script[script.index("const actions = {") : script.index("startKeys(")]
    assert set(re.findall(r"^  (\w+): (?:async )?\(\) =>", acts, re.MULTILINE)) == set(keys.ACTIONS)


def test_every_key_is_in_the_docs() -> None:
    table = (ROOT / "docs/reviewing.md").read_text(encoding="utf-8").split("**Keys.**")[1].split("**Drafts")[0]
    shown = {key for row in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE) for key in re.findall(r"`([^`]+)`", row)}
    assert shown == {*DEFAULT_KEYS.values(), "Enter", "Esc", *ARROWS}


def test_own_keys_and_those_switched_off() -> None:
    own = keys_of(Reviewer(keys={"skip": "x", "undo": ""}))
    assert (own["skip"], own["undo"], own["help"]) == ("x", "", "?")
    off = Reviewer(keys={"off": True, "skip": "x"})
    assert (set(keys_of(off).values()), keys.keys_are_off(off)) == ({""}, True)


def test_an_own_key_is_taken_from_the_action_that_was_shipped_with_it() -> None:
    """Who had chosen “x” for skipping before “unfold all” was shipped with it goes on skipping with it."""
    own = keys_of(Reviewer(keys={"skip": "x", "strange": "w"}))
    assert (own["skip"], own["unfold"], own["ignore_blanks"]) == ("x", "", "w")


def test_only_what_differs_is_stored() -> None:
    assert changed_keys({**DEFAULT_KEYS, "skip": "x", "strange": "y"}, off=False) == {"skip": "x"}
    assert changed_keys(DEFAULT_KEYS, off=True) == {"off": True}


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("", ""),
        (" ", ""),
        ("x", "x"),
        ("X", "x"),
        ("?", "?"),
        ("Shift+?", "?"),
        ("+", "+"),
        ("ctrl+Shift + enter", "Ctrl+Shift+Enter"),
        ("alt+ctrl+x", "Ctrl+Alt+x"),
        ("f2", "F2"),
        ("shift+pagedown", "Shift+PageDown"),
        ("Ctrl+;", "Ctrl+;"),
        ("Ctrl+Alt++", "Ctrl+Alt++"),
        ("ctrl+alt+w", "Ctrl+Alt+w"),
        ("alt+f", "Alt+f"),
        ("f", "f"),
    ],
)
def test_one_spelling(typed: str, spelt: str) -> None:
    assert written(typed) == spelt


@pytest.mark.parametrize("typed", ["xy", "F13", "Meta+x", "ä", "Ctrl+", "x" * 300])
def test_what_is_no_key(typed: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        written(typed)


@pytest.mark.parametrize("typed", ["Enter", "space", "Escape", "Tab", "shift+tab", "Shift+Enter"])
def test_what_the_page_needs_itself(typed: str) -> None:
    with pytest.raises(ValueError, match="needed by the page itself"):
        written(typed)


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        *(("Ctrl+w", "Ctrl+w"), ("ctrl+T", "Ctrl+t"), ("Ctrl+n", "Ctrl+n"), ("Ctrl+q", "Ctrl+q"), ("Ctrl+r", "Ctrl+r")),
        *(("Ctrl+l", "Ctrl+l"), ("ctrl+tab", "Ctrl+Tab"), ("Ctrl+Shift+w", "Ctrl+Shift+w"), ("Ctrl+1", "Ctrl+1")),
        *(("Ctrl++", "Ctrl++"), ("alt+f4", "Alt+F4"), ("f5", "F5"), ("Shift+F5", "Shift+F5")),
    ],
)
def test_what_browsers_keep(typed: str, spelt: str) -> None:
    with pytest.raises(ValueError, match=rf"^Browsers keep {re.escape(spelt)} for themselves; choose another key\.$"):
        written(typed)


def test_keys_of_two_actions() -> None:
    assert twice_used({"skip": "x", "undo": "x", "note": "", "help": ""}) == {"undo": "skip"}
