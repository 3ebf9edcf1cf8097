"""The keys of the labelling page. They are fixed; an annotator may switch them off in the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from reviews.models import Reviewer


class Key(NamedTuple):
    """A key, as the page's script spells it, and what it does."""

    key: str
    does: str


# docs/design/verdicts.md names the first twelve. None is a key that browsers keep for themselves.
KEYS: Final[dict[str, Key]] = {
    "label_cc": Key("1", "Completely correct (CC)"),
    "label_lc": Key("2", "Logically correct (LC)"),
    "label_li": Key("3", "Logically incorrect (LI)"),
    "next_finding": Key("j", "Next finding"),
    "previous_finding": Key("k", "Previous finding"),
    "toggle_diff": Key("d", "Side by side or unified"),
    "guidelines": Key("g", "Guidelines"),
    "note": Key("n", "Write a note"),
    "skip": Key("s", "Skip this item"),
    "undo": Key("u", "Undo the last change"),
    "help": Key("?", "Show the keys"),
    "submit": Key("Ctrl+Enter", "Lock the label"),
    "next_confidence": Key("c", "Next confidence: low, medium, high"),
    "find": Key("f", "Finding on the chosen lines"),
    "add_finding": Key("a", "Add a finding"),
    "ignore_blanks": Key("w", "Ignore blanks"),
    "unfold": Key("x", "Unfold all"),
    "wide": Key("e", "Wider pane"),
    "pane_label": Key("l", "Show the label"),
    "pane_task": Key("t", "Show the task"),
    "pane_paper": Key("p", "Show the paper"),
    "pane_code": Key("m", "Show the masked code"),
    "pane_changes": Key("o", "Show other changes"),
    "search_paper": Key("/", "Search the paper"),
    "save": Key("r", "Save the draft now"),
}


def keys_of(reviewer: Reviewer) -> dict[str, str]:
    """The key of each action, empty where the reviewer has switched them off."""
    return {action: "" if reviewer.keys_off else key.key for action, key in KEYS.items()}
