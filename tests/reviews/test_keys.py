"""The keys of the labelling page: shipped, changed, switched off."""

from __future__ import annotations

import pytest

from reviews.domain import keys
from reviews.domain.keys import DEFAULT_KEYS, changed_keys, keys_of, twice_used, written
from reviews.models import Reviewer


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
    }
    assert keys.ACTIONS.keys() == DEFAULT_KEYS.keys()


def test_own_keys_and_those_switched_off() -> None:
    own = keys_of(Reviewer(keys={"skip": "x", "undo": ""}))
    assert (own["skip"], own["undo"], own["help"]) == ("x", "", "?")
    off = Reviewer(keys={"off": True, "skip": "x"})
    assert (set(keys_of(off).values()), keys.keys_are_off(off)) == ({""}, True)


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
        ("Ctrl++", "Ctrl++"),
        ("alt+f", "Alt+f"),
    ],
)
def test_one_spelling(typed: str, spelt: str) -> None:
    assert written(typed) == spelt


@pytest.mark.parametrize("typed", ["xy", "F13", "Meta+x", "ä", "Ctrl+", "x" * 300])
def test_what_is_no_key(typed: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        written(typed)


@pytest.mark.parametrize("typed", ["Enter", "space", "Escape", "f", "Shift+Enter"])
def test_what_the_page_needs_itself(typed: str) -> None:
    with pytest.raises(ValueError, match="needed by the page itself"):
        written(typed)


def test_keys_of_two_actions() -> None:
    assert twice_used({"skip": "x", "undo": "x", "note": "", "help": ""}) == {"undo": "skip"}
