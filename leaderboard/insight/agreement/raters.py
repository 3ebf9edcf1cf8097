"""Define the raters, and the filters of the agreement page and command with the names that they accept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Any, Final, cast

from django import forms
from django.db.models import Exists, OuterRef
from django.forms.utils import flatatt
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from pydantic import BaseModel, ConfigDict, Field

from benchmark_tasks.models import Category, SuiteVersion
from evaluator.models import JudgeConfig
from leaderboard.board.rows import visible_entries
from submissions.enums import Inputs, Kind
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from django.db.models import QuerySet
    from django.forms.renderers import BaseRenderer
    from django.http import QueryDict
    from django.utils.safestring import SafeString

    from benchmark_tasks.models import Suite
    from leaderboard.models import Entry

REST: Final = "rest"
"""The label of a test run that did not pass: not CC, but unknown whether LC or LI."""

JUDGE_PREFIX: Final = "judge:"
MOST_NAMED: Final = 50
MOST_OFFERED: Final = 500
"""Systems that a list offers; of more, one is named by its slug."""


class UnknownChoiceError(Exception):
    """Raised for the name of a category, system, rater, … that does not exist. The message lists those that do."""


class RaterKind(StrEnum):
    """The kind of a rater."""

    ANNOTATORS = "annotators"
    TESTS = "tests"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Rater:
    """A source of labels: annotators, tests or a judge. ``address`` is its page, empty without one.

    ``judge`` is the number of a judge of this site, 0 for all others.
    """

    slug: str
    name: str
    kind: RaterKind
    address: str = ""
    judge: int = 0

    @property
    def binary_only(self) -> bool:
        """Whether it only distinguishes CC from the rest."""
        return self.kind == RaterKind.TESTS

    @property
    def column(self) -> str:
        """The name of its labels in a query."""
        return f"judge_{self.judge}" if self.judge else self.slug.replace("-", "_")


FIRST_LABEL: Final = Rater("annotators", "Annotators, first label", RaterKind.ANNOTATORS)
SECOND_LABEL: Final = Rater("annotators-second", "Annotators, second label", RaterKind.ANNOTATORS)
DECISION: Final = Rater("decision", "Decisions", RaterKind.ANNOTATORS)
REPORTED_ANNOTATORS: Final = Rater("reported-annotators", "Reported annotators", RaterKind.ANNOTATORS)
REPORTED_TESTS: Final = Rater("reported-tests", "Reported unit tests", RaterKind.TESTS)
TESTS: Final = Rater("tests", "Unit tests", RaterKind.TESTS)
UPSTREAM_TESTS: Final = Rater("upstream-tests", "Upstream's unit tests", RaterKind.TESTS)
"""The tests of the suite's authors, for tasks whose sealed test of ours counts instead."""
REPORTED_JUDGE: Final = Rater("reported-judge", "Reported judge", RaterKind.JUDGE)


class Selection(BaseModel):
    """Select answers and raters; an empty field selects all. ``first`` and ``second`` name raters as ``pairs`` do.

    The page's address and the API have the same names. Samples and ranked answers are never mixed.
    """

    model_config = ConfigDict(frozen=True)

    category: str = Field(default="", description="A category's slug.")
    system: str = Field(default="", description="A system's slug.")
    inputs: str = ""
    samples: bool = Field(default=False, description="Calibration samples instead of ranked answers.")
    binary: bool = Field(default=False, description="CC against the rest.")
    first: str = ""
    second: str = ""


def raters() -> tuple[Rater, ...]:
    """List every rater, annotators first, then tests, then judges; earlier ones are rows of tables. One query."""
    judges = (
        Rater(f"{JUDGE_PREFIX}{config.slug}", config.name, RaterKind.JUDGE, config.get_absolute_url(), config.pk)
        for config in JudgeConfig.objects.only("slug", "name").order_by("created", "pk")
    )
    return (
        REPORTED_ANNOTATORS,
        DECISION,
        FIRST_LABEL,
        SECOND_LABEL,
        REPORTED_TESTS,
        TESTS,
        UPSTREAM_TESTS,
        REPORTED_JUDGE,
        *judges,
    )


def _shown(suite: Suite) -> QuerySet[System]:
    """Select the systems with a published row on a suite; others are not public."""
    return System.objects.filter(Exists(visible_entries().filter(suite_version__suite=suite, system=OuterRef("pk"))))


def shown_systems(suite: Suite) -> list[tuple[str, str]]:
    """List slug and name of the systems with a published row on a suite. One query."""
    return list(_shown(suite).order_by("name", "pk").values_list("slug", "name"))


def _offered_systems(suite: Suite) -> list[tuple[str, str]] | None:
    """List slug and name of these systems; None if there are more than a list can offer. One query."""
    found = list(_shown(suite).order_by()[: MOST_OFFERED + 1].values_list("slug", "name", "pk"))
    if len(found) > MOST_OFFERED:
        return None
    return [(slug, name) for slug, name, _ in sorted(found, key=lambda each: each[1:])]


def suite_categories(suite: Suite) -> list[Category]:
    """List the categories in which any version of a suite has tasks, in the paper's order. One query."""
    versions = SuiteVersion.objects.filter(suite=suite)
    return list(Category.objects.filter(revisions__suite_versions__in=versions).distinct().order_by("position"))


def selected_entries(*, suite: Suite, selection: Selection, hidden: Collection[int] = ()) -> QuerySet[Entry]:
    """Select the published rows; their answers may still have to be filtered by category. No query.

    The submissions ``hidden`` from the viewer are left out.
    """
    kind = Kind.CALIBRATION if selection.samples else Kind.RANKED
    entries = visible_entries(hidden).filter(suite_version__suite=suite, kind=kind)
    if selection.system:
        entries = entries.filter(system__slug=selection.system)
    if selection.inputs:
        entries = entries.filter(inputs=selection.inputs)
    return entries


def check_selection(*, suite: Suite, selection: Selection, known: Sequence[Rater]) -> None:
    """Raise :class:`UnknownChoiceError` for an unknown name, or for one rater named twice. At most two queries."""
    if selection.category:
        _check("category", selection.category, [each.slug for each in suite_categories(suite)])
    if selection.system and not _shown(suite).filter(slug=selection.system).exists():
        _check("system", selection.system, [slug for slug, _ in shown_systems(suite)])
    if selection.inputs:
        _check("kind of inputs", selection.inputs, Inputs.values)
    for slug in filter(None, (selection.first, selection.second)):
        _check("rater", slug, [rater.slug for rater in known])
    if selection.first and selection.first == selection.second:
        msg = f"The rater {selection.first!r} is named twice. Name two different ones."
        raise UnknownChoiceError(msg)


def _check(kind: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
        msg = f"There is no {kind} {given[:60]!r} here. Known: {', '.join(known[:MOST_NAMED]) or 'none'}{more}."
        raise UnknownChoiceError(msg)


class LongSelect(forms.Select):
    """A select with thousands of options: Django would render two templates for each option."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        """Return the element as HTML."""
        del renderer
        chosen = value or ""
        options = "".join(
            f'<option value="{escape(key)}"{" selected" if key == chosen else ""}>{escape(title)}</option>'
            for key, title in cast("list[tuple[str, str]]", self.choices)
        )
        return format_html(
            "<select{}>{}</select>",
            flatatt(self.build_attrs(attrs or {}, {"name": name})),
            mark_safe(options),  # noqa: S308 - escaped above
        )


class AgreementFilterForm(forms.Form):
    """Filters ``?category=&system=&inputs=&binary=&samples=``; the chosen raters are kept."""

    category = forms.CharField(required=False, label="Category", widget=forms.Select)
    system = forms.CharField(required=False, label="System", widget=LongSelect)
    inputs = forms.ChoiceField(required=False, label="Inputs given", choices=[("", "any"), *Inputs.choices])
    binary = forms.ChoiceField(
        required=False, label="Labels", choices=[("", "CC, LC and LI"), ("1", "CC against the rest")]
    )
    samples = forms.ChoiceField(required=False, label="Answers", choices=[("", "ranked"), ("1", "calibration samples")])
    first = forms.CharField(required=False, widget=forms.HiddenInput)
    second = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict, *, suite: Suite) -> None:
        super().__init__(data)
        systems = _offered_systems(suite)
        if systems is None:
            self.fields["system"].widget = forms.TextInput(
                attrs={"type": "search", "placeholder": "as in its page's address"}
            )
        known = {
            "category": [(each.slug, each.title) for each in suite_categories(suite)],
            **({} if systems is None else {"system": systems}),
        }
        for name, choices in known.items():
            # Not the field's own choices, which would check every one: nothing is validated with this form.
            cast("forms.Select", self.fields[name].widget).choices = [("", "all"), *choices]
