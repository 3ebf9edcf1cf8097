"""Every page and every list of the API, as four kinds of people see them, with objects of a generated instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from submissions.models import User

SUITE: Final = "lmr-bench"
QUERIES: Final[dict[str, tuple[str, ...]]] = {
    # Further views of a page besides the first one; "last" is the number of the last page.
    "board": (
        "?sort=-judge", "?sort=system", "?q=cedar", "?agent=Aider+0.60", "?rows=all", "?fold=no&page=last",
        "?page=last", "?papers=2024-01", "?show=own", "?format=csv",
    ),
    "matrix": ("?page=last", "?format=csv"),
    "task": ("?sort=judge", "?page=last"),
    "agreement": (
        "?binary=1", "?first=decision&second=judge:{judge}", "?first=decision&second=judge:{judge}&cell=CC,LI",
        "?system={system}",
    ),
    "cases": ("?page=last", "?what=own&category=loss-functions"),
    "search": ("?q=cedar", "?q=load-7"),
    "my_submissions": ("?q=cedar", "?state=held", "?page=last"),
    "maintain_submissions": ("?q=cedar", "?state=held", "?visibility=published", "?page=last"),
    "maintain_accounts": ("?q=load-77", "?page=last"),
    "maintain_events": ("?verb=withdrawn", "?subject=cedar", "?page=last"),
    "notices": ("?page=last",),
    "judge_differences": ("?suite=lmr-bench",),
    "compare": ("?row={row}&row={other}",),
    "compare_task": ("?row={row}&row={other}",),
    "labels_export": ("?format=csv",),
    "api:list_rows": ("?sort=-judge", "?q=cedar"),
    "api:compare_rows": ("?row={row}&row={other}",),
    "api:list_submissions": ("?state=held", "?suite=lmr-bench"),
    "api:get_agreement": ("?first=tests&second=judge:{judge}",),
}  # fmt: skip
ALONE: Final = frozenset({"compare", "compare_task", "judge_differences", "labels_export", "api:compare_rows"})
"""Pages that only their further views show anything of."""
NOT_MEASURED: Final = frozenset({"favicon", "docs_image", "styleguide", "metrics", "api:missing", "api:api-root"})
"""Files and addresses that read no rows; ``metrics`` has a row of its own."""


@dataclass(frozen=True, slots=True)
class People:
    """Who looks: the owner of most submissions, an annotator, and a maintainer."""

    submitter: User
    annotator: User
    maintainer: User


@dataclass(frozen=True, slots=True)
class Visit:
    """An address to measure; ``name`` is that of the page, with what distinguishes this view of it."""

    name: str
    path: str


def visits(people: People) -> Iterator[Visit]:
    """Yield the addresses of every named page and operation that takes no argument which nothing generated has."""
    known = _objects(people)
    for name in _names():
        if name in NOT_MEASURED:
            continue
        for suffix, arguments in known.get(name, {"": known[""][""]}).items():
            path = _path(name, arguments)
            if path is None:
                continue
            words = f"{name} {suffix}".strip()
            if name not in ALONE:
                yield Visit(words, path)
            for query in QUERIES.get(name, ()):
                yield Visit(f"{words} {query}", path + query.format(**known["query"][""]))


def _names(resolver: URLResolver | None = None, space: str = "") -> Iterator[str]:
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from _names(pattern, pattern.namespace or space)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield f"{space}:{pattern.name}" if space else pattern.name


def _path(name: str, arguments: dict[str, Any]) -> str | None:
    """Return the address with those of ``arguments`` that it takes; None if it takes another one."""
    view = next(each for each in _patterns(name))
    wanted = {key: arguments[key] for key in view if key in arguments}
    try:
        return reverse(name, kwargs=wanted)
    except NoReverseMatch:
        return None


def _patterns(
    name: str, resolver: URLResolver | None = None, given: tuple[str, ...] = (), space: str = ""
) -> Iterator[tuple[str, ...]]:
    """Yield the names of the arguments of the page ``name``."""
    for pattern in (resolver or get_resolver()).url_patterns:
        arguments = (*given, *pattern.pattern.regex.groupindex)
        if isinstance(pattern, URLResolver):
            yield from _patterns(name, pattern, arguments, pattern.namespace or space)
        elif name == (f"{space}:{pattern.name}" if space else pattern.name):
            yield arguments


def _objects(people: People) -> dict[str, dict[str, dict[str, Any]]]:
    """Return page's name (empty: others) -> words for the object -> arguments."""
    from evaluator.models import ShownJudge
    from leaderboard.models import ReportedResult
    from reviews.enums import NEWEST_CLOSED
    from reviews.models import Case
    from submissions.models import Submission, System

    sent = Submission.objects.filter(suite_version__suite__slug=SUITE, state="scored", kind="ranked")
    public = sent.filter(visibility="published").order_by("pk")
    judged = public.filter(implementations__judgements__isnull=False).first()
    other = public.exclude(system=judged.system).last()
    private = sent.filter(owner=people.submitter, visibility="private").order_by("pk").first()
    closed = Case.objects.filter(state__in=NEWEST_CLOSED).filter(implementation__submission__in=public).first()
    judge = ShownJudge.objects.get(suite__slug=SUITE).config
    reported = ReportedResult.objects.select_related("run", "task__paper").exclude(judge_label="").first()
    busy = System.objects.get(slug="load-0")
    task = {"suite": SUITE, "paper": reported.task.paper.slug, "index": reported.task.index, "trial": 1}
    every = {"": {**task, "number": 1, "figure": "scores", "form": "csv"}}
    submissions = {"of one, published": {**task, "pk": judged.pk}, "of one, private": {**task, "pk": private.pk}}
    systems = {"of one with few rows": {"slug": judged.system.slug}, "of one with many rows": {"slug": busy.slug}}
    names = ("submission", "submission_progress", "submission_actions", "implementation", "api:get_submission")
    names += ("api:list_answers", "api:get_answer", "api:get_receipt", "api:list_reevaluations")
    return {
        "": every,
        "query": {"": {"judge": judge.slug, "system": busy.slug, "row": f"s{judged.pk}", "other": f"s{other.pk}"}},
        **dict.fromkeys(names, submissions),
        **dict.fromkeys(("system", "system_picture", "badge", "api:get_system"), systems),
        **{name: {"": {"pk": closed.pk}} for name in ("case", "api:get_case")},
        **{name: {"": {"slug": judge.slug}} for name in ("judge", "judge_differences", "api:get_judge")},
        "api:get_judge_differences": {"": {"slug": judge.slug}},
        "evidence": {"": {**task, "key": f"s{judged.pk}"}},
        "docs_page": {"": {"slug": "submitting"}},
        **{name: {"": {"slug": reported.run.slug}} for name in ("reported_run", "api:get_reported_run")},
        "reported_case": {"": {**task, "run": reported.run.slug}},
        "review_person": {"": {"pk": people.annotator.reviewer.pk}},
    }
