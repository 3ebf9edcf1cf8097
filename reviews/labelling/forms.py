"""Forms of labelling and adjudicating. They accept incomplete drafts; what is locked or decided is validated then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from django import forms

from evaluator.enums import LABEL_CHOICES
from reviews.enums import Confidence, ErrorClass, FindingSide, ReasonCode
from reviews.labelling.findings import (
    LONGEST_NOTE,
    LONGEST_TEXT,
    LONGEST_TYPED_NUMBER,
    MAX_FINDINGS,
    TypedLabel,
    has_input,
)
from submissions.forms import refuse_hidden_characters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import QueryDict

_VIEW: Final = ("layout", "whitespace", "wide", "tab")
"""Display settings of the page, stored with the draft."""
_BLANK_FINDINGS: Final = 2
_MOST_SECONDS: Final = 86_400


class _TextField(forms.CharField):
    """Text exactly as entered, except for the line ends that browsers change."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, strip=False, **options)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


class FindingForm(forms.Form):
    """One finding, complete or not; invalid line numbers are kept as entered."""

    side = forms.ChoiceField(choices=FindingSide.choices, required=False, initial=FindingSide.CANDIDATE)
    start = forms.CharField(required=False, max_length=LONGEST_TYPED_NUMBER)
    end = forms.CharField(required=False, max_length=LONGEST_TYPED_NUMBER)
    text = _TextField(max_length=LONGEST_TEXT)
    error_class = forms.ChoiceField(choices=[("", "none"), *ErrorClass.choices], required=False)  # type: ignore[assignment] # forms have one of their own


_Findings = forms.formset_factory(
    FindingForm, extra=0, max_num=MAX_FINDINGS, absolute_max=MAX_FINDINGS + 1, validate_max=True
)


class _DraftForm(forms.Form):
    """What both pages send along: how the page is viewed, the version of the draft, and the time of use."""

    is_decision: ClassVar = False

    paper_page = forms.IntegerField(required=False, min_value=1, max_value=100_000)
    layout = forms.CharField(required=False, max_length=20)
    whitespace = forms.CharField(required=False, max_length=20)
    wide = forms.CharField(required=False, max_length=20)
    tab = forms.CharField(required=False, max_length=20)
    version = forms.IntegerField(required=False, min_value=0)
    active_seconds = forms.IntegerField(required=False, min_value=0, max_value=_MOST_SECONDS)

    @property
    def view(self) -> dict[str, Any]:
        """Return the part of the draft that says how the page is viewed."""
        given = self.cleaned_data
        return {"paper_page": given["paper_page"] or 1, "view": {name: given[name] for name in _VIEW if given[name]}}

    @property
    def all_errors(self) -> list[str]:
        """Return every error, in the order of the page."""
        return [str(text) for errors in self.errors.values() for text in errors]


class LabelForm(_DraftForm):
    """A label as entered, with its ``findings``, the display settings, and the version of its draft."""

    label = forms.ChoiceField(choices=LABEL_CHOICES, required=False)
    confidence = forms.TypedChoiceField(choices=Confidence.choices, required=False, coerce=int, empty_value=None)
    note = _TextField(max_length=LONGEST_NOTE)

    def __init__(self, data: QueryDict | None = None, *, draft: Mapping[str, Any] | None = None) -> None:
        """Fill the form with the sent data, or with the stored draft."""
        draft = draft or {}
        super().__init__(data, initial={**draft, **(draft.get("view") or {})})
        # Without scripts, findings are added in blank rows; the page's script removes these.
        rows = [*(draft.get("findings") or []), *[{}] * _BLANK_FINDINGS][:MAX_FINDINGS]
        self.findings = _Findings(data, initial=None if data else rows, prefix="finding")
        self.findings.extra = len(rows)

    def is_valid(self) -> bool:
        """Return whether everything can be stored."""
        return super().is_valid() and self.findings.is_valid()

    @property
    def rows(self) -> list[dict[str, str]]:
        """Return the findings in the order sent, including blank ones."""
        names = FindingForm.base_fields
        return [{name: form.cleaned_data.get(name, "") for name in names} for form in self.findings.forms]

    @property
    def draft(self) -> dict[str, Any]:
        """Return the draft to store: all fields, without empty findings."""
        given = self.cleaned_data
        return TypedLabel(given["label"], given["confidence"], self.rows, given["note"]).draft | self.view

    @property
    def said(self) -> dict[str, Any]:
        """Return what was entered, valid or not, to be read."""
        rows = [{name: form[name].value() or "" for name in FindingForm.base_fields} for form in self.findings.forms]
        typed = {"label": self["label"].value(), "note": self["note"].value()}
        return in_words({**typed, "findings": [row for row in rows if has_input(row)]})

    def add_errors(self, errors: Mapping[str, str]) -> None:
        """Add errors that prevent locking to their fields."""
        for name, text in errors.items():
            number = name.removeprefix("finding-")
            if number.isdigit():
                self.findings.forms[int(number)].add_error(None, text)
            else:
                self.add_error(name if name in self.fields else None, text)

    @property
    def all_errors(self) -> list[str]:
        """Return every error, in the order of the page."""
        lists = [errors for form in self.findings.forms for errors in form.errors.values()]
        found = [text for errors in lists for text in errors] + list(self.findings.non_form_errors())
        return super().all_errors + [str(text) for text in found]


class DecideForm(_DraftForm):
    """A decision as entered: the final label, the reasons why the raters differed, and a public note."""

    is_decision = True

    label = forms.ChoiceField(
        choices=[(value, f"{value}, {meaning}") for value, meaning in LABEL_CHOICES], required=False
    )
    reasons = forms.MultipleChoiceField(
        choices=ReasonCode.choices,
        required=False,
        label="Why the raters differed (all reasons that apply)",
        widget=forms.CheckboxSelectMultiple,
    )
    note = _TextField(max_length=LONGEST_NOTE, validators=[refuse_hidden_characters])

    def __init__(self, data: QueryDict | None = None, *, draft: Mapping[str, Any] | None = None) -> None:
        """Fill the form with the sent data, or with the stored draft."""
        draft = draft or {}
        decision, view = draft.get("decision") or {}, draft.get("view") or {}
        # The pane that was open when the blind label was locked is not the one to begin with.
        tab = view.get("tab") if decision else ""
        super().__init__(data, initial={**decision, **view, "tab": tab, "paper_page": draft.get("paper_page")})

    @property
    def draft(self) -> dict[str, Any]:
        """Return the draft to store. What is above ``decision`` in a draft belongs to the blind label."""
        return {"decision": {name: self.cleaned_data[name] for name in ("label", "reasons", "note")}, **self.view}

    @property
    def said(self) -> dict[str, Any]:
        """Return what was entered, valid or not, to be read."""
        codes = [code for code in self["reasons"].value() or () if code in ReasonCode.values]
        typed = {name: self[name].value() or "" for name in ("label", "note")}
        return {**typed, "is_decision": True, "reasons": ReasonCode.in_words(codes)}

    def explained_reasons(self) -> list[tuple[Any, str]]:
        """Return each reason's checkbox with the sentence on when to choose it."""
        return [(box, ReasonCode(str(box.data["value"])).when) for box in self["reasons"]]


def in_words(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a label as entered to be read: the codes of its findings in words."""
    sides, classes = dict(FindingSide.choices), dict(ErrorClass.choices)
    findings = [
        {**row, "side": sides.get(row["side"], row["side"]), "error_class": classes.get(row["error_class"], "")}
        for row in typed.get("findings") or ()
    ]
    return {"label": typed.get("label"), "note": typed.get("note"), "findings": findings}
