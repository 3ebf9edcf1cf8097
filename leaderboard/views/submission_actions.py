"""What an owner (or a maintainer) does to a submission. Wrong forms come back on the page, filled as they were."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from django.http import Http404

from leaderboard.views.submissions import submission_page, visible_submission
from submissions.domain import publishing, submitting
from submissions.domain.access import may_manage
from submissions.forms import CancelForm, CorrectForm, PublishForm, WithdrawForm
from submissions.models import User
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from django import forms
    from django.http import HttpRequest, HttpResponse

    from submissions.models import Submission


@action("submission")
def submission_publish(request: HttpRequest, pk: int) -> HttpResponse:
    """Put it on the board, with consent and licence."""
    shown, actor = _managed(request, pk)
    form = PublishForm(request.POST)
    return _act(
        request,
        shown,
        name="publish",
        form=form,
        act=lambda: publishing.publish(
            submission=shown,
            actor=actor,
            code_licence=form.cleaned_data["licence"],
            consent=form.cleaned_data["consent"],
        ),
        done="Published: it is on the board now.",
    )


@action("submission")
def submission_withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Take it off the board, with a public reason."""
    shown, actor = _managed(request, pk)
    form = WithdrawForm(request.POST)
    return _act(
        request,
        shown,
        name="withdraw",
        form=form,
        act=lambda: publishing.withdraw(submission=shown, actor=actor, reason=form.cleaned_data["reason"]),
        done="Withdrawn: it is no longer on the board, and your reason stands in its place.",
    )


@action("submission")
def submission_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop its evaluation."""
    shown, actor = _managed(request, pk)
    return _act(
        request,
        shown,
        name="cancel",
        form=CancelForm(request.POST),
        act=lambda: submitting.cancel(submission=shown, actor=actor),
        done="Cancelled: nothing more is evaluated, and it does not count against your quota.",
    )


@action("submission")
def submission_correct(request: HttpRequest, pk: int) -> HttpResponse:
    """Correct how its system is described."""
    shown, actor = _managed(request, pk)
    form = CorrectForm(request.POST)
    return _act(
        request,
        shown,
        name="correct",
        form=form,
        act=lambda: publishing.correct_system(
            submission=shown, actor=actor, changes=form.changes(), reason=form.cleaned_data["reason"]
        ),
        done="Corrected. Old and new values stand in the history below.",
    )


def _managed(request: HttpRequest, pk: int) -> tuple[Submission, User]:
    """The submission and who acts on it. Raises Http404 for everybody who may not: the page offers them nothing."""
    shown = visible_submission(request, pk)
    if not isinstance(request.user, User) or not may_manage(request.user, shown):
        raise Http404
    return shown, request.user


def _act(
    request: HttpRequest, shown: Submission, *, name: str, form: forms.Form, act: Callable[[], object], done: str
) -> HttpResponse:
    """Do it and go back to the page; or show the page with the form and what is wrong."""

    def again() -> HttpResponse:
        now = visible_submission(request, shown.pk)
        return submission_page(request, now, status=HTTPStatus.UNPROCESSABLE_ENTITY, **{name: form})

    return perform(request, act, back=shown, done=done, form=form, again=again)
