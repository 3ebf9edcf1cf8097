"""Judges: who they are, how far they can be trusted, and, for maintainers, adding them and choosing the shown one."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from django.contrib import messages
from django.db.models import Count, Q
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from evaluator.judging import configs
from evaluator.judging.judgements import suites_to_judge
from evaluator.judging.prompt import FRAME, PROMPT_HASH, RUBRIC
from evaluator.judging.schema import SCHEMA, SCHEMA_HASH
from evaluator.models import JudgeConfig
from leaderboard.board.judge_differences import compare
from leaderboard.board.judge_labels import COUNTED, judge_suite, show_judge, shown_judge
from leaderboard.board.judge_pages import TABLE_HEADS, judge_facts, list_judges, shown_health
from leaderboard.closing import closed_answers
from leaderboard.http import asked_version
from leaderboard.judge_forms import NONE_SHOWN, AddJudgeForm, ShowForm, SuiteForm
from reviews.views.guards import maintainers_only
from submissions.exceptions import SubmissionError
from submissions.models import User
from submissions.views.acting import action

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


def _form_address() -> str:
    return reverse("judge_form")


def _judge_address(slug: str) -> str:
    return reverse("judge", args=[slug])


def _differences_address(slug: str) -> str:
    return reverse("judge_differences", args=[slug])


def _actor(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - for the type checker: maintainers_only has seen to it
    return request.user


@require_safe
def judges(request: HttpRequest) -> HttpResponse:
    """All judges, with the newest health check of each."""
    return render(request, "leaderboard/judges.html", {"judges": list_judges()})


@require_safe
def judge(request: HttpRequest, slug: str) -> HttpResponse:
    """One judge: everything about it that cannot change, how it judged, and its health checks."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    maintains = getattr(request.user, "is_staff", False)
    waiting = list(suites_to_judge(config)) if maintains and config.active else []
    context = {
        "facts": judge_facts(config),
        "config": config,
        "heads": TABLE_HEADS,
        "prompt": f"{RUBRIC}\n\n{FRAME}" if config.prompt_hash == PROMPT_HASH else "",
        "schema": json.dumps(SCHEMA, indent=2) if config.schema_hash == SCHEMA_HASH else "",
        "compared": list(Suite.objects.all()) if maintains else [],
        "plan": SuiteForm(suites=waiting) if waiting else None,
    }
    return render(request, "leaderboard/judge.html", context)


@never_cache
@require_safe
def judge_differences(request: HttpRequest, slug: str) -> HttpResponse:
    """``?suite=``: what would change on its board if it showed this judge. Published answers only, so it is public."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    return _differences(request, config, _asked_suite(request, config))


def _asked_suite(request: HttpRequest, config: JudgeConfig) -> Suite | None:
    """The suite that the address names, else the one that ``config`` has judged most of. Raises Http404."""
    named = request.GET.get("suite", "")
    if named:
        return get_object_or_404(Suite, slug=named)
    judged = Count(
        "versions__submissions__implementations__judgements",
        filter=Q(versions__submissions__implementations__judgements__config=config),
    )
    return Suite.objects.annotate(judged=judged).order_by("-judged", "position", "slug").first()


def _differences(
    request: HttpRequest, config: JudgeConfig, suite: Suite | None, *, form: ShowForm | None = None, status: int = 200
) -> HttpResponse:
    version = asked_version(request, suite) if suite else None
    old = shown_judge(suite.pk) if suite else None
    compared = compare(version=version, old=old, new=config) if version else None
    maintains = getattr(request.user, "is_staff", False)
    health = config.health_checks.first()
    context = {
        "config": config,
        "health": shown_health(health) if health else None,
        "suite": suite,
        "suites": list(Suite.objects.all()),
        "version": version,
        "old": old,
        "compared": compared,
        "moved": [each for each in compared.moved if each.answer not in closed_answers(request)] if compared else [],
        "heads": COUNTED,
        "show": form or (ShowForm.of(suite, old) if suite and maintains and old != config else None),
    }
    return render(request, "leaderboard/judge_differences.html", context, status=status)


@never_cache
@maintainers_only
@require_safe
def judge_form(request: HttpRequest) -> HttpResponse:
    """The form that makes a judge from an endpoint."""
    return _form_page(request, AddJudgeForm(owner=_actor(request)))


def _form_page(request: HttpRequest, form: AddJudgeForm, *, status: int = 200) -> HttpResponse:
    actor = _actor(request)
    context = {"form": form, "has_endpoints": actor.endpoints.exists()}
    return render(request, "leaderboard/judge_form.html", context, status=status)


@action(_form_address)
@maintainers_only
def judge_add(request: HttpRequest) -> HttpResponse:
    """Make a judge; the same configuration again is the judge that there is."""
    form = AddJudgeForm(request.POST, owner=_actor(request))
    if form.is_valid():
        try:
            added = configs.add_judge(actor=_actor(request), **form.cleaned_data)
        except SubmissionError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{added.name} can judge now. Have a suite judged by it, and check its health.")
            return redirect(added)
    return _form_page(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@action(_judge_address)
@maintainers_only
def judge_retire(request: HttpRequest, slug: str) -> HttpResponse:
    """Let a judge judge no more; what it said stays."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    try:
        configs.retire(config=config, actor=_actor(request))
    except SubmissionError as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, f"{config.name} is retired. What it said stays.")
    return redirect(config)


@action(_judge_address)
@maintainers_only
def judge_plan(request: HttpRequest, slug: str) -> HttpResponse:
    """Have a suite judged in the background; what is judged already is not judged again."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    form = SuiteForm(request.POST)
    if not form.is_valid():
        messages.warning(request, "Choose a suite that there is.")
        return redirect(config)
    suite = form.cleaned_data["suite"]
    try:
        number = judge_suite(suite=suite, config=config, actor=_actor(request))
    except SubmissionError as error:
        messages.warning(request, str(error))
    else:
        waits = f"{number} answer{'s wait' if number != 1 else ' waits'}" if number else "Nothing new waits"
        messages.success(request, f"{waits} for {config.name} on {suite.title}.")
    return redirect(config)


@action(_differences_address)
@maintainers_only
def judge_show(request: HttpRequest, slug: str) -> HttpResponse:
    """Show this judge on a suite's board. If meanwhile the board shows another one, that is shown instead."""
    config = get_object_or_404(JudgeConfig, slug=slug)
    form = ShowForm(request.POST)
    suite = Suite.objects.filter(slug=request.POST.get("suite", "")).first()
    if form.is_valid() and suite is not None:
        shown = shown_judge(suite.pk)
        if form.cleaned_data["instead_of"] == (shown.slug if shown else NONE_SHOWN):
            return _show(request, form, suite, config)
        form.add_error(None, "The board shows another judge by now. Look at the differences again, then confirm.")
    return _differences(request, config, suite, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


def _show(request: HttpRequest, form: ShowForm, suite: Suite, config: JudgeConfig) -> HttpResponse:
    try:
        rows = show_judge(suite=suite, config=config, actor=_actor(request), reason=form.cleaned_data["reason"])
    except SubmissionError as error:
        form.add_error(None, str(error))
        return _differences(request, config, suite, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(
        request,
        f"The board of {suite.title} shows {config.name} now. Its labels are being counted in {rows} "
        f"row{'s' if rows != 1 else ''}; until then a row names the judge whose labels it shows.",
    )
    return redirect("board", suite=suite.slug)
