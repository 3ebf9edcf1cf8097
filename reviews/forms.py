"""What reviewers type about themselves, and maintainers about reviewers and guidelines. The verbs are in ``domain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django import forms

from reviews.people.conflicts import (
    NO_AFFILIATION,
    UNCONFIRMED,
    conflicts_confirmed,
    systems_to_choose,
)
from reviews.people.guidelines import LONGEST_CHANGES, LONGEST_TEXT
from submissions.forms import LONGEST_REASON, refuse_hidden_characters

if TYPE_CHECKING:
    from django.http import QueryDict

    from reviews.models import GuidelineRevision, Reviewer
    from submissions.models import System

    _Systems = forms.ModelChoiceField[System]
else:
    _Systems = forms.ModelChoiceField

_LONGEST_EXPERTISE = 1000


class InviteForm(forms.Form):
    """Inviting somebody by a link."""

    annotator = forms.BooleanField(required=False, initial=True, label="Annotator: labels blind")
    adjudicator = forms.BooleanField(required=False, label="Adjudicator: decides where raters disagree")
    note = forms.CharField(
        required=False,
        max_length=200,
        label="For whom",
        help_text="Seen by maintainers only.",
        validators=[refuse_hidden_characters],
    )

    def clean(self) -> dict[str, Any]:
        """A link has to give something."""
        data = super().clean() or self.cleaned_data
        if not data.get("annotator") and not data.get("adjudicator"):
            self.add_error("annotator", "Choose at least one role.")
        return data


class RolesForm(forms.Form):
    """Changing what a reviewer may do."""

    annotator = forms.BooleanField(required=False, label="Annotator")
    adjudicator = forms.BooleanField(required=False, label="Adjudicator")
    active = forms.BooleanField(
        required=False,
        label="Active",
        help_text="Without this tick the person labels nothing; what was labelled stays.",
    )
    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="Kept with the change, seen by maintainers.",
        widget=forms.Textarea(attrs={"rows": 2}),
        validators=[refuse_hidden_characters],
    )

    @classmethod
    def of(cls, reviewer: Reviewer) -> RolesForm:
        """The form filled with what holds now."""
        held = {"annotator": reviewer.is_annotator, "adjudicator": reviewer.is_adjudicator, "active": reviewer.active}
        return cls(initial=held)


class ProfileForm(forms.Form):
    """What a reviewer says of oneself."""

    name = forms.CharField(required=False, max_length=120, label="Name", validators=[refuse_hidden_characters])
    shows_name = forms.BooleanField(
        required=False,
        label="Show my name beside my labels",
        help_text="Otherwise closed cases show your pseudonym. You can change this at any time, for old labels too.",
    )
    affiliation = forms.CharField(
        max_length=160,
        label="Affiliation",
        help_text=f"Where you work or study, as a board would write it; “{NO_AFFILIATION}” if nowhere. "
        "You will not get answers of systems from there. Other names of the same place: add them as conflicts.",
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
        label="Switch the keys of the labelling page off",
        help_text="For screen readers and dictation, which use single keys themselves.",
    )
    confirmed = forms.BooleanField(
        required=False,
        label="The list of conflicts on this page is complete",
    )

    def __init__(self, reviewer: Reviewer, data: QueryDict | None = None) -> None:
        """The form of what holds now, and of what was typed."""
        known = {name: getattr(reviewer, name, None) for name in self.base_fields}
        super().__init__(data, initial=known)
        self.reviewer = reviewer
        if conflicts_confirmed(reviewer):
            again = "You have confirmed it. Do so again when conflicts or affiliation change."
            self.fields["confirmed"].help_text = again

    def clean(self) -> dict[str, Any]:
        """A name that shall be shown has to be given, and what is new in conflicts and affiliation confirmed."""
        data = super().clean() or self.cleaned_data
        if not data.get("confirmed") and not conflicts_confirmed(self.reviewer, data.get("affiliation")):
            self.add_error("confirmed", UNCONFIRMED)
        if data.get("shows_name") and not data.get("name") and "name" not in self.errors:
            self.add_error("name", "Type the name that shall be shown, or take the tick below away.")
        return data

    def facts(self) -> dict[str, Any]:
        """What :func:`reviews.people.reviewers.update_profile` takes."""
        return self.cleaned_data


class _SystemField(_Systems):
    def label_from_instance(self, obj: System) -> str:
        return f"{obj.name} ({obj.organisation})" if obj.organisation else obj.name


class ConflictForm(forms.Form):
    """Declaring a conflict with one system or one organisation."""

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

    def clean(self) -> dict[str, Any]:
        """One of both."""
        data = super().clean() or self.cleaned_data
        if not self.errors and bool(data.get("system")) == bool(data.get("organisation")):
            self.add_error("organisation", "Choose a system, or type an organisation; one of both.")
        return data


class GuidelinesForm(forms.Form):
    """The next revision of the guidelines."""

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
        help_text="A sentence or two. Reviewers read this and the difference before their next item.",
        widget=forms.Textarea(attrs={"rows": 2}),
        validators=[refuse_hidden_characters],
    )

    @classmethod
    def of(cls, revision: GuidelineRevision) -> GuidelinesForm:
        """The form filled with the text in force."""
        return cls(initial={"made_from": revision.number, "text": revision.text})
