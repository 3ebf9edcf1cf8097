"""Show suites, their tasks and papers, and serve task kits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.http import FileResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark_tasks.domain.left_out import tasks_left_out
from benchmark_tasks.domain.problems import general_reason
from benchmark_tasks.domain.queries import current_version, distinct_titles, revisions_of
from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import Suite, TaskRevision
from evaluator.generation.prompt_tasks import why_unreadable
from leaderboard.board.query_strings import requested_sort, requested_version, sort_columns
from leaderboard.board.rows import visible_entries
from leaderboard.board.visibility import closed, closed_submissions
from leaderboard.evidence.task_answers import DEFAULT_SORT, SORTS, difficulty_of, in_order, task_answers
from leaderboard.evidence.task_state import environment_states, may_see_reference, why_outdated
from leaderboard.evidence.tasks import answered_on, kit_response, paper_response, requested_revision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from benchmark_tasks.models import Category

PAGE_SIZE = 50


@require_safe
def suites(request: HttpRequest) -> HttpResponse:
    """List all suites."""
    listed = [
        {"suite": suite, "title": title, "version": suite.versions.first(), "tasks": suite.tasks.count()}
        for suite, title in distinct_titles(Suite.objects.all())
    ]
    return render(request, "leaderboard/suites.html", {"listed": listed})


@require_safe
def suite(request: HttpRequest, suite: str) -> HttpResponse:
    """Show one suite: its description, versions, tasks by category, and kit."""
    shown = get_object_or_404(Suite, slug=suite)
    version = requested_version(request, shown)
    revisions = list(revisions_of(version)) if version else []
    context = {
        "suite": shown,
        "version": version,
        "versions": shown.versions.all(),
        "groups": _by_category(revisions),
        "outside": [revision for revision in revisions if revision.category is None],
        "runnable_count": sum(revision.runnable for revision in revisions),
        "auditing": _auditing(revisions) if version == current_version(shown) else None,
        "task_count": len(revisions),
        "facts_only": all(revision.protocol == Protocol.NONE for revision in revisions),
        "reasons": _reasons(revisions),
        "counted": sum(not revision.why_left_out for revision in revisions),
        "left_out": tasks_left_out(revisions),
        "waiting_environments": [
            environment
            for environment in environment_states(revisions, maintainer=request.user.is_staff)
            if environment.state != "ready"
        ],
        "has_reported": visible_entries().filter(suite_version=version, reported_run__isnull=False).exists(),
    }
    return render(request, "leaderboard/suite.html", context)


@require_safe
def kit(request: HttpRequest, suite: str) -> HttpResponseBase:
    """Download a version's task kit as a zip file."""
    return kit_response(request, suite)


@require_safe
def task(request: HttpRequest, suite: str, paper: str, index: int) -> HttpResponse:
    """Show one task: difficulty, every answer, paper, instruction, masked code, protocol and audit."""
    revision, is_current = requested_revision(request, suite, paper, index)
    context = {
        **_answers(request, revision),
        "suite": revision.task.suite,
        "task": revision.task,
        "paper": revision.task.paper,
        "revision": revision,
        "is_current": is_current,
        "audit": revision.audit,
        "paper_problem": why_unreadable(revision) if revision.paper_hash else "",
        "audit_outdated": why_outdated(revision),
        "shows_reference": may_see_reference(revision, request.user),
        "environments": environment_states([revision], maintainer=request.user.is_staff),
    }
    return render(request, "leaderboard/task.html", context)


def _answers(request: HttpRequest, revision: TaskRevision) -> dict[str, Any]:
    """Return a page of the answers to a task on the shown version, or on the newest that has it."""
    task, answered = revision.task, answered_on(request, revision)
    if answered is None or closed(request, task=task):
        version = answered[0] if answered else None
        return {"closed": closed(request, task=task), "answers": [], "difficulty": None, "version": version}
    version, place, entries = answered
    sort = requested_sort(request.GET, SORTS, DEFAULT_SORT)
    hidden = closed_submissions(request)
    page = Paginator(in_order(entries, place, sort, hidden=hidden), PAGE_SIZE).get_page(request.GET.get("page"))
    return {
        "closed": [],
        "version": version,
        "answers": task_answers(page.object_list, place, task, hidden=hidden),
        "page": page,
        "columns": sort_columns(request.GET, SORTS, DEFAULT_SORT, ascending=("system", "inputs", "judge", "human")),
        "difficulty": difficulty_of(entries, place, hidden=hidden),
    }


@require_safe
def task_paper(request: HttpRequest, suite: str, paper: str, index: int) -> FileResponse:
    """Serve the paper as the kit contains it: a PDF shown inline, or the paper's text as JSON."""
    revision, _ = requested_revision(request, suite, paper, index)
    return paper_response(revision)


def _reasons(revisions: Iterable[TaskRevision]) -> list[tuple[str, int]]:
    """Return the reasons why tasks cannot be run with their number of tasks, most frequent first."""
    reasons = Counter(
        reason
        for revision in revisions
        if not revision.runnable
        for reason in {general_reason(each) for each in revision.not_runnable_reasons or [revision.why_left_out]}
    )
    return reasons.most_common()


def _auditing(revisions: Iterable[TaskRevision]) -> dict[str, Any] | None:
    """Return the progress of the audit that must finish before answers are accepted; None if they are accepted, or no
    task is runnable.
    """
    audited = sum(revision.audit_state != AuditState.UNAUDITED for revision in revisions)
    waiting = [each for each in revisions if each.runnable and each.audit_state == AuditState.UNAUDITED]
    obstacles = {each.audit["obstacle"] for each in waiting if each.audit.get("obstacle")}
    return {"done": audited, "of": audited + len(waiting), "obstacles": sorted(obstacles)} if waiting else None


def _by_category(revisions: Iterable[TaskRevision]) -> list[tuple[Category, list[TaskRevision]]]:
    groups: dict[Category, list[TaskRevision]] = {}
    for revision in revisions:
        if revision.category is not None:
            groups.setdefault(revision.category, []).append(revision)
    return sorted(groups.items(), key=lambda item: item[0].position)
