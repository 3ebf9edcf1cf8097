"""The pages of a submission: what was sent, how far it is, every answer's outcome, and every answer."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import FileResponse, Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmark_tasks.domain.content import ContentMissingError, tree_path
from benchmark_tasks.domain.left_out import audited_later
from evaluator.enums import ReevaluationState
from evaluator.models import AnswerRequest, Judgement, TestRun
from evaluator.sandbox.task_environments import short_digest
from evaluator.testing.shown_outcomes import badge_of, case_rows, newest
from evaluator.testing.types import WITHOUT_TEST
from leaderboard.board.actions import steps_of
from leaderboard.board.filters import OwnSubmissionFilter
from leaderboard.board.query_strings import asked_sort, query_with, sort_columns
from leaderboard.board.results import pass_at_k_table
from leaderboard.board.rows import tests_cell
from leaderboard.board.visibility import closed, require_open
from leaderboard.evidence import reevaluations
from leaderboard.evidence.cases import may_appeal, review_of
from leaderboard.evidence.generations import generation_context, without_answer
from leaderboard.evidence.receipts import can_be_repeated, receipt_of
from leaderboard.evidence.submissions import (
    DEFAULT_SORT,
    OPEN_STATES,
    SORT_KEYS,
    answer_row,
    may_see_code,
    measured_with,
    own_submissions,
    progress_of,
    public_trace,
    shown_similarity,
    taken_away,
    task_rows,
    upload_state,
    without_outcomes,
)
from leaderboard.evidence.task_state import reference_is_shipped
from leaderboard.health.queues import held_in_full
from leaderboard.models import EntryMetric
from leaderboard.web.closed_pages import closes
from leaderboard.web.forms import AppealForm
from reviews.comparison import side_by_side
from reviews.labelling.items import shown_candidate, shown_golden
from reviews.views.guards import user_of
from submissions.domain import quotas
from submissions.domain.access import may_manage, visible_to
from submissions.domain.shown_changes import changes_more
from submissions.enums import Kind, Source, SubmissionState, Visibility
from submissions.forms import CancelForm, CorrectForm, PublishForm, WithdrawForm
from submissions.highlighting import code_with_visible_marks
from submissions.models import Implementation, Submission, Upload

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest

    from evaluator.repeating.receipts import Receipt
    from leaderboard.evidence.cases import AnswerReview
    from reviews.comparison import Comparison

PAGE_SIZE = 25
LONGEST_DIFF = 400_000
"""Characters of the changed files before and after, up to which they are compared; beyond, the difference is plain."""
_ZIP, _GZIP = b"PK", b"\x1f\x8b"


def visible_submission(request: HttpRequest, pk: int) -> Submission:
    """The submission, if whoever asks may see it. Raises Http404 otherwise, as for one that does not exist."""
    found = visible_to(request.user).select_related("system", "owner", "suite_version__suite")
    return get_object_or_404(found, pk=pk)


@never_cache
@require_safe
def submission(request: HttpRequest, pk: int) -> HttpResponse:
    """One submission. Where a published one was taken away, that and the reason."""
    try:
        shown = visible_submission(request, pk)
    except Http404:
        gone = taken_away(pk)
        if gone is None:
            raise
        return render(request, "leaderboard/submission_gone.html", {"gone": gone}, status=HTTPStatus.NOT_FOUND)
    return submission_page(request, shown)


def submission_page(request: HttpRequest, shown: Submission, *, status: int = 200, **bound: Any) -> HttpResponse:
    """The page of ``shown``; ``bound`` are forms with errors: ``publish``, ``withdraw``, ``cancel``, ``correct``."""
    manages = may_manage(request.user, shown)
    live = live_context(request, shown)
    context = (
        live
        | ({} if live["closed"] else generation_context(request.user, shown))
        | {
            "trace": public_trace(shown, outcomes=not live["closed"]),
            "correct": CorrectForm.of(shown.system) if manages else None,
            **bound,
        }
    )
    return render(request, "leaderboard/submission.html", context, status=status)


@never_cache
@require_safe
def submission_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that changes. ``?seen=`` is what the browser shows; nothing is sent while that holds."""
    shown = visible_submission(request, pk)
    context = live_context(request, shown)
    if request.GET.get("seen") == context["fingerprint"]:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    changed = {"announce": True, "trace": public_trace(shown, outcomes=not context["closed"])}
    asking = generation_context(request.user, shown)
    return render(request, "leaderboard/submission_live.html", context | asking | changed)


def live_context(request: HttpRequest, shown: Submission) -> dict[str, Any]:
    """State, progress, tasks, totals, and what may be done now. Outcomes are left out where they are closed."""
    hidden = closed(request, submission=shown)
    measured = task_rows(shown)
    rows, progress = measured, progress_of(measured)
    if hidden:
        rows, progress = without_outcomes(rows, progress)
    again = [] if hidden else reevaluations.of_submission(shown)
    manages = may_manage(request.user, shown)
    publishable = shown.state == SubmissionState.SCORED and shown.visibility in {
        Visibility.PRIVATE,
        Visibility.WITHDRAWN,
    }
    allowed = shown.kind != Kind.CALIBRATION or request.user.is_staff
    metric = EntryMetric.objects.filter(entry__submission=shown, category__isnull=True).select_related("entry").first()
    evaluators, environments = measured_with(shown, measured)
    return {
        "submission": shown,
        "system": shown.system,
        "suite": shown.suite_version.suite,
        "manages": manages,
        "sees_code": may_see_code(request.user, shown) and not hidden,
        "closed": hidden,
        "held_in_full": _held_in_full(request, shown),
        "rows": rows,
        "progress": progress,
        "is_open": shown.state in OPEN_STATES,
        # A worker counts the row just after the last answer is decided.
        "counting": shown.state == SubmissionState.SCORED and metric is None,
        "fingerprint": progress.fingerprint(f"{shown.state}-{shown.visibility}-{metric is not None}"),
        "tests": None if hidden else tests_cell(metric),
        "left_out": metric.entry.left_out if metric else (),
        "audited_later": audited_later({row.implementation.revision for row in measured}),
        "pass_at_k": () if hidden else pass_at_k_table(shown),
        "reevaluations": again,
        "environments": environments,
        "evaluators": evaluators,
        "publish": PublishForm() if manages and publishable and allowed else None,
        "needs_maintainer": manages and publishable and not allowed,
        "withdraw": WithdrawForm() if manages and shown.visibility == Visibility.PUBLISHED else None,
        "cancel": CancelForm() if manages and shown.state in {*OPEN_STATES, SubmissionState.HELD} else None,
    }


def _held_in_full(request: HttpRequest, shown: Submission) -> str:
    """What a maintainer can act on; empty for everybody else."""
    if shown.state != SubmissionState.HELD or not request.user.is_staff:
        return ""
    return held_in_full([shown.pk]).get(shown.pk, "")


@require_safe
@closes
def implementation(request: HttpRequest, pk: int, paper: str, index: int, trial: int) -> HttpResponse:
    """One answer: its outcome, cases, log, differences, and how it was measured; ``?format=json`` is its receipt."""
    shown, answer = open_answer(request, pk, paper, index, trial)
    return answer_page(request, shown, answer)


def open_answer(request: HttpRequest, pk: int, paper: str, index: int, trial: int) -> tuple[Submission, Implementation]:
    """A submission and its answer. Raises Http404, AnswerClosedError where its numbers are hidden from the viewer."""
    shown = visible_submission(request, pk)
    answer = get_object_or_404(
        Implementation.objects.select_related("revision__task__paper", "revision__task__suite", "revision__category"),
        submission=shown,
        revision__task__paper__slug=paper,
        revision__task__index=index,
        trial=trial,
    )
    require_open(request, submission=shown)
    answer.submission = shown
    return shown, answer


def answer_page(
    request: HttpRequest,
    shown: Submission,
    answer: Implementation,
    *,
    appeal: AppealForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of an answer; ``appeal`` is that form with errors."""
    runs = list(shown_runs(answer))
    run = asked_run(request, runs)
    public, private = case_rows(run)
    previous, following = _neighbours(shown, answer)
    sees_code = may_see_code(request.user, shown)
    asked = asked_for(answer)
    judges, review = list(Judgement.objects.of_answer(answer)), review_of(answer)
    receipt = shown_receipt(request, answer, run=run, judges=judges, review=review)
    if request.GET.get("format") == "json":
        return JsonResponse(asdict(receipt), json_dumps_params={"indent": 1})
    folds = request.GET.get("docstrings") != "shown"
    context = {
        "receipt": receipt,
        "repeatable": can_be_repeated(receipt),
        "folds_docstrings": folds,
        "docstrings_query": query_with(request.GET, docstrings="shown" if folds else None),
        "golden": _beside_golden(answer, folds=folds) if sees_code else None,
        "submission": shown,
        "suite": shown.suite_version.suite,
        "answer": answer,
        "revision": answer.revision,
        "task": answer.revision.task,
        "row": answer_row(answer, run, asked),
        "without_answer": without_answer(asked) if shown.source == Source.ENDPOINT and not answer.attempted else "",
        "run": run,
        "tested": run is not None and run.outcome not in WITHOUT_TEST,
        "environment": short_digest(run.environment_digest) if run else "",
        "attempts": list(run.attempts.all()) if run else [],
        "measured": [(each, badge_of(each)) for each in reversed(runs)] if len(runs) > 1 else [],
        "superseded": run is not None and bool(run.superseded_by.all()),
        "public_cases": public,
        "private_cases": private,
        "sees_code": sees_code,
        "asked": asked if sees_code else None,
        "reference_is_shipped": reference_is_shipped(answer.revision),
        "similarity": shown_similarity(answer) if sees_code else None,
        "files": _difference(answer, folds=folds) if sees_code else [],
        "changes_more": sees_code and changes_more(answer),
        "previous": previous,
        "following": following,
        "judges": judges,
        "steps": steps_of(answer) if sees_code else None,
        "review": review,
        "appeal": appeal or (AppealForm() if may_appeal(request.user, answer) else None),
    }
    return render(request, "leaderboard/implementation.html", context, status=status)


def shown_receipt(
    request: HttpRequest, answer: Implementation, *, run: TestRun | None, judges: list[Judgement], review: AnswerReview
) -> Receipt:
    """The receipt of an answer as whoever asks may see it."""
    return receipt_of(
        answer,
        run=run,
        judges=judges,
        review=review,
        address=request.build_absolute_uri(_address_of(answer, request)),
        sees_code=may_see_code(request.user, answer.submission),
    )


def shown_runs(answer: Implementation) -> QuerySet[TestRun]:
    """The runs of an answer that count or counted, oldest first; not those of a re-evaluation that is not applied."""
    counted = Q(reevaluation__isnull=True) | Q(reevaluation__state=ReevaluationState.APPLIED)
    runs = TestRun.objects.filter(counted, implementation=answer).order_by("pk").select_related("reevaluation")
    return runs.prefetch_related("attempts", "superseded_by")


def asked_for(answer: Implementation) -> AnswerRequest | None:
    """How a model was asked for the answer, where this site asked one."""
    if answer.submission.source != Source.ENDPOINT:
        return None
    return AnswerRequest.objects.select_related("generation").filter(implementation=answer).first()


def asked_run(request: HttpRequest, runs: list[TestRun]) -> TestRun | None:
    """The run that ``?run=`` names, else the one that counts. Raises Http404 for one that is not shown."""
    number = request.GET.get("run", "")
    if not number:
        return newest([run for run in runs if not run.superseded_by.all()])
    for run in runs:
        if str(run.pk) == number:
            return run
    raise Http404("This answer has no such run.")


def _address_of(answer: Implementation, request: HttpRequest) -> str:
    """The page's address, with the run that it shows."""
    number = request.GET.get("run", "")
    return f"{answer.get_absolute_url()}?run={number}" if number else answer.get_absolute_url()


def _beside_golden(answer: Implementation, *, folds: bool) -> Comparison | None:
    """The golden function beside the goal as answered, where everybody may see it; None where there are not both."""
    golden = shown_golden(answer.revision) if reference_is_shipped(answer.revision) and answer.goal_source else ""
    return side_by_side(golden, shown_candidate(answer), fold_docstrings=folds) if golden else None


def _difference(answer: Implementation, *, folds: bool) -> list[dict[str, Any]]:
    """Each changed file beside the masked one; empty where these are not here or too long to compare."""
    new = answer.files or {}
    paths = sorted({*new, *answer.deleted})
    try:
        masked = tree_path(answer.revision.repository_hash)
    except ContentMissingError:
        return []
    there = [path for path in paths if (masked / path).is_file()]
    if sum((masked / path).stat().st_size for path in there) + sum(map(len, new.values())) > LONGEST_DIFF:
        return []
    old = {path: (masked / path).read_bytes().decode("utf-8", "replace") for path in there}
    return [
        {
            "path": path,
            "what": "added" if path not in old else "removed" if path in answer.deleted else "changed",
            "comparison": side_by_side(
                *(code_with_visible_marks(files.get(path, "").replace("\r\n", "\n")) for files in (old, new)),
                languages=(path.rpartition(".")[2], path.rpartition(".")[2]),
                fold_docstrings=folds,
            ),
        }
        for path in paths
    ]


def _neighbours(shown: Submission, answer: Implementation) -> tuple[Implementation | None, Implementation | None]:
    """The answers before and after ``answer`` in the benchmark's order."""
    answers = list(
        shown.implementations.select_related("revision__task__paper").only(
            "submission_id", "trial", "revision__task__slug", "revision__task__index", "revision__task__paper__slug"
        )
    )
    place = answers.index(answer)
    return (answers[place - 1] if place else None), (answers[place + 1] if place + 1 < len(answers) else None)


@require_safe
@closes
def submission_bundle(request: HttpRequest, pk: int) -> FileResponse:
    """The bundle as it was sent, for its owner and for maintainers."""
    shown = visible_submission(request, pk)
    if not may_manage(request.user, shown) or not shown.bundle:
        raise Http404
    require_open(request, submission=shown)
    with shown.bundle.open("rb") as stream:
        start = stream.read(2)
    ending = "zip" if start == _ZIP else "tar.gz" if start == _GZIP else "jsonl"
    response = FileResponse(
        shown.bundle.open("rb"),
        as_attachment=True,
        filename=f"submission-{shown.pk}.{ending}",
        content_type="application/octet-stream",
    )
    response["X-Content-Type-Options"] = "nosniff"
    return response


@login_required
@require_safe
def my_submissions(request: HttpRequest) -> HttpResponse:
    """What the signed-in person sent, and what waits to be submitted."""
    user = user_of(request)
    sort = asked_sort(request.GET, SORT_KEYS, DEFAULT_SORT)
    found = OwnSubmissionFilter(request.GET, queryset=own_submissions(user=user, sort=sort))
    remaining = quotas.remaining(user)
    context = {
        "filter": found,
        "kept": [("sort", request.GET.get("sort", ""))],
        "page": Paginator(found.qs, PAGE_SIZE).get_page(request.GET.get("page")),
        "columns": sort_columns(request.GET, SORT_KEYS, DEFAULT_SORT),
        "uploads": [(upload, upload_state(upload, quota=remaining)) for upload in Upload.objects.filter(owner=user)],
        "quota_remaining": remaining,
        "quota_limit": quotas.limit(user),
    }
    return render(request, "leaderboard/submissions_mine.html", context)
