"""The filters of the agreement page, as a form whose every value stands in the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django import forms

from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import QueryDict

    from benchmark_tasks.models import Category
    from submissions.models import System


class AgreementFilterForm(forms.Form):
    """Shows ``?category=&system=&inputs=&binary=&samples=``; the raters chosen before stay chosen."""

    category = forms.ChoiceField(required=False, label="Category")
    system = forms.ChoiceField(required=False, label="System")
    inputs = forms.ChoiceField(required=False, label="Inputs given", choices=[("", "any"), *Inputs.choices])
    binary = forms.ChoiceField(
        required=False, label="Labels", choices=[("", "LI, LC and CC"), ("1", "CC against the rest")]
    )
    samples = forms.ChoiceField(required=False, label="Answers", choices=[("", "ranked"), ("1", "calibration samples")])
    first = forms.CharField(required=False, widget=forms.HiddenInput)
    second = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict, *, categories: Sequence[Category], systems: Sequence[System]) -> None:
        super().__init__(data)
        known = {
            "category": [(each.slug, each.title) for each in categories],
            "system": [(each.slug, each.name) for each in systems],
        }
        for name, choices in known.items():
            cast("forms.ChoiceField", self.fields[name]).choices = [("", "all"), *choices]
