"""Define the keys of the labelling page. They are fixed; annotators can disable them in their profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from reviews.models import Reviewer


class Key(NamedTuple):
    """A key, as spelled in the page's script, and its action."""

    key: str
    does: str


# docs/design/verdicts.md names the first twelve. Browsers reserve none of these keys.
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
    """Return the key of each action, or empty texts if the reviewer has disabled them."""
    return {action: "" if reviewer.keys_off else key.key for action, key in KEYS.items()}
