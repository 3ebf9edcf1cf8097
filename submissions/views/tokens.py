"""Page of a user's API tokens: create one, see its secret once, revoke it."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from django.contrib.auth.decorators import login_required
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from submissions.domain import tokens as domain
from submissions.exceptions import SubmissionError
from submissions.forms import TokenForm
from submissions.models import ApiToken, User
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """List the user's tokens and create one. The response shows the new secret, which is not stored."""
    owner, secret = cast("User", request.user), ""
    form = TokenForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            _, secret = domain.make(owner=owner, **form.cleaned_data)
        except SubmissionError as error:
            form.add_error(None, str(error))
        else:
            form = TokenForm()
    context = {"form": form, "secret": secret, "tokens": ApiToken.objects.filter(owner=owner)}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "submissions/tokens.html", context, status=status)


def _page(pk: int) -> str:  # noqa: ARG001 - action calls it with the view's arguments
    return reverse("tokens")


@action(_page)
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke one of the user's tokens."""
    actor = cast("User", request.user)
    token = get_object_or_404(ApiToken, pk=pk, owner=actor)
    act = partial(domain.revoke, token=token, actor=actor)
    return perform(request, act, back="tokens", done=f"{token.name} is revoked. Programs can no longer use it.")
