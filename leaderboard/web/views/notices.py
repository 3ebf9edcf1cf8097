"""List and open a user's notices, and choose which are also sent by e-mail."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard.models import Notice
from leaderboard.notices import mailing, reading
from leaderboard.notices.making import KEPT
from leaderboard.web.forms import OCCASIONS, MailChoiceForm
from submissions.permissions import user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest

PAGE_SIZE = 25


@never_cache
@login_required
@require_safe
def notices(request: HttpRequest) -> HttpResponse:
    """List the user's notices, newest first."""
    page = Paginator(reading.listed(user_of(request)), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": page, "kept_days": KEPT.days, "occasions": OCCASIONS.values()}
    return render(request, "leaderboard/notices.html", context)


@never_cache
@login_required
@require_safe
def notice(request: HttpRequest, pk: int) -> HttpResponse:
    """Open a notice: mark it as read and redirect to its subject."""
    user = user_of(request)
    found = get_object_or_404(reading.listed(user), pk=pk)
    if request.method == "GET":
        reading.mark_read(Notice.objects.filter(pk=found.pk))
    return redirect(reading.leads_to(found))


@action("notices")
def notices_read(request: HttpRequest) -> HttpResponse:
    """Mark all of the user's notices as read."""
    read = partial(reading.mark_read, Notice.objects.filter(recipient=user_of(request)))
    return perform(request, lambda: read() and "All notices are marked as read.", back="notices")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def notice_settings(request: HttpRequest) -> HttpResponse:
    """Choose the notices to receive by e-mail as well."""
    user = user_of(request)
    offered = mailing.is_offered()
    data = request.POST if request.method == "POST" and offered else None
    form = MailChoiceForm(data, initial={"kinds": mailing.chosen(user)})
    if form.is_bound and form.is_valid():
        mailing.choose(user=user, kinds=form.cleaned_data["kinds"])
        messages.success(request, "Your choice of e-mails is stored.")
        return redirect("notice_settings")
    context = {"form": form, "offered": offered, "address": mailing.address_of(user)}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "leaderboard/notice_settings.html", context, status=status)


# Mail programs send the POST themselves (RFC 8058), without a cookie; the token is signed.
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def notice_off(request: HttpRequest, token: str) -> HttpResponse:
    """Stop e-mails of one kind by the link in one of them, whichever account is signed in."""
    found = mailing.read_off_token(token)
    if found is None:
        raise Http404("This link is damaged. You can choose your e-mails on your account's notices page.")
    user, kind = found
    if request.method == "POST":
        mailing.turn_off(user=user, kind=kind)
    context = {"kind": kind, "done": request.method == "POST", "address": reverse("notice_off", args=[token])}
    return render(request, "leaderboard/notice_off.html", context)
