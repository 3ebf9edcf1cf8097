"""Define the keys of labelling and adjudicating. They are fixed; annotators can disable them in their profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    "submit": Key("Ctrl+Enter", "Lock the label and take the next item"),
    "next_confidence": Key("c", "Next confidence: low, medium, high"),
    "find": Key("f", "Finding on the chosen lines"),
    "add_finding": Key("a", "Add a finding"),
    "ignore_blanks": Key("w", "Ignore whitespace"),
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


DECISION_KEYS: Final[dict[str, Key]] = {
    **{name: KEYS[name] for name in ("label_cc", "label_lc", "label_li")},
    "take_a": Key("a", "Take over annotator A's label"),
    "take_b": Key("b", "Take over annotator B's label"),
    **{name: KEYS[name] for name in ("next_finding", "previous_finding")},
    "find": Key("f", "Take over the finding, or name the chosen lines in the note"),
    "reasons": Key("c", "Choose reasons"),
    **{name: KEYS[name] for name in ("note", "toggle_diff", "ignore_blanks", "unfold", "wide")},
    "pane_label": Key("l", "Show labels and decision"),
    "pane_judges": Key("v", "Show the judge's votes"),
    "pane_tests": Key("i", "Show the unit tests"),
    **{name: KEYS[name] for name in ("pane_task", "pane_paper", "pane_code", "pane_changes", "search_paper")},
    **{name: KEYS[name] for name in ("guidelines", "undo", "save")},
    "submit": Key("Ctrl+Enter", "Decide and take the next case"),
    "help": KEYS["help"],
}
"""The keys of the adjudication page: those of the labelling page, and some for the evidence."""


def keys_of(reviewer: Reviewer, keys: Mapping[str, Key] = KEYS) -> dict[str, str]:
    """Return the key of each action, or empty texts if the reviewer has disabled them."""
    return {action: "" if reviewer.keys_off else key.key for action, key in keys.items()}


def key_rows(reviewer: Reviewer, keys: Mapping[str, Key] = KEYS, *, has_other_changes: bool) -> list[tuple[str, str]]:
    """Return the list of keys as a page shows it: each with its action."""
    of = keys_of(reviewer, keys)
    return [(of[action], key.does) for action, key in keys.items() if has_other_changes or action != "pane_changes"]
