"""Page of what the site stores about an account: count it, export it, erase the account."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from allauth.account.internal.flows.reauthentication import (
    did_recently_reauthenticate,
    get_reauthentication_flows,
)
from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import FileResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.backup.person import counts, export
from leaderboard.web.forms import EraseForm
from submissions.confirming import needs_new_sign_in
from submissions.domain import rate_limits
from submissions.domain.erasure import erase
from submissions.domain.scratch_folders import scratch_place
from submissions.exceptions import SubmissionError
from submissions.permissions import user_of
from submissions.views.acting import action

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    View = Callable[..., HttpResponseBase]

EXPORTS_AN_HOUR: Final = 5
"""An export reads every stored file of the account."""
PAGE: Final = "own_data"
_KINDS: Final = {
    "submissions.User": "the account",
    "submissions.AuditEvent": "what you did, as the log of events has it",
    "submissions.System": "systems",
    "submissions.Submission": "submissions",
    "submissions.Implementation": "answers",
    "submissions.Upload": "uploads not yet submitted",
    "submissions.Endpoint": "model endpoints",
    "submissions.ApiToken": "tokens",
    "submissions.Membership": "teams that you are in",
    "submissions.TeamInvitation": "invitations to teams that you made",
    "submissions.OrganisationGrant": "names of organisations that you may use",
    "account.EmailAddress": "e-mail addresses",
    "socialaccount.SocialAccount": "connected accounts",
    "mfa.Authenticator": "second factors and sets of recovery codes",
    "leaderboard.Notice": "notices",
    "leaderboard.MailChoice": "choices about e-mails",
    "leaderboard.Snapshot": "snapshots that you froze",
    "reviews.Reviewer": "your profile as an annotator",
    "reviews.Assignment": "items that you took to label or decide",
    "reviews.Review": "labels",
    "reviews.Decision": "decisions",
    "reviews.GuidelineReading": "guidelines that you read",
    "reviews.Conflict": "conflicts of interest",
}
"""Names of the models most accounts have rows of; others are shown by their label."""


def _confirmed(view: View) -> View:
    """Have the person confirm within the last minutes who they are: by password, code, key, or a new sign-in."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if get_reauthentication_flows(user_of(request)):
            if not did_recently_reauthenticate(request):
                raise ReauthenticationRequired
        elif needs_new_sign_in(request):
            return _page(request, EraseForm(username=""), sign_in_again=True, status=HTTPStatus.FORBIDDEN)
        return view(request, *args, **kwargs)

    return guarded


def _page(
    request: HttpRequest, form: EraseForm, *, sign_in_again: bool = False, status: HTTPStatus = HTTPStatus.OK
) -> HttpResponseBase:
    kinds = [(_KINDS.get(label, label), label, number) for label, number in counts(user_of(request)).items()]
    shown = {"kinds": kinds, "form": form, "sign_in_again": sign_in_again}
    return render(request, "leaderboard/account_data.html", shown, status=status)


@never_cache
@login_required
@require_safe
def account_data(request: HttpRequest) -> HttpResponseBase:
    """Show how much is stored, kind by kind, and offer to export it and to erase the account."""
    return _page(request, EraseForm(username=user_of(request).username))


@action(PAGE)
@_confirmed
def account_data_export(request: HttpRequest) -> HttpResponseBase:
    """Send the person's rows and files as a zip, a few times an hour at most."""
    user = user_of(request)
    used = rate_limits.count(f"personal-data:{user.pk}", limit=EXPORTS_AN_HOUR, period=rate_limits.HOUR)
    if used.times > EXPORTS_AN_HOUR:
        minutes = -(-used.seconds // 60)
        messages.warning(
            request, f"That was more than {EXPORTS_AN_HOUR} exports within an hour. Try again in {minutes} min."
        )
        return redirect(PAGE)
    with ExitStack() as after:
        file = after.enter_context(tempfile.TemporaryFile(dir=scratch_place()))
        export(user, file)
        file.seek(0)
        after.pop_all()  # the response closes it
    return FileResponse(file, as_attachment=True, filename=f"lmr-board-{user.username}.zip")


@action(PAGE)
@_confirmed
def account_data_erase(request: HttpRequest) -> HttpResponseBase:
    """Erase the account after its name was typed, and sign out."""
    user = user_of(request)
    form = EraseForm(request.POST, username=user.username)
    if form.is_valid():
        try:
            erase(user=user, actor=user)
        except SubmissionError as error:
            form.add_error(None, str(error))
        else:
            logout(request)
            messages.success(request, "Your account is erased, and you are signed out.")
            return redirect("board_default")
    return _page(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
