"""What adjudicators decide, and why maintainers end a review or lift a flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django import forms

from evaluator.enums import LABEL_CHOICES
from reviews.enums import ReasonCode
from submissions.forms import LONGEST_REASON, refuse_hidden_characters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.forms import BoundField

_REASON_TEXTS: Final[Mapping[str, str]] = {
    ReasonCode.BAD_TEST: "The unit tests accept wrong code, or refuse right code. Flags the task and every score that "
    "rests on it, until a maintainer lifts the flag.",
    ReasonCode.BAD_GOLDEN: "The golden function is not what paper and instruction ask for. Flags the task and every "
    "score that rests on it, until a maintainer lifts the flag.",
    ReasonCode.AMBIGUOUS_PAPER: "Paper and instruction can be read in more than one way, and the raters read them "
    "differently.",
    ReasonCode.RUBRIC_GAP: "The guidelines do not say what such code is to be called.",
    ReasonCode.ANNOTATOR_SLIP: "An annotator overlooked something, or took it for something else.",
    ReasonCode.JUDGE_ERROR: "The judge misread the code, or took it for something else.",
    ReasonCode.EQUIVALENT: "The code does the same as the golden function in another way, and was taken for wrong.",
}
"""When an adjudicator chooses each reason."""

SHORTEST_NOTE: Final = 10
LONGEST_NOTE: Final = 10_000


class DecideForm(forms.Form):
    """The final label, every reason why the raters differed, and a note that everybody can read afterwards."""

    label = forms.ChoiceField(
        choices=[(value, f"{value}, {meaning}") for value, meaning in LABEL_CHOICES],
        label="Final label",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose the final label."},
    )
    reasons = forms.MultipleChoiceField(
        choices=ReasonCode.choices,
        label="Why the raters differed (all reasons that apply)",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose why the raters differed."},
    )
    note = forms.CharField(
        min_length=SHORTEST_NOTE,
        max_length=LONGEST_NOTE,
        label="Note",
        help_text="What decides it, so that somebody else can check it. Public once you decide, with your pseudonym.",
        widget=forms.Textarea(attrs={"rows": 5}),
        validators=[refuse_hidden_characters],
    )

    def take_errors(self, errors: dict[str, str]) -> None:
        """Show what the domain found wrong beside the fields it is about."""
        for name, text in errors.items():
            self.add_error(name if name in self.fields else None, text)

    def explained_reasons(self) -> list[tuple[Any, str]]:
        """Each reason's box with the sentence that says when to choose it."""
        field: BoundField = self["reasons"]
        return [(widget, _REASON_TEXTS[str(widget.data["value"])]) for widget in field]


class BecauseForm(forms.Form):
    """Why something is ended or lifted. ``next`` is where to go afterwards."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        label="Reason",
        help_text="Kept in the record of who did what.",
        widget=forms.Textarea(attrs={"rows": 2}),
        validators=[refuse_hidden_characters],
    )
    next = forms.CharField(required=False, widget=forms.HiddenInput, max_length=500)
