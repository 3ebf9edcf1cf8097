"""Find public systems, tasks and cases by the beginnings of words, with the same results on SQLite and PostgreSQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.db.models import Case as Choose
from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.urls import reverse

from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.labels import Label
from leaderboard.board.filters import CaseFilter
from leaderboard.board.row import organisation_of
from leaderboard.board.rows import visible_entries
from leaderboard.evidence.cases import disagreements, public_cases
from reviews.models import Case
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from leaderboard.models import ReportedResult

MOST_HITS: Final = 10
"""Number of hits of a kind that are listed."""
_SYSTEM: Final = ("name", "backbone", "scaffold", "organisation")
_TASK: Final = ("task__slug", "goal_function", "class_name", "task__paper__title")
_ABOUT_TASK: Final = ("task__suite__title", "category__title", "goal_file", "instruction")
_CASE_TASK: Final = ("task__slug", "task__paper__title", "category__title")
_CASE_SYSTEM: Final = "implementation__submission__system__name"
_REPORTED: Final = ("task__slug", "task__paper__title", "run__system__name")
_REPORTED_WORDS: Final = ("judge_text", "human_comment")

_MEANS: Final = {Label.CC: "CC (correct)", Label.LC: "LC (right idea, wrong detail)", Label.LI: "LI (wrong)"}


class Hit(NamedTuple):
    """A page that was found: its title and address, and what it is."""

    title: str
    address: str
    about: str


class Hits(NamedTuple):
    """The best hits of one kind; ``more`` says whether there are others."""

    found: list[Hit]
    more: bool

    @classmethod
    def of(cls, hits: Iterable[Hit]) -> Hits:
        """Keep the first :data:`MOST_HITS` of ``hits``."""
        listed = list(hits)
        return cls(listed[:MOST_HITS], len(listed) > MOST_HITS)


def word_start(word: str) -> str:
    """Return a regular expression, for Python and both databases, of text in which a word begins with ``word``.

    The parts of a name such as ``pair_loss`` are words.
    """
    escaped = re.escape(word)
    return rf"(?:(?<!\w)|(?<=_)){escaped}" if word[0].isalnum() else escaped


def search(words: Sequence[str], *, hidden: Collection[int]) -> dict[str, Hits]:
    """Return kind -> systems, tasks and cases with words that begin like each of ``words``, in any case. Five queries.

    Hits whose name has all the words come first. ``hidden`` are the submissions whose results are hidden from the
    viewer (``leaderboard.board.visibility``): their cases are not found.
    """
    cases = [*_own_cases(words, hidden), *_reported_cases(words)]
    return {"Systems": Hits.of(_systems(words)), "Tasks": Hits.of(_tasks(words)), "Cases": Hits.of(cases)}


def _systems(words: Sequence[str]) -> Iterator[Hit]:
    """Yield systems with a public row, newest first. Their names are public even while a row's numbers are hidden."""
    public = System.objects.select_related("confirmation").filter(pk__in=visible_entries().values("system"))
    for system in _best(public, words, _SYSTEM[:1], _SYSTEM[1:], newest_first=True):
        agent = "no agent" if system.scaffold == "none" else system.scaffold
        about = ", ".join(filter(None, (system.backbone, agent, organisation_of(system))))
        yield Hit(system.name, system.get_absolute_url(), about)


def _tasks(words: Sequence[str]) -> Iterator[Hit]:
    """Yield the tasks of every suite's newest version, in the order of their import."""
    newest = SuiteVersion.objects.filter(suite=OuterRef("suite")).order_by("-number").values("pk")[:1]
    versions = SuiteVersion.objects.filter(pk=Subquery(newest))
    revisions = TaskRevision.objects.filter(suite_versions__in=versions)
    revisions = revisions.select_related("task__paper", "task__suite", "category")
    for each in _best(revisions, words, _TASK, _ABOUT_TASK):
        category = each.category.title if each.category else ""
        about = ", ".join(filter(None, (each.goal, category, each.task.suite.title)))
        yield Hit(f"{each.task.slug}: {each.task.paper.title}", each.task.get_absolute_url(), about)


def _own_cases(words: Sequence[str], hidden: Collection[int]) -> Iterator[Hit]:
    """Yield cases that were decided here, newest first."""
    cases = public_cases().exclude(implementation__submission__in=hidden)
    cases = cases.select_related("implementation__revision__task", "implementation__submission__system")
    # A condition on names of tasks or systems makes PostgreSQL combine all systems with all tasks, which are few.
    tasks = list(TaskRevision.objects.values_list("pk", *_CASE_TASK))
    for word in words:
        begins = re.compile(word_start(word), re.IGNORECASE)
        named = [pk for pk, *names in tasks if any(begins.search(name or "") for name in names)]
        if len(named) < len(tasks):
            cases = cases.filter(Q(implementation__revision__in=named) | _in_one_of(word, [_CASE_SYSTEM]))
    for case in cases.order_by("-pk")[: MOST_HITS + 1]:
        answer = case.implementation
        title = f"Case {case.pk}: {answer.revision.task.slug} by {answer.submission.system.name}"
        yield Hit(title, case.get_absolute_url(), f"final label: {_MEANS[Label(case.label)]}")


def _reported_cases(words: Sequence[str]) -> Iterator[Hit]:
    """Yield reported results whose raters disagree."""
    results = CaseFilter(None, queryset=Case.objects.none()).reported
    results = results.select_related("run__system", "task__paper")
    each: ReportedResult
    for each in _best(results, words, _REPORTED, _REPORTED_WORDS):
        task = each.task
        address = reverse("reported_case", args=[each.run.slug, task.paper.slug, task.index])
        yield Hit(f"{task.slug} by {each.run.system.name}", address, f"reported: {'; '.join(disagreements(each))}")


def _best(
    found: QuerySet[Any],
    words: Sequence[str],
    names: Sequence[str],
    others: Sequence[str],
    *,
    newest_first: bool = False,
) -> QuerySet[Any]:
    """Select the rows with every word, those with all words in ``names`` first, and one more than are listed.

    Rows of one place are in the order of their keys: databases sort texts differently.
    """
    in_names, anywhere = Q(), Q()
    for word in words:
        in_names &= _in_one_of(word, names)
        anywhere &= _in_one_of(word, (*names, *others))
    place = Choose(When(in_names, then=Value(0)), default=Value(1), output_field=IntegerField())
    return found.filter(anywhere).order_by(place, "-pk" if newest_first else "pk")[: MOST_HITS + 1]


def _in_one_of(word: str, fields: Iterable[str]) -> Q:
    found = Q()
    for field in fields:
        begins = Q(**{f"{field}__iregex": word_start(word)})
        # PostgreSQL takes ten times as long for a regular expression. SQLite ignores case in ASCII only.
        found |= Q(**{f"{field}__icontains": word}) & begins if word.isascii() else begins
    return found
