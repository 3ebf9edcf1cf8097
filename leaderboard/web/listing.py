"""Select the rows of a board that a request names, in its order, with their ranks and the finding that they support."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from django.core.paginator import Paginator
from django.http import Http404

from leaderboard.board.caching import keep, kept_rows
from leaderboard.board.columns import DEFAULT_SORT, SORT_KEYS, sorted_metrics
from leaderboard.board.facets import board_context, filter_choices, published_on
from leaderboard.board.filters import BoardFilter
from leaderboard.board.folding import folded, folds, may_fold
from leaderboard.board.later_papers import counted_on, later, sorted_on
from leaderboard.board.matrix import arranged
from leaderboard.board.query_strings import requested_sort
from leaderboard.board.rows import board_metrics
from leaderboard.board.states import state_of
from leaderboard.board.visibility import closed_submissions, without_numbers
from leaderboard.insight.finding import finding_of
from leaderboard.models import EntryMetric
from leaderboard.web.table_files import file_requested
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.core.paginator import Page
    from django.db.models import QuerySet
    from django.http import HttpRequest

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.row import BoardRow
    from leaderboard.insight.finding import Finding

MOST_FILE_ROWS: Final = 10_000
_PART: Final = 1_000
"""Rows of a file that are read at once."""
PAGE_ROWS: Final = {"": 50, "all": 500}
"""Value of ``?rows=`` -> number of rows on a page."""
_FEW: Final = PAGE_ROWS[""]
"""So many rows are ranked among themselves where a filter selects them; of more, only the board's ranks are known.
Pages list so many calibration samples."""


class Listing:
    """A board's rows as the query string selects them. Raises Http404 for an unknown category.

    ``found`` is the filter, ``category`` and ``month`` say which numbers are read, ``tasks`` are those that they count,
    ``sort`` is the order, and ``by_system`` whether one row represents each system.
    """

    def __init__(self, request: HttpRequest, version: SuiteVersion) -> None:
        params = request.GET
        self.version, self.state = version, state_of(version)
        self.around = board_context(version, self.state)
        self.published = published_on(version, self.state)
        self.category = next((each for each in self.around.categories if each.slug == params.get("category")), None)
        if params.get("category") and self.category is None:
            raise Http404("This suite has no task in that category.")
        self.facets = filter_choices(self.around, self.published)
        self.found = BoardFilter(params, queryset=self._metrics(Kind.RANKED), facets=self.facets)
        self.sort = requested_sort(params, SORT_KEYS, DEFAULT_SORT)
        self.task_order = "difficulty" if params.get("tasks") == "difficulty" else "category"
        self.hidden = closed_submissions(request)
        valid = self.found.is_bound and self.found.form.is_valid()
        self.month = self.found.form.cleaned_data.get("papers", "") if valid else ""
        # With few rows, the pass rate reveals each row's result.
        rates = [] if self.hidden else self.state.pass_rates
        slug = self.category.slug if self.category else ""
        tasks = arranged(self.around.tasks, rates, category=slug, order=self.task_order)
        self.tasks = later(tasks, self.month) if self.month else tasks
        self.by_system = folds(params) and not file_requested(request)
        self._one_each = may_fold(params)
        self._page = params.get("page"), PAGE_ROWS.get(params.get("rows", ""), PAGE_ROWS[""])

    def _metrics(self, kind: Kind) -> QuerySet[EntryMetric]:
        return board_metrics(self.version, self.category, kind)

    def _ordered(self, sort: str, *, by_system: bool) -> QuerySet[EntryMetric] | list[int]:
        chosen = folded(self.found.qs) if by_system else self.found.qs
        listed = sorted_metrics(chosen, sort, hidden=self.hidden)
        return sorted_on(listed[:MOST_FILE_ROWS], self.tasks, sort, hidden=self.hidden) if self.month else listed

    def _read(self, part: QuerySet[EntryMetric] | list[int], *made_from: object) -> list[BoardRow]:
        """Read ``part`` of the rows; ``made_from`` names all that it depends on besides the filters."""
        some = EntryMetric.objects.filter(pk__in=part) if isinstance(part, list) else part
        chosen = (part if isinstance(part, list) else self.found.requested, sorted(self.hidden), *made_from)
        rows = without_numbers(kept_rows(some, self.state, self.category, *self._results, *chosen), self.hidden)
        order = part if isinstance(part, list) else []
        return counted_on(rows, self.tasks, self.month, order) if self.month else rows

    @property
    def _results(self) -> tuple[object, ...]:
        """The data that numbers of rows are made from."""
        return self.version.pk, self.state.surroundings, self.state.results, self.category and self.category.pk

    @cached_property
    def page(self) -> Page[EntryMetric]:
        """The requested page, or the nearest one."""
        number, rows = self._page
        paginator = Paginator(self._ordered(self.sort, by_system=self.by_system), rows)
        if not self.month:
            # Counting 100,000 rows takes a third of the page's time; their number changes only with results and names.
            listed = paginator.object_list
            made_from = (*self._results, self.found.requested, self.by_system)
            paginator.count = keep(cast("QuerySet[EntryMetric]", listed).count, "count", *made_from)
        return cast("Page[EntryMetric]", paginator.get_page(number))

    @cached_property
    def rows(self) -> list[BoardRow]:
        """The rows of the page."""
        return self._with_ranks(self._page_rows)

    def _with_ranks(self, rows: list[BoardRow]) -> list[BoardRow]:
        """Return ``rows`` with their ranks among the rows shown, if these are compared with each other."""
        ranked = {row.key: row for row in self.best} if self.ranks_shown else {}
        return [ranked.get(row.key, row) for row in rows]

    @cached_property
    def _page_rows(self) -> list[BoardRow]:
        page = self.page
        listed = cast("QuerySet[EntryMetric]", page.object_list)
        return self._read(listed, self.sort, self.by_system, page.number, page.paginator.per_page)

    @cached_property
    def best(self) -> list[BoardRow]:
        """The best rows by unit tests: one for each system, unless a filter chooses among its rows."""
        is_page = self.sort == DEFAULT_SORT and self.page.number == 1 and self.by_system == self._one_each
        if is_page:
            rows = self._page_rows[:_FEW]
        else:
            listed = self._ordered(DEFAULT_SORT, by_system=self._one_each)
            rows = self._read(listed[:_FEW], "best", self._one_each)
        if not self.ranks_shown:
            return rows
        # Imported here: resampling needs numpy, which the whole board does not.
        from leaderboard.insight.ranking import ranked_among

        return ranked_among(rows, self.tasks)

    @property
    def ranks_shown(self) -> bool:
        """Whether ranks compare the rows shown with each other, because a filter or a month selects few of them."""
        chosen = self.found.selects_systems or bool(self.month)
        return chosen and not self.hidden and self.page.paginator.count <= _FEW

    @cached_property
    def finding(self) -> Finding:
        """Who leads these rows, and how sure that is."""
        if self.ranks_shown:
            ranked = sum(row.rank is not None for row in self.best)
        else:
            ranked = keep(
                lambda: self._metrics(Kind.RANKED).filter(rank_from__isnull=False).count(),
                *("ranked", self.version.pk, self.category and self.category.pk, self.state.ranked),
            )
        scope = f" of papers first public after {self.month}" if self.month else ""
        return finding_of(
            self.best,
            ranked=ranked,
            scope=scope or (f" of {self.category.title}" if self.category else ""),
            selected=self.found.selects_systems,
            among_shown=self.ranks_shown,
        )

    def samples(self) -> tuple[list[BoardRow], bool]:
        """Return the first calibration samples, which are never ranked, and whether there are more."""
        if not self.published.has_samples:
            return [], False
        calibration = sorted_metrics(self._metrics(Kind.CALIBRATION), self.sort, hidden=self.hidden)
        found = self._read(calibration[: _FEW + 1], "samples", self.sort)
        return found[:_FEW], len(found) > _FEW

    def file_rows(self) -> Iterator[BoardRow]:
        """Yield the rows of a file: all, in the requested order, with the ranks that the page shows.

        They are read in parts, since all at once would take hundreds of megabytes.
        """
        ordered = self._ordered(self.sort, by_system=False)[:MOST_FILE_ROWS]
        # By entries, since a row that is recounted meanwhile has other metrics afterwards.
        if isinstance(ordered, list):
            entries = dict(EntryMetric.objects.filter(pk__in=ordered).values_list("pk", "entry"))
            order = [entries[metric] for metric in ordered if metric in entries]
        else:
            order = list(ordered.values_list("entry", flat=True))
        for first in range(0, len(order), _PART):
            yield from self._part(order[first : first + _PART])

    def _part(self, entries: list[int]) -> list[BoardRow]:
        """Read the rows of ``entries``, in their order."""
        some = self._metrics(Kind.RANKED).filter(entry__in=entries)
        places = {entry: place for place, entry in enumerate(entries)}
        place_of = {metric: places[entry] for metric, entry in some.values_list("pk", "entry")}
        rows = self._with_ranks(self._read(some, "file", entries))
        return sorted(rows, key=lambda row: place_of.get(row.metric, 0))

    @property
    def some_hidden(self) -> bool:
        """Whether numbers of any of these rows are hidden, because the viewer is labelling one of its answers."""
        return bool(self.hidden) and self.found.qs.filter(entry__submission__in=self.hidden).exists()
