"""Show the site's design elements side by side for developers; served only with DEBUG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django import forms
from django.conf import settings
from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.board.columns import headings, requested_columns
from leaderboard.board.matrix import MatrixTask, cells
from leaderboard.board.row import BoardRow, LabelsCell, PartialTests, TestsCell
from leaderboard.models.enums import Provenance
from submissions.enums import Inputs

if TYPE_CHECKING:
    from typing import Any

    from django.http import HttpRequest, HttpResponse

    from leaderboard.models.board import Marks

COLOURS: Final = ("ink", "muted", "line", "surface", "paper", "accent", "good", "middle", "bad", "note")
_TASKS: Final = [
    MatrixTask(
        slug=f"paper/{place}",
        paper="paper",
        index=place,
        address="#",
        title="goal",
        category="Category",
        category_slug="category",
        place=place,
        suite="example",
    )
    for place in range(12)
]
_MARKS: Final[Marks] = {
    "tests": [1.0, 0.0, 0.5, None] * 3,
    "judge": ["CC", "LC", "LI", "A"] * 3,
    "human": ["CC", "LI", "M", ""] * 3,
}


class ExampleForm(forms.Form):
    """A form with one field of each kind."""

    text = forms.CharField(label="A line of text", help_text="What it is for, in a sentence.")
    wrong = forms.IntegerField(label="A number that is wrong", max_value=10)
    choice = forms.ChoiceField(label="A choice", choices=[("one", "one"), ("two", "two")])
    notes = forms.CharField(label="Longer text", required=False, widget=forms.Textarea(attrs={"rows": 2}))
    agreed = forms.BooleanField(label="Something to agree to", required=False)


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """Show type, colours, controls, and the possible states of rows, lists and pages."""
    if not settings.DEBUG:
        raise Http404
    columns = requested_columns(request.GET, without={"date"})
    context = {
        "colours": COLOURS,
        "form": ExampleForm({"text": "typed", "wrong": "11", "choice": "one"}),
        "rows": [(row, cells(row, _TASKS)) for row in _rows()],
        "heads": columns,
        "headings": headings(request.GET, columns),
    }
    return render(request, "leaderboard/styleguide.html", context)


def _rows() -> list[BoardRow]:
    labels = LabelsCell(cc=50, lc=25, li=25, labelled=12, abstained=0, tasks=12)
    tests = TestsCell(percent=50, low=25.4, high=74.6, passed=6, tasks=12)
    reported = {"reported": True, "provenance": Provenance.REPORTED}
    again = {"reported": True, "provenance": Provenance.REMEASURED, "remeasures": "example"}
    full = {"tests": tests, "judge": labels, "human": labels, "rank": (1, 3), "cost": 1.25, "marks": _MARKS}
    return [
        _row("An ordinary row", **full),
        _row("A system whose name is so long that it does not fit on one line of any table " * 2, **full),
        _row("Several trials", **full | {"trials": 3, "trial_passes": (5, 6, 7)}),
        _row("Few tasks", tests=TestsCell(percent=50, low=9.5, high=90.5, passed=1, tasks=2), marks=_MARKS),
        _row("Totals only, with a remark", **reported, tests=tests, remarks=("Unit tests: a remark.",)),
        _row("Published answers measured again", **again, partial_tests=PartialTests(passed=5, answered=8, tasks=12)),
        _row("Being labelled by the viewer", closed=True),
        _row("A task in doubt, two unpublished", tests=tests, flagged=("paper/1",), unpublished=2),
    ]


_USUAL: Final = BoardRow(
    system="",
    system_slug="example",
    backbone="model-1",
    scaffold="",
    organisation="Laboratory",
    inputs=Inputs.FULL,
    inputs_text=Inputs.FULL.label,
    provenance=Provenance.GRADED_HERE,
    reported=False,
    calibration=False,
    address="#",
    submission=1,
    tests=None,
    judge=None,
    human=None,
    unpublished=0,
    date=None,
    remarks=(),
)


def _row(system: str, **facts: Any) -> BoardRow:
    return _USUAL.model_copy(update={"system": system, **facts})
