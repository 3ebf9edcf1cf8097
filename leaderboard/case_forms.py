"""What people type about cases: an appeal, and what the list of cases is filtered by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from django import forms

from benchmark_tasks.models import Category, Suite
from leaderboard.board.board import titles_told_apart
from reviews.enums import FinalSource, ReasonCode
from submissions.forms import refuse_hidden_characters

if TYPE_CHECKING:
    from django.http import QueryDict

SHORTEST_EVIDENCE: Final = 30
LONGEST_EVIDENCE: Final = 5000
FILTERS: Final = ("what", "suite", "category", "reason", "source")

_SOURCES = [choice for choice in FinalSource.choices if choice[0] != FinalSource.JUDGE]


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


class CaseFilterForm(forms.Form):
    """Reads ``?what=&suite=&category=&reason=&source=``. A wrong value counts as no filter."""

    what = forms.ChoiceField(
        required=False,
        label="Reviewed",
        choices=[("", "here or reported"), ("own", "here"), ("reported", "upstream (reported)")],
    )
    suite = forms.ChoiceField(required=False, label="Suite")
    category = forms.ChoiceField(required=False, label="Category")
    reason = forms.ChoiceField(required=False, label="Reason", choices=[("", "any"), *ReasonCode.choices])
    source = forms.ChoiceField(required=False, label="Final label by", choices=[("", "anybody"), *_SOURCES])

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        suites = [(suite.slug, title) for suite, title in titles_told_apart(Suite.objects.all())]
        categories = Category.objects.order_by("position").values_list("slug", "title")
        cast("forms.ChoiceField", self.fields["suite"]).choices = [("", "any"), *suites]
        cast("forms.ChoiceField", self.fields["category"]).choices = [("", "any"), *categories]
        self.is_valid()

    def filters(self) -> dict[str, str]:
        """The valid filters, empty where there is none."""
        return {name: self.cleaned_data.get(name, "") for name in FILTERS}
