"""What the page of re-evaluations reads from addresses and forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django import forms

from benchmark_tasks.models import Suite
from evaluator.models import Reevaluation
from evaluator.reevaluation import planning
from leaderboard.board.board import titles_told_apart
from submissions.forms import LONGEST_REASON
from submissions.models import Submission

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import QueryDict

LARGEST_NUMBER = 2**62
_NAMES = ("suite", "task", "submission")


class ChooseForm(forms.Form):
    """Reads ``?suite=&task=&submission=``: exactly what is given must hold of a submission.

    Once valid, ``submissions`` are the scored ones that were chosen.
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
        suites = [(suite.slug, title) for suite, title in titles_told_apart(Suite.objects.all())]
        cast("forms.ChoiceField", self.fields["suite"]).choices = [("", "any"), *suites]

    @staticmethod
    def asked(params: QueryDict) -> bool:
        """Whether an address chooses anything."""
        return any(params.get(name) for name in _NAMES)

    def clean(self) -> dict[str, Any]:
        """Something must be chosen, and be there; the task's name is written out in full."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return given
        if not any(given.get(name) for name in _NAMES):
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
    """Confirms a plan. ``plan`` is the fingerprint of what was shown."""

    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="Public: it stands beside the difference in the history of every submission.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    plan = forms.CharField(max_length=64, widget=forms.HiddenInput)


class NumberForm(forms.Form):
    """Names a re-evaluation by its number."""

    reevaluation = forms.IntegerField(min_value=1, max_value=LARGEST_NUMBER)

    def clean_reevaluation(self) -> Reevaluation:
        """The re-evaluation."""
        found = Reevaluation.objects.filter(pk=self.cleaned_data["reevaluation"]).select_related("submission").first()
        if found is None:
            raise forms.ValidationError("There is no such re-evaluation.")
        return found
