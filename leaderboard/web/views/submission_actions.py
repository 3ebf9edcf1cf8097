"""Let owners and maintainers publish, withdraw, cancel and correct a submission."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from django.http import Http404

from leaderboard.evidence.submissions import visible_submission
from leaderboard.web.views.submissions import submission_page
from submissions.domain import publishing, submitting
from submissions.domain.access import may_manage
from submissions.forms import CancelForm, CorrectForm, PublishForm, WithdrawForm
from submissions.permissions import user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from django import forms
    from django.http import HttpRequest, HttpResponse

    from submissions.models import Submission, User
    from submissions.views.acting import View

Form = TypeVar("Form", bound="forms.Form")


def _form_view(name: str, form_class: type[Form], act: Callable[[Submission, User, Form], None], *, done: str) -> View:
    """Return a view that acts on a valid form, or shows the submission's page with the form's errors.

    For users who may not act, the view raises Http404; their page offers no forms.
    """

    @action("submission")
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        shown, actor, form = visible_submission(request, pk), user_of(request), form_class(request.POST)
        if not may_manage(actor, shown):
            raise Http404

        def again() -> HttpResponse:
            now = visible_submission(request, pk)
            return submission_page(request, now, status=HTTPStatus.UNPROCESSABLE_ENTITY, **{name: form})

        return perform(request, lambda: act(shown, actor, form), back=shown, done=done, form=form, again=again)

    return view


def _publish(shown: Submission, actor: User, form: PublishForm) -> None:
    given = form.cleaned_data
    publishing.publish(submission=shown, actor=actor, code_licence=given["licence"], consent=given["consent"])


def _withdraw(shown: Submission, actor: User, form: WithdrawForm) -> None:
    publishing.withdraw(submission=shown, actor=actor, reason=form.cleaned_data["reason"])


def _cancel(shown: Submission, actor: User, _form: CancelForm) -> None:
    submitting.cancel(submission=shown, actor=actor)


def _correct(shown: Submission, actor: User, form: CorrectForm) -> None:
    reason = form.cleaned_data["reason"]
    publishing.correct_system(submission=shown, actor=actor, changes=form.changes(), reason=reason)


submission_publish = _form_view("publish", PublishForm, _publish, done="Published: it is on the board now.")
submission_withdraw = _form_view(
    "withdraw",
    WithdrawForm,
    _withdraw,
    done="Withdrawn: it is no longer on the board. Your reason is shown in its place.",
)
submission_cancel = _form_view(
    "cancel",
    CancelForm,
    _cancel,
    done="Cancelled: nothing more is evaluated, and it does not count against your quota.",
)
submission_correct = _form_view(
    "correct", CorrectForm, _correct, done="Corrected. The history below shows old and new values."
)
