"""Forms of reviewing, except those of labelling and adjudicating (``labelling/forms.py``).

They validate single fields; the domain functions check the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django import forms

from benchmark_tasks.models import Suite
from reviews.annotators.conflicts import systems_to_choose
from reviews.annotators.guidelines import LONGEST_CHANGES, LONGEST_TEXT
from reviews.enums import CaseState
from submissions.domain.organisation_names import NO_AFFILIATION
from submissions.forms import LONGEST_REASON, refuse_hidden_characters

if TYPE_CHECKING:
    from django.http import QueryDict

    from reviews.models import GuidelineRevision, Reviewer
    from submissions.models import System

    _Systems = forms.ModelChoiceField[System]
else:
    _Systems = forms.ModelChoiceField

_LONGEST_EXPERTISE = 1000


def _reason(help_text: str) -> forms.CharField:
    return forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": 2}),
        validators=[refuse_hidden_characters],
    )


class InviteForm(forms.Form):
    """Invite an annotator by a link."""

    annotator = forms.BooleanField(required=False, initial=True, label="Annotator: labels blind")
    adjudicator = forms.BooleanField(required=False, label="Adjudicator: decides where raters disagree")
    note = forms.CharField(
        required=False,
        max_length=200,
        label="For whom",
        help_text="Seen by maintainers only.",
        validators=[refuse_hidden_characters],
    )


class RolesForm(forms.Form):
    """Change an annotator's roles."""

    annotator = forms.BooleanField(required=False, label="Annotator")
    adjudicator = forms.BooleanField(required=False, label="Adjudicator")
    active = forms.BooleanField(
        required=False,
        label="Active",
        help_text="An inactive annotator cannot label; existing labels stay.",
    )
    reason = _reason("Kept with the change, seen by maintainers.")

    @classmethod
    def of(cls, reviewer: Reviewer) -> RolesForm:
        """Return the form filled with the current roles."""
        held = {"annotator": reviewer.is_annotator, "adjudicator": reviewer.is_adjudicator, "active": reviewer.active}
        return cls(initial=held)


class ProfileForm(forms.Form):
    """An annotator's profile."""

    name = forms.CharField(required=False, max_length=120, label="Name", validators=[refuse_hidden_characters])
    shows_name = forms.BooleanField(
        required=False,
        label="Show my name with my labels",
        help_text="Otherwise closed cases show your pseudonym. You can change this at any time, also for old labels.",
    )
    affiliation = forms.CharField(
        required=False,  # but reported by the domain function, together with what else is missing
        max_length=160,
        label="Affiliation",
        help_text=f"Where you work or study, as a board would write it; “{NO_AFFILIATION}” if nowhere. "
        "You will not get answers of systems from there. Add other names of the same place as conflicts.",
        widget=forms.TextInput(attrs={"required": True}),
        validators=[refuse_hidden_characters],
    )
    expertise = forms.CharField(
        required=False,
        max_length=_LONGEST_EXPERTISE,
        label="Expertise",
        help_text="Fields, methods and libraries that you know well.",
        widget=forms.Textarea(attrs={"rows": 3}),
        validators=[refuse_hidden_characters],
    )
    keys_off = forms.BooleanField(
        required=False,
        label="Switch off the keys of labelling and adjudication",
        help_text="For screen readers and dictation software, which use single keys themselves.",
    )
    confirmed = forms.BooleanField(
        required=False,
        label="The list of conflicts on this page is complete",
    )

    def __init__(
        self, reviewer: Reviewer, data: QueryDict | None = None, *, typed: dict[str, str] | None = None
    ) -> None:
        """Fill the form with the stored values, with ``data`` to validate, or with text ``typed`` but not sent yet."""
        known = {name: getattr(reviewer, name, None) for name in self.base_fields}
        super().__init__(data, initial=known if typed is None else typed)
        if reviewer.conflicts_confirmed:
            again = "You have confirmed it. Do so again when conflicts or affiliation change."
            self.fields["confirmed"].help_text = again


class _SystemField(_Systems):
    def label_from_instance(self, obj: System) -> str:
        return f"{obj.name} ({obj.organisation})" if obj.organisation else obj.name


class ConflictForm(forms.Form):
    """Declare a conflict with one system or one organisation."""

    system = _SystemField(queryset=None, required=False, empty_label="none", label="System")
    organisation = forms.CharField(
        required=False,
        max_length=160,
        label="or organisation",
        help_text="Its name, as a board would write it. Upper and lower case do not matter.",
        validators=[refuse_hidden_characters],
    )

    def __init__(self, reviewer: Reviewer, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="conflict_%s")
        cast("forms.ModelChoiceField[System]", self.fields["system"]).queryset = systems_to_choose(reviewer)


class GuidelinesForm(forms.Form):
    """Publish the next revision of the guidelines."""

    made_from = forms.IntegerField(widget=forms.HiddenInput)
    text = forms.CharField(
        label="Guidelines",
        max_length=LONGEST_TEXT,
        help_text="Markdown.",
        widget=forms.Textarea(attrs={"rows": 30, "spellcheck": "true"}),
        strip=False,
        validators=[refuse_hidden_characters],
    )
    changes = forms.CharField(
        label="What is new",
        max_length=LONGEST_CHANGES,
        help_text="A sentence or two. Annotators read this and the changes before their next item.",
        widget=forms.Textarea(attrs={"rows": 2}),
        validators=[refuse_hidden_characters],
    )

    @classmethod
    def of(cls, revision: GuidelineRevision) -> GuidelinesForm:
        """Return the form filled with the current text."""
        return cls(initial={"made_from": revision.number, "text": revision.text})


class ReasonForm(forms.Form):
    """Give the reason for ending a review or lifting a flag. ``next`` is the address to return to."""

    reason = _reason("Kept in the audit log.")
    next = forms.CharField(required=False, widget=forms.HiddenInput, max_length=500)


class ExportForm(forms.Form):
    """Choose the labels to export, and the format."""

    format = forms.ChoiceField(
        choices=[("csv", "CSV, for spreadsheets"), ("jsonl", "JSON Lines, for programs")], label="Format"
    )
    suite = forms.ModelChoiceField(
        Suite.objects.all(), to_field_name="slug", required=False, label="Suite", empty_label="all suites"
    )


class StateForm(forms.Form):
    """Filter the cases on the dashboard."""

    state = forms.ChoiceField(choices=[("", "all states"), *CaseState.choices], required=False, label="State")
