"""What maintainers choose when they take labels away or bring them back. The verbs are in ``domain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from django import forms
from django.core.exceptions import ValidationError

from benchmark_tasks.models import Suite
from reviews.enums import CaseState

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile

LARGEST_FILE: Final = 20 * 2**20
_FORMATS = [("csv", "CSV, for spreadsheets"), ("jsonl", "JSON Lines, for programs")]


class ExportForm(forms.Form):
    """Which labels, in which form."""

    format = forms.ChoiceField(choices=_FORMATS, label="Format")
    suite = forms.ModelChoiceField(
        Suite.objects.all(), to_field_name="slug", required=False, label="Suite", empty_label="all suites"
    )


class ImportForm(forms.Form):
    """A file of labels."""

    file = forms.FileField(
        label="File",
        help_text="CSV or JSON Lines, as the dashboard or <code>manage.py export_labels</code> wrote it.",
        error_messages={"required": "Choose a file.", "empty": "This file is empty. Choose another one."},
    )
    dry_run = forms.BooleanField(required=False, initial=True, label="Only check it, store nothing")

    def clean_file(self) -> UploadedFile[Any]:
        """Refuse what would fill the memory."""
        file = cast("UploadedFile[Any]", self.cleaned_data["file"])
        if (file.size or 0) > LARGEST_FILE:
            msg = f"The file is larger than {LARGEST_FILE // 2**20} MiB. Import it by manage.py import_labels."
            raise ValidationError(msg)
        return file


class StateForm(forms.Form):
    """Which cases are listed."""

    state = forms.ChoiceField(choices=[("", "all states"), *CaseState.choices], required=False, label="State")
