"""What the lists of submissions and the maintainers' page read from addresses and forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.db.models import Q

from benchmark_tasks.models import Suite
from leaderboard.board.board import titles_told_apart
from leaderboard.http import query_with
from leaderboard.runs.own_submissions import DEFAULT_SORT, SORT_KEYS
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.forms import LONGEST_REASON
from submissions.models import AuditEvent, Submission, User

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import QueryDict

LARGEST_QUOTA = 10_000
_FILTERS = ("q", "suite", "state", "visibility")


class OwnSubmissionsForm(forms.Form):
    """Reads ``?q=&suite=&state=&visibility=&sort=``. A wrong value counts as no filter."""

    q = forms.CharField(
        required=False, max_length=100, label="Search", widget=forms.TextInput(attrs={"type": "search"})
    )
    suite = forms.ChoiceField(required=False, label="Suite")
    state = forms.ChoiceField(required=False, label="State", choices=[("", "any"), *SubmissionState.choices])
    visibility = forms.ChoiceField(required=False, label="Visibility", choices=[("", "any"), *Visibility.choices])
    sort = forms.ChoiceField(
        required=False,
        widget=forms.HiddenInput,
        choices=[(value, value) for key in SORT_KEYS for value in (key, f"-{key}")],
    )

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        suites = [(suite.slug, title) for suite, title in titles_told_apart(Suite.objects.all())]
        cast("forms.ChoiceField", self.fields["suite"]).choices = [("", "any"), *suites]
        self.is_valid()

    def filters(self) -> dict[str, str]:
        """The valid filters, empty where there is none."""
        return {name: self.cleaned_data.get(name, "") for name in _FILTERS}

    def sort_key(self) -> str:
        """One of ``SORT_KEYS``, with "-" before it to descend."""
        return self.cleaned_data.get("sort") or DEFAULT_SORT

    def columns(self, params: QueryDict) -> dict[str, dict[str, str]]:
        """Per sortable column its link and its ``aria-sort`` state; the newest come first."""
        sort = self.sort_key()
        columns = {}
        for key in SORT_KEYS:
            state = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
            descends = key == "date" if state == "none" else state == "ascending"
            target = f"-{key}" if descends else key
            address = query_with(params, sort=None if target == DEFAULT_SORT else target, page=None)
            columns[key] = {"query": address, "state": state}
        return columns


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


class AuditFilterForm(forms.Form):
    """Reads ``?verb=&subject=`` of the audit events."""

    verb = forms.ChoiceField(required=False, label="What was done", choices=[("", "anything"), *Verb.choices])
    subject = forms.CharField(
        required=False,
        max_length=100,
        label="To what, or by whom",
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "name, submission 12, user name"}),
    )

    def events(self) -> QuerySet[AuditEvent]:
        """The events that the address asks for, newest first. ``submission 12`` means exactly that row."""
        self.is_valid()
        given: dict[str, Any] = self.cleaned_data
        events = AuditEvent.objects.select_related("actor")
        if given.get("verb"):
            events = events.filter(verb=given["verb"])
        text = given.get("subject", "")
        kind, _, number = text.partition(" ")
        if number.strip().isdigit():
            return events.filter(subject_kind=kind.lower(), subject_id=number.strip())
        if text:
            events = events.filter(Q(subject_text__icontains=text) | Q(actor__username__icontains=text))
        return events
