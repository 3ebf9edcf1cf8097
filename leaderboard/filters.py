"""The board's filters, as a form whose every value stands in the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django import forms

from leaderboard.board.board import DEFAULT_SORT, SORT_KEYS, BoardQuery
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import QueryDict

    from benchmark_tasks.models import Category
    from leaderboard.board.board import Show

_SHOW = [
    ("all", "measured here and reported"),
    ("measured", "measured here"),
    ("reported", "reported by others"),
]


class BoardFilterForm(forms.Form):
    """Reads ``?category=&inputs=&q=&show=&sort=``. A wrong value is reported and counts as no filter."""

    q = forms.CharField(
        required=False,
        max_length=100,
        label="Search",
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "system, model, organisation"}),
    )
    inputs = forms.ChoiceField(required=False, label="Inputs given", choices=[("", "any"), *Inputs.choices])
    show = forms.ChoiceField(required=False, label="Results", choices=_SHOW)
    category = forms.ChoiceField(required=False, widget=forms.HiddenInput)
    sort = forms.ChoiceField(
        required=False,
        widget=forms.HiddenInput,
        choices=[(value, value) for key in SORT_KEYS for value in (key, f"-{key}")],
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict, *, categories: Sequence[Category]) -> None:
        super().__init__(data)
        self._categories = {category.slug: category for category in categories}
        cast("forms.ChoiceField", self.fields["category"]).choices = [(slug, slug) for slug in self._categories]

    def query(self) -> BoardQuery:
        """What the address asks for."""
        self.is_valid()
        given: dict[str, Any] = self.cleaned_data
        return BoardQuery(
            category=self._categories.get(given.get("category", "")),
            inputs=given.get("inputs", ""),
            text=given.get("q", ""),
            show=cast("Show", given.get("show") or "all"),
            sort=given.get("sort") or DEFAULT_SORT,
        )
