"""Filter lists by the query strings of their pages. An invalid value is reported beside its field and has no effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django_filters.filters import CharFilter, ChoiceFilter, DateFilter
from django_filters.filterset import FilterSet

from benchmark_tasks.domain.queries import distinct_titles
from benchmark_tasks.models import Category, Suite, TaskRevision
from evaluator.labels import Label
from leaderboard.board.rows import visible_entries
from leaderboard.models import EntryMetric, ReportedResult
from leaderboard.models.enums import Provenance
from reviews.enums import FinalSource, ReasonCode
from reviews.models import Case
from submissions.enums import Inputs, SubmissionState, Verb, Visibility, Weights
from submissions.models import AuditEvent, Organisation, Submission, Team, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from django.http import QueryDict

LONGEST_SEARCH: Final = 100
"""Characters of a search; a longer one is cut."""
LONGEST_NUMBER: Final = 18
"""Digits of a key that every database can compare."""


def suite_choices(suites: Iterable[Suite] | None = None) -> list[tuple[str, str]]:
    """Return choices of ``suites`` (every suite by default), with distinct titles."""
    titled = distinct_titles(Suite.objects.all() if suites is None else suites)
    return [(suite.slug, title) for suite, title in titled]


def _categories() -> Sequence[tuple[str, str]]:
    return list(Category.objects.order_by("position").values_list("slug", "title"))


def _search(placeholder: str = "") -> forms.TextInput:
    return forms.TextInput(
        attrs={"type": "search", "maxlength": LONGEST_SEARCH, **({"placeholder": placeholder} if placeholder else {})}
    )


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"})


def with_words(queryset: QuerySet[Any], text: str, *fields: str) -> QuerySet[Any]:
    """Select the rows in which each word of ``text`` occurs in one of ``fields``."""
    for word in text[:LONGEST_SEARCH].split():
        queryset = queryset.filter(has_word(word, *fields))
    return queryset


def has_word(word: str, *fields: str) -> Q:
    """Build the condition that a word occurs in one of ``fields``, in any case, the same on both databases."""
    # SQLite's LIKE ignores case in ASCII only; its regular expressions are Python's.
    lookup, value = ("icontains", word) if word.isascii() else ("iregex", re.escape(word))
    return Q.create([(f"{field}__{lookup}", value) for field in fields], connector=Q.OR)


class ListFilter(FilterSet):
    """Base class of the filters of all lists."""

    def __init__(self, data: QueryDict | None, *, queryset: QuerySet[Any]) -> None:
        super().__init__(data, queryset)  # type: ignore[no-untyped-call]

    @property
    def requested(self) -> list[tuple[str, str]]:
        """The filters that have a value, in order, with their values."""
        return [(name, self.data[name]) for name in self.filters if self.data.get(name)]

    @property
    def narrowed(self) -> bool:
        """Whether any filter restricts the list."""
        return self.is_bound and any(value and value != "all" for value in self.form.cleaned_data.values())


class BoardFilter(ListFilter):
    """Filter a board: ``?q=&category=&papers=&inputs=&agent=&backbone=&organisation=&weights=&show=&since=&until=``.

    ``system`` is the slug of one, all of whose rows are selected. Category and papers select which numbers are shown,
    so the view applies them. ``facets`` are the choices that depend on the board: categories, months, and the agents,
    backbones and organisations of its rows.
    """

    q = CharFilter(method="words", label="Search", widget=_search("system or model"))
    system = CharFilter(field_name="entry__system__slug", widget=forms.HiddenInput)
    category = ChoiceFilter(method="numbers", label="Category", empty_label="all categories")
    papers = ChoiceFilter(method="numbers", label="Papers first public", empty_label="papers of any date")
    agent = ChoiceFilter(field_name="entry__system__scaffold", label="Agent", empty_label="any agent")
    backbone = ChoiceFilter(field_name="entry__system__backbone", label="Backbone", empty_label="any model")
    organisation = ChoiceFilter(field_name="entry__system__organisation", label="Organisation", empty_label="any")
    # Choices are functions because every request copies the filters, and would copy lists.
    weights = ChoiceFilter(
        field_name="entry__system__weights", choices=lambda: Weights.choices, label="Weights", empty_label="any"
    )
    inputs = ChoiceFilter(
        field_name="entry__inputs", choices=lambda: Inputs.choices, label="Inputs given", empty_label="any inputs"
    )
    show = ChoiceFilter(
        method="of_source",
        label="Source",
        empty_label=None,
        choices=lambda: [("all", "any source"), ("measured", "measured here"), *Provenance.choices],
    )
    since = DateFilter(field_name="entry__date", lookup_expr="date__gte", label="Since", widget=_day())
    until = DateFilter(field_name="entry__date", lookup_expr="date__lte", label="Until", widget=_day())

    class Meta:
        model = EntryMetric
        fields: Sequence[str] = []

    def __init__(
        self, data: QueryDict, *, queryset: QuerySet[EntryMetric], facets: Mapping[str, Sequence[tuple[str, str]]]
    ) -> None:
        # An empty form is not validated, which saves half of the filter's time.
        super().__init__(data if any(map(data.get, self.base_filters)) else None, queryset=queryset)  # type: ignore[attr-defined]
        for name, choices in facets.items():
            self.filters[name].extra["choices"] = choices

    @property
    def more_set(self) -> int:
        """The number of filters in use among those that the page shows behind a button."""
        usual = {"q", "category", "papers", "system"}
        return sum(value not in {"", "all"} for name, value in self.requested if name not in usual)

    @property
    def selects_systems(self) -> bool:
        """Whether any filter leaves out rows, rather than selecting their numbers."""
        return self.is_bound and any(
            value and value != "all" and name not in {"category", "papers"}
            for name, value in self.form.cleaned_data.items()
        )

    def words(self, queryset: QuerySet[EntryMetric], _name: str, text: str) -> QuerySet[EntryMetric]:
        """Select the rows of systems with all the words."""
        fields = ("name", "backbone", "scaffold", "organisation")
        return with_words(queryset, text, *(f"entry__system__{field}" for field in fields))

    def numbers(self, queryset: QuerySet[EntryMetric], _name: str, _category: str) -> QuerySet[EntryMetric]:
        """Select all rows: the view reads their numbers in the category, or on later papers."""
        return queryset

    def of_source(self, queryset: QuerySet[EntryMetric], _name: str, which: str) -> QuerySet[EntryMetric]:
        """Select the rows of one provenance, or all that this site measured itself."""
        if which == "all":
            return queryset
        return (
            queryset.filter(entry__reported_run=None)
            if which == "measured"
            else queryset.filter(entry__provenance=which)
        )


BOARD_FILTERS: Final = tuple(BoardFilter.base_filters)  # type: ignore[attr-defined]
"""Query parameters that select rows of a board, or their numbers."""


class OwnSubmissionFilter(ListFilter):
    """Filter the user's own submissions: ``?q=&suite=&state=&visibility=&team=``; ``teams`` are the user's."""

    q = CharFilter(method="words", label="Search", widget=_search())
    suite = ChoiceFilter(
        field_name="suite_version__suite__slug", choices=suite_choices, label="Suite", empty_label="any"
    )
    state = ChoiceFilter(choices=SubmissionState.choices, label="State", empty_label="any")
    visibility = ChoiceFilter(choices=Visibility.choices, label="Visibility", empty_label="any")

    team = ChoiceFilter(field_name="team__slug", label="Team", empty_label="any", null_label="none", null_value="-")

    class Meta:
        model = Submission
        fields: Sequence[str] = []

    def __init__(self, data: QueryDict | None, *, queryset: QuerySet[Submission], teams: Iterable[Team] = ()) -> None:
        super().__init__(data, queryset=queryset)
        choices = [(each.slug, each.name) for each in teams]
        if choices:
            self.filters["team"].extra["choices"] = choices
        else:
            del self.filters["team"]

    def words(self, queryset: QuerySet[Submission], _name: str, text: str) -> QuerySet[Submission]:
        """Select the submissions of systems with all the words."""
        return with_words(queryset, text, "system__name", "system__backbone")


class SubmissionFilter(OwnSubmissionFilter):
    """Filter every submission, for maintainers: a word may also be a user name or the submission's number."""

    def words(self, queryset: QuerySet[Submission], _name: str, text: str) -> QuerySet[Submission]:
        """Select the submissions with all the words, and the one with this number."""
        named = with_words(queryset, text, "system__name", "system__backbone", "owner__username", "team__name")
        number = text.strip()
        if number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER:
            return queryset.filter(Q(pk=int(number)) | Q(pk__in=named.order_by().values("pk")))
        return named


class AccountFilter(ListFilter):
    """Filter accounts, for maintainers: ``?q=&who=``."""

    q = CharFilter(method="words", label="Search", widget=_search("user name or e-mail"))
    who = ChoiceFilter(
        method="of_kind",
        label="Accounts",
        empty_label="all",
        choices=[("maintainers", "maintainers"), ("limited", "with a limit of their own")],
    )

    class Meta:
        model = User
        fields: Sequence[str] = []

    def words(self, queryset: QuerySet[User], _name: str, text: str) -> QuerySet[User]:
        """Select the accounts with all the words."""
        return with_words(queryset, text, "username", "email")

    def of_kind(self, queryset: QuerySet[User], _name: str, which: str) -> QuerySet[User]:
        """Select maintainers, or accounts with a daily limit of their own."""
        return queryset.filter(is_staff=True) if which == "maintainers" else queryset.exclude(daily_submissions=None)


class TeamFilter(ListFilter):
    """Filter teams, for maintainers: ``?q=``."""

    q = CharFilter(method="words", label="Search", widget=_search("name or member"))

    class Meta:
        model = Team
        fields: Sequence[str] = []

    def words(self, queryset: QuerySet[Team], _name: str, text: str) -> QuerySet[Team]:
        """Select the teams with all the words in their name, or in a member's user name."""
        named = with_words(Team.objects.order_by(), text, "name", "slug", "memberships__user__username")
        return queryset.filter(pk__in=named.values("pk"))


class SuiteFilter(ListFilter):
    """Filter suites, for maintainers: ``?q=``."""

    q = CharFilter(method="words", label="Search", widget=_search("title"))

    class Meta:
        model = Suite
        fields: Sequence[str] = []

    def words(self, queryset: QuerySet[Suite], _name: str, text: str) -> QuerySet[Suite]:
        """Select the suites with all the words."""
        return with_words(queryset, text, "slug", "title")


class AuditFilter(ListFilter):
    """Filter the audit events: ``?verb=&subject=``. The subject ``submission 12`` matches exactly that row."""

    verb = ChoiceFilter(choices=Verb.choices, label="What was done", empty_label="anything")
    subject = CharFilter(method="about", label="To what, or by whom", widget=_search("name, submission 12, user name"))

    class Meta:
        model = AuditEvent
        fields: Sequence[str] = []

    def about(self, queryset: QuerySet[AuditEvent], _name: str, text: str) -> QuerySet[AuditEvent]:
        """Select the events of a row, or those with a text in their subject's or actor's name."""
        kind, _, number = text.partition(" ")
        if number.strip().isdigit():
            return queryset.filter(subject_kind=kind.lower(), subject_id=number.strip())
        return queryset.filter(Q(subject_text__icontains=text) | Q(actor__username__icontains=text))


class OrganisationFilter(ListFilter):
    """Filter organisations: ``?q=``."""

    q = CharFilter(method="words", label="Search", widget=_search("name or homepage"))

    class Meta:
        model = Organisation
        fields: Sequence[str] = []

    def words(self, queryset: QuerySet[Organisation], _name: str, text: str) -> QuerySet[Organisation]:
        """Search names and homepages."""
        return with_words(queryset, text, "name", "homepage")


class CaseFilter(ListFilter):
    """Filter cases decided here and reported cases: ``?what=&suite=&category=&reason=&source=``."""

    what = ChoiceFilter(
        method="own",
        label="Reviewed",
        choices=[("own", "here"), ("reported", "upstream (reported)")],
        empty_label="here or reported",
    )
    suite = ChoiceFilter(
        field_name="implementation__submission__suite_version__suite__slug",
        choices=suite_choices,
        label="Suite",
        empty_label="any",
    )
    category = ChoiceFilter(
        field_name="implementation__revision__category__slug", choices=_categories, label="Category", empty_label="any"
    )
    reason = ChoiceFilter(method="for_reason", choices=ReasonCode.choices, label="Reason", empty_label="any")
    source = ChoiceFilter(
        choices=[choice for choice in FinalSource.choices if choice[0] != FinalSource.JUDGE],
        label="Final label by",
        empty_label="any",
    )

    class Meta:
        model = Case
        fields: Sequence[str] = []

    def own(self, queryset: QuerySet[Case], _name: str, which: str) -> QuerySet[Case]:
        """Select the cases of this site, or none if only reported ones are requested."""
        return queryset.none() if which == "reported" else queryset

    def for_reason(self, queryset: QuerySet[Case], _name: str, code: str) -> QuerySet[Case]:
        """Select the cases decided for a reason, in the list's text: only PostgreSQL has "contains" for lists."""
        return queryset.filter(decision__reasons__icontains=f'"{code}"')

    @property
    def reported(self) -> QuerySet[ReportedResult]:
        """Reported results whose judge and annotators differ, or whose annotators contradict the unit test."""
        requested = self.form.cleaned_data if self.is_bound else {}
        # Only cases decided here have reasons and a source of the final label.
        if requested.get("what") == "own" or requested.get("reason") or requested.get("source"):
            return ReportedResult.objects.none()
        shown = visible_entries().filter(provenance=Provenance.REPORTED).values("reported_run")
        labels_differ = ~Q(judge_label="") & ~Q(human_label="") & ~Q(judge_label=F("human_label"))
        contradiction = Q(tests_passed=True, human_label=Label.LI) | Q(tests_passed=False, human_label=Label.CC)
        found = ReportedResult.objects.filter(labels_differ | contradiction, run__in=shown)
        if requested.get("suite"):
            found = found.filter(run__suite__slug=requested["suite"])
        if requested.get("category"):
            revisions = TaskRevision.objects.filter(task=OuterRef("task"), category__slug=requested["category"])
            found = found.filter(Exists(revisions.filter(suite_versions=OuterRef("run__entry__suite_version"))))
        return found


class TaskFilter(ListFilter):
    """Filter the tasks of a suite version: ``?q=&category=``."""

    q = CharFilter(method="words", label="Search", widget=_search("task, function or paper"))
    category = ChoiceFilter(field_name="category__slug", choices=_categories, label="Category", empty_label="any")

    class Meta:
        model = TaskRevision
        fields: Sequence[str] = []

    def words(self, queryset: QuerySet[TaskRevision], _name: str, text: str) -> QuerySet[TaskRevision]:
        """Search slugs, goals and titles of papers."""
        return with_words(
            queryset, text, "task__slug", "goal_function", "class_name", "task__paper__title", "goal_file"
        )
