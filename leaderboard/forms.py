"""An appeal, and the forms of the maintainers' page."""

from __future__ import annotations

from typing import Final

from django import forms

from submissions.forms import LONGEST_REASON, refuse_hidden_characters
from submissions.models import Submission, User

SHORTEST_EVIDENCE: Final = 30
LONGEST_EVIDENCE: Final = 5000
LARGEST_QUOTA: Final = 10_000


class AppealForm(forms.Form):
    """Evidence against an answer's label or outcome."""

    evidence = forms.CharField(
        min_length=SHORTEST_EVIDENCE,
        max_length=LONGEST_EVIDENCE,
        label="Evidence",
        help_text="What is wrong, and what shows it: a passage of the paper, a line of the code, an input that the "
        "test treats wrongly. Adjudicators read it, and it becomes public when the case is decided.",
        widget=forms.Textarea(attrs={"rows": 5}),
        validators=[refuse_hidden_characters],
    )


class SubmissionNumberForm(forms.Form):
    """Names a submission by its number."""

    submission = forms.IntegerField(label="Submission number", min_value=1, max_value=2**62)

    def clean_submission(self) -> Submission:
        """The submission."""
        number = self.cleaned_data["submission"]
        found = Submission.objects.filter(pk=number).first()
        if found is None:
            raise forms.ValidationError(f"There is no submission {number}; its number is in its address.")
        return found


class VisibilityForm(SubmissionNumberForm):
    """Hiding a submission, or showing it again."""

    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="Public: it stands where the submission was, and in its history.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class QuotaForm(forms.Form):
    """One person's daily limit."""

    username = forms.CharField(label="User name", max_length=150)
    daily = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_QUOTA,
        label="Submissions a day",
        help_text="Empty: the limit of this instance.",
    )
    reason = forms.CharField(label="Reason", max_length=LONGEST_REASON)

    def clean_username(self) -> User:
        """The account."""
        name = self.cleaned_data["username"]
        found = User.objects.filter(username=name).first()
        if found is None:
            raise forms.ValidationError(f"There is no account {name!r}; user names are case-sensitive.")
        return found
