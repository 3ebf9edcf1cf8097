"""Define the forms of answer pages and of maintainers' pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from django import forms
from django.utils.html import escape

from benchmark_tasks.models import Suite
from evaluator.judging.configs import MOST_VOTES, VOTES, VOTES_WHEN_SPLIT
from evaluator.reevaluation import planning
from leaderboard.board.filters import suite_choices
from leaderboard.models.enums import NoticeKind
from reviews.cases.appeals import LONGEST_EVIDENCE, SHORTEST_EVIDENCE
from submissions.answers.manifest import LONGEST_NAME
from submissions.forms import LONGEST_REASON, refuse_hidden_characters
from submissions.models import Endpoint, Submission, System, Team, User

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet
    from django.http import QueryDict

    from evaluator.models import JudgeConfig
    from submissions.models import Organisation

LARGEST_QUOTA: Final = 10_000
LARGEST_NUMBER: Final = 2**62
NONE_SHOWN: Final = "none"


def _reason(help_text: str) -> forms.CharField:
    return forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class AppealForm(forms.Form):
    """Evidence against an answer's label or outcome."""

    evidence = forms.CharField(
        min_length=SHORTEST_EVIDENCE,
        max_length=LONGEST_EVIDENCE,
        label="Evidence",
        help_text="What is wrong, and the evidence: a passage of the paper, a line of the code, an input that the "
        "test handles wrongly. Adjudicators read it; it becomes public when the case is decided.",
        widget=forms.Textarea(attrs={"rows": 5}),
        validators=[refuse_hidden_characters],
    )


class EraseForm(forms.Form):
    """The typed name of the account that is to be erased."""

    typed = forms.CharField(
        label="Your user name",
        required=True,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, username: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.username = username
        self.fields["typed"].help_text = f"Type {escape(username)} to confirm that you mean this account."

    def clean_typed(self) -> str:
        """Require the account's name."""
        typed: str = self.cleaned_data["typed"]
        if typed.strip() != self.username:
            msg = f"This is not your user name. Nothing was erased. Type {self.username}."
            raise forms.ValidationError(msg)
        return typed


OCCASIONS: Final = {
    NoticeKind.SCORED: "submissions scored",
    NoticeKind.HELD: "submissions held",
    NoticeKind.PAUSED: "runs paused",
    NoticeKind.HIDDEN: "submissions hidden",
    NoticeKind.UNHIDDEN: "submissions no longer hidden",
    NoticeKind.JUDGED: "submissions labelled by the judges",
    NoticeKind.APPEAL: "appeals decided",
    NoticeKind.REVIEW: "answers that wait for your label",
}
"""The occasions of notices, as a list that begins with ``about`` has them."""


class MailChoiceForm(forms.Form):
    """Choose the notices to receive by e-mail as well."""

    kinds = forms.MultipleChoiceField(
        label="Notices by e-mail", required=False, choices=OCCASIONS, widget=forms.CheckboxSelectMultiple
    )


class SubmissionNumberForm(forms.Form):
    """Select a submission by its number."""

    submission = forms.IntegerField(label="Submission number", min_value=1, max_value=LARGEST_NUMBER)

    def clean_submission(self) -> Submission:
        """Return the submission."""
        number = self.cleaned_data["submission"]
        found = Submission.objects.filter(pk=number).first()
        if found is None:
            raise forms.ValidationError(f"There is no submission {number}; its number is in its address.")
        return found


class VisibilityForm(SubmissionNumberForm):
    """Hide a submission or show it again."""

    reason = _reason("Public: shown in the submission's place and in its history.")


class AccountForm(forms.Form):
    """Select an account by its user name."""

    username = forms.CharField(label="User name", max_length=150)

    def clean_username(self) -> User:
        """Return the account."""
        name = self.cleaned_data["username"]
        found = User.objects.filter(username=name).first()
        if found is None:
            raise forms.ValidationError(f"There is no account {name!r}; user names are case-sensitive.")
        return found


class _LimitForm(forms.Form):
    """Set a daily limit."""

    daily = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_QUOTA,
        label="Submissions a day",
        help_text="Empty: the usual limit.",
    )
    reason = forms.CharField(label="Reason", max_length=LONGEST_REASON)


class TeamQuotaForm(_LimitForm):
    """Set one team's daily limit."""

    slug = forms.ModelChoiceField(
        Team.objects.all(),
        to_field_name="slug",
        error_messages={"invalid_choice": "There is no such team; it may have been renamed."},
    )


class QuotaForm(AccountForm, _LimitForm):
    """Set one account's daily limit."""

    field_order = ("username", "daily", "reason")


class DomainsField(forms.CharField):
    """E-mail domains, one per line; cleaned to a list."""

    widget = forms.Textarea(attrs={"rows": 3})

    def clean(self, value: Any) -> Any:
        """Return the lines that are not empty; the domain operation checks each."""
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class OrganisationChangeForm(forms.Form):
    """Homepage and e-mail domains of an organisation."""

    homepage = forms.URLField(label="Homepage", required=False, max_length=300, assume_scheme="https")
    domains = DomainsField(
        label="E-mail domains",
        required=False,
        max_length=LONGEST_REASON,
        help_text="One per line: example.org for addresses at exactly that domain, *.example.org for its subdomains. "
        "Every account with such an address, once it is verified, may use the name: enter no domain of a mail service.",
    )

    @classmethod
    def of(cls, organisation: Organisation) -> OrganisationChangeForm:
        """Return the form filled with the current values."""
        domains = "\n".join(organisation.domains)
        return cls(initial={"homepage": organisation.homepage, "domains": domains})


class OrganisationForm(OrganisationChangeForm):
    """Register an organisation."""

    name = forms.CharField(
        label="Name",
        max_length=LONGEST_NAME,
        help_text="As systems are to show it. It cannot be changed. Names that differ in case, spacing, punctuation, "
        "accents or characters that look alike count as the same; register another name of the organisation "
        "separately.",
        validators=[refuse_hidden_characters],
    )
    field_order = ("name", "homepage", "domains")


class NameGrantForm(AccountForm):
    """Let an account use an organisation's name."""

    reason = _reason("For maintainers: how you know that the account belongs to the organisation.")


class NameEndForm(AccountForm):
    """End an account's use of an organisation's name."""

    reason = _reason("For maintainers.")


class SystemNameForm(forms.Form):
    """Confirm or revoke what one system declares."""

    system = forms.ModelChoiceField(
        System.objects.all(),
        to_field_name="slug",
        widget=forms.HiddenInput,
        error_messages={"required": "Name the system.", "invalid_choice": "There is no such system."},
    )
    reason = _reason("For maintainers.")


class RemoveNameForm(forms.Form):
    """Remove an organisation that was registered by mistake."""

    reason = _reason("For maintainers.")


class SnapshotForm(forms.Form):
    """Freeze a suite's board."""

    title = forms.CharField(
        max_length=120,
        label="Title",
        help_text="Short, as a paper would name it, for example “camera-ready” or “May 2026”.",
        validators=[refuse_hidden_characters],
    )
    note = forms.CharField(
        max_length=LONGEST_REASON,
        label="Why it is frozen",
        help_text="Public. Like the title, it can never be changed; a new snapshot corrects a mistake.",
        widget=forms.Textarea(attrs={"rows": 2}),
        validators=[refuse_hidden_characters],
    )
    supersedes = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        label="Supersedes",
        help_text="An older snapshot that should no longer be cited; its page then links to this one, with the reason.",
    )

    def __init__(self, *args: Any, suite: Suite, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        current = suite.snapshots.filter(superseded_by=None).defer("document")
        choices = [("", "none"), *((each.number, f"{each.number}: {each.title}") for each in current)]
        cast("forms.TypedChoiceField", self.fields["supersedes"]).choices = choices


class AddJudgeForm(forms.Form):
    """Create a judge from one of the user's own endpoints."""

    endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(),
        label="Endpoint",
        empty_label=None,
        help_text="Model, address, sampling and prices are copied from it; its key is used for the votes.",
        error_messages={"required": "Choose an endpoint.", "invalid_choice": "You have no such endpoint."},
    )
    name = forms.CharField(
        max_length=80,
        label="Name",
        help_text="As boards show it, for example the model and its date.",
    )
    vendor = forms.CharField(
        max_length=60,
        label="Vendor",
        help_text="Whose model it is. Pages disclose when a judged system is from the same vendor, since judges favour "
        "their own family.",
    )
    votes = forms.IntegerField(
        initial=VOTES,
        min_value=1,
        max_value=MOST_VOTES,
        label="Votes",
        help_text="How often each answer is judged. An odd number.",
    )
    votes_when_split = forms.IntegerField(
        initial=VOTES_WHEN_SPLIT,
        min_value=1,
        max_value=MOST_VOTES,
        label="Votes when split",
        help_text="The total number of votes if the first ones differ. An odd number.",
    )

    def __init__(self, data: Any = None, *, owner: User) -> None:
        super().__init__(data)
        field = cast("forms.ModelChoiceField[Endpoint]", self.fields["endpoint"])
        field.queryset = Endpoint.objects.filter(owner=owner, team=None)

    def clean(self) -> dict[str, Any]:
        """Require odd numbers, which cannot tie, and no fewer votes when split."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        votes, when_split = given.get("votes"), given.get("votes_when_split")
        for name, number in (("votes", votes), ("votes_when_split", when_split)):
            if number is not None and number % 2 == 0:
                self.add_error(name, "Give an odd number, so that two labels cannot tie.")
        if votes is not None and when_split is not None and when_split < votes:
            self.add_error("votes_when_split", f"Give at least the number of votes ({votes}).")
        return given


class SuiteForm(forms.Form):
    """Choose the suite for a judge to judge."""

    suite = forms.ModelChoiceField(
        Suite.objects.all(),
        to_field_name="slug",
        label="Suite",
        empty_label=None,
        error_messages={"required": "Choose a suite.", "invalid_choice": "There is no such suite."},
    )

    def __init__(self, data: Any = None, *, suites: Iterable[Suite] | None = None) -> None:
        """Offer ``suites`` (default: all)."""
        super().__init__(data)
        cast("forms.ModelChoiceField[Suite]", self.fields["suite"]).choices = suite_choices(suites)


class ShowForm(forms.Form):
    """Confirm showing a judge on a suite's board. ``instead_of`` is the judge that the page showed before."""

    suite = forms.ModelChoiceField(Suite.objects.all(), to_field_name="slug", widget=forms.HiddenInput)
    instead_of = forms.CharField(max_length=80, widget=forms.HiddenInput)
    reason = _reason("Public: shown with the change on both judges' pages.")

    @classmethod
    def of(cls, suite: Suite, shown: JudgeConfig | None) -> ShowForm:
        """Return the form for ``suite``, whose board now shows ``shown``."""
        return cls(initial={"suite": suite.slug, "instead_of": shown.slug if shown else NONE_SHOWN})


class ChooseForm(forms.Form):
    """Select submissions by ``?suite=&task=&submission=``; they must match every given value.

    Once valid, ``submissions`` holds the selected ones that are scored.
    """

    submissions: QuerySet[Submission]

    suite = forms.ChoiceField(
        required=False, label="Suite", error_messages={"invalid_choice": "There is no suite %(value)s."}
    )
    task = forms.CharField(
        required=False,
        max_length=160,
        label="Task",
        widget=forms.TextInput(attrs={"placeholder": "lmr-mini/dpo/1"}),
    )
    submission = forms.IntegerField(required=False, min_value=1, max_value=LARGEST_NUMBER, label="Submission number")

    def __init__(self, data: QueryDict | None) -> None:
        super().__init__(data)
        cast("forms.ChoiceField", self.fields["suite"]).choices = [("", "any"), *suite_choices()]

    @staticmethod
    def is_given(params: QueryDict) -> bool:
        """Return whether the query string selects anything."""
        return any(params.get(name) for name in ChooseForm.base_fields)

    def clean(self) -> dict[str, Any]:
        """Require an existing selection, and complete the task's name."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return given
        if not any(given.values()):
            raise forms.ValidationError("Choose a suite, a task or a submission.")
        number = given["submission"]
        try:
            self.submissions, given["task"] = planning.choose(
                suite=given["suite"], task=given["task"], submissions=[number] if number else []
            )
        except planning.WrongChoiceError as error:
            self.add_error(error.field, str(error))
        return given


class StartForm(forms.Form):
    """Confirm a plan. ``plan`` is the fingerprint of the plan shown."""

    reason = _reason("Public: shown with the difference in every submission's history.")
    plan = forms.CharField(max_length=64, widget=forms.HiddenInput)
