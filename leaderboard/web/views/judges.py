"""Show judges and their health; let maintainers add judges and choose the one that a board shows."""

from __future__ import annotations

import json
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from evaluator.enums import WorkState
from evaluator.judging import configs
from evaluator.judging.judgements import suites_to_judge
from evaluator.judging.prompt import PROMPT, PROMPT_HASH, SCHEMA, SCHEMA_HASH
from evaluator.models import JudgeConfig
from leaderboard.board.labels import COUNTED, judge_suite, show_judge, shown_judge
from leaderboard.board.query_strings import requested_version
from leaderboard.board.visibility import closed, closed_submissions, require_open
from leaderboard.insight.judge_differences import compare, requested_suite
from leaderboard.insight.judges import TABLE_HEADS, judge_facts, list_judges, shown_health
from leaderboard.web.closed_pages import closes
from leaderboard.web.forms import NONE_SHOWN, AddJudgeForm, ShowForm, SuiteForm
from submissions.exceptions import SubmissionError, WrongStateError
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def judges(request: HttpRequest) -> HttpResponse:
    """List all judges with their newest health checks."""
    return render(request, "leaderboard/judges.html", {"judges": list_judges(closed_submissions(request))})


@require_safe
def judge(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one judge: its immutable configuration, its labels, and its health checks."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    maintains = request.user.is_staff
    waiting = list(suites_to_judge(config)) if maintains and config.active else []
    context = {
        "facts": judge_facts(config, closed_submissions(request)),
        "closed": closed(request),
        "config": config,
        "heads": TABLE_HEADS,
        "prompt": PROMPT if config.prompt_hash == PROMPT_HASH else "",
        "schema": json.dumps(SCHEMA, indent=2) if config.schema_hash == SCHEMA_HASH else "",
        "compared": list(Suite.objects.all()) if maintains else [],
        "plan": SuiteForm(suites=waiting) if waiting else None,
        "held": config.judgements.filter(state=WorkState.HELD).count() if maintains else 0,
    }
    return render(request, "leaderboard/judge.html", context)


@never_cache
@require_safe
@closes
def judge_differences(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how the board of ``?suite=`` would change if it showed this judge. Public: only published answers count.

    Closed to annotators who are labelling one of these answers.
    """
    config = get_object_or_404(JudgeConfig, slug=slug)
    return _differences(request, config, requested_suite(request, config))


def _differences(
    request: HttpRequest, config: JudgeConfig, suite: Suite | None, *, form: ShowForm | None = None, status: int = 200
) -> HttpResponse:
    if suite:
        require_open(request, suite=suite)
    version = requested_version(request, suite) if suite else None
    old = shown_judge(suite.pk) if suite else None
    compared = compare(version=version, old=old, new=config) if version else None
    maintains = request.user.is_staff
    health = config.health_checks.first()
    context = {
        "config": config,
        "health": shown_health(health) if health else None,
        "suite": suite,
        "suites": list(Suite.objects.all()),
        "version": version,
        "old": old,
        "compared": compared,
        "heads": COUNTED,
        "show": form or (ShowForm.of(suite, old) if suite and maintains and old != config else None),
    }
    return render(request, "leaderboard/judge_differences.html", context, status=status)


@never_cache
@maintainers_only
@require_safe
def judge_form(request: HttpRequest) -> HttpResponse:
    """Show the form that creates a judge from an endpoint."""
    return _form_page(request, AddJudgeForm(owner=user_of(request)))


def _form_page(request: HttpRequest, form: AddJudgeForm, *, status: int = 200) -> HttpResponse:
    actor = user_of(request)
    context = {"form": form, "has_endpoints": actor.endpoints.exists()}
    return render(request, "leaderboard/judge_form.html", context, status=status)


@action("judge_form")
@maintainers_only
def judge_add(request: HttpRequest) -> HttpResponse:
    """Create a judge; the same configuration again returns the existing judge."""
    form = AddJudgeForm(request.POST, owner=user_of(request))
    if form.is_valid():
        try:
            added = configs.add_judge(actor=user_of(request), **form.cleaned_data)
        except SubmissionError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{added.name} is added. Check its health, then let it judge a suite.")
            return redirect(added)
    return _form_page(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@action("judge")
@maintainers_only
def judge_retire(request: HttpRequest, slug: str) -> HttpResponse:
    """Retire a judge; its votes stay."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    act = partial(configs.retire, config=config, actor=user_of(request))
    return perform(request, act, back=config, done=f"{config.name} is retired. Its labels stay.")


@action("judge")
@maintainers_only
def judge_plan(request: HttpRequest, slug: str) -> HttpResponse:
    """Queue a suite's answers for judging; those already judged are not judged again."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    form = SuiteForm(request.POST)
    if not form.is_valid():
        messages.warning(request, "Choose an existing suite.")
        return redirect(config)
    suite = form.cleaned_data["suite"]

    def plan() -> str:
        number = judge_suite(suite=suite, config=config, actor=user_of(request))
        waits = f"{number} answer{'s wait' if number != 1 else ' waits'}" if number else "Nothing new waits"
        return f"{waits} for {config.name} on {suite.title}."

    return perform(request, plan, back=config)


@action("judge_differences")
@maintainers_only
@closes
def judge_show(request: HttpRequest, slug: str) -> HttpResponse:
    """Show this judge on a suite's board. If the board's judge has changed meanwhile, show the differences again."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    form = ShowForm(request.POST)
    suite = Suite.objects.filter(slug=request.POST.get("suite", "")).first()

    def show() -> str:
        assert suite is not None  # noqa: S101 - for the type checker: the form ensures it
        now = shown_judge(suite.pk)
        if form.cleaned_data["instead_of"] != (now.slug if now else NONE_SHOWN):
            raise WrongStateError("The board now shows another judge. Check the differences again, then confirm.")
        rows = show_judge(suite=suite, config=config, actor=user_of(request), reason=form.cleaned_data["reason"])
        return (
            f"The board of {suite.title} now shows {config.name} in {rows} row{'s' if rows != 1 else ''}. "
            "A row that is not counted yet names the judge whose labels it shows."
        )

    def again() -> HttpResponse:
        return _differences(request, config, suite, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    back = reverse("board", args=[suite.slug]) if suite else ""
    return perform(request, show, back=back, form=form, again=again)
