"""What maintainers choose on the dashboard: which cases are listed, which labels exported."""

from __future__ import annotations

from django import forms

from benchmark_tasks.models import Suite
from reviews.enums import CaseState

_FORMATS = [("csv", "CSV, for spreadsheets"), ("jsonl", "JSON Lines, for programs")]


class ExportForm(forms.Form):
    """Which labels, in which form."""

    format = forms.ChoiceField(choices=_FORMATS, label="Format")
    suite = forms.ModelChoiceField(
        Suite.objects.all(), to_field_name="slug", required=False, label="Suite", empty_label="all suites"
    )


class StateForm(forms.Form):
    """Which cases are listed."""

    state = forms.ChoiceField(choices=[("", "all states"), *CaseState.choices], required=False, label="State")
