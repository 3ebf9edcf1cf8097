"""Let maintainers register organisations, and decide who uses their names."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.core.paginator import Paginator
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.board.filters import OrganisationFilter
from leaderboard.web.forms import (
    NameEndForm,
    NameGrantForm,
    OrganisationChangeForm,
    OrganisationForm,
    RemoveNameForm,
    SystemNameForm,
)
from submissions.domain import organisations as domain
from submissions.domain.audit import history
from submissions.models import Organisation, User
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from django import forms
    from django.http import HttpRequest, HttpResponse

    from submissions.models import System
    from submissions.views.acting import View

    Act = Callable[[Organisation, dict[str, Any], User], str]

ROWS: Final = 50
"""Rows of a page of the list, and events of an organisation's page."""
MOST: Final = 200
"""Accounts, and systems of each kind, on an organisation's page."""
_LIST: Final = "maintain_organisations"
_ONE: Final = "maintain_organisation"


class ActRow(NamedTuple):
    """A row with the form of its action; ``opened`` if the form was refused."""

    subject: Any
    form: forms.Form
    opened: bool


@never_cache
@maintainers_only
@require_safe
def organisations(request: HttpRequest) -> HttpResponse:
    """List the organisations by name, with the form that registers one: ``?q=&page=``."""
    return _list(request)


@never_cache
@maintainers_only
@require_safe
def organisation(request: HttpRequest, pk: int) -> HttpResponse:
    """Show who may use an organisation's name, and which systems do."""
    return _one(request, get_object_or_404(Organisation, pk=pk))


@action(lambda: reverse(_LIST))
@maintainers_only
def register(request: HttpRequest) -> HttpResponse:
    """Register an organisation."""
    form = OrganisationForm(request.POST)

    def act() -> str:
        made = domain.register(actor=user_of(request), **form.cleaned_data)
        return f"{made.name} is registered."

    return perform(request, act, back=_LIST, form=form, again=lambda: _list(request, form))


def _form_view(name: str, form_class: type[forms.Form], act: Act, *, back: str = "") -> View:
    """Return a view that acts on a valid form of an organisation's page, or shows the page with the form's errors."""

    @action(_ONE)
    @maintainers_only
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        shown, form = get_object_or_404(Organisation, pk=pk), form_class(request.POST)
        return perform(
            request,
            lambda: act(shown, form.cleaned_data, user_of(request)),
            back=back or reverse(_ONE, args=[pk]),
            form=form,
            again=lambda: _one(request, get_object_or_404(Organisation, pk=pk), **{name: form}),
        )

    return view


def _change(shown: Organisation, given: dict[str, Any], actor: User) -> str:
    domain.change(organisation=shown, actor=actor, **given)
    return f"{shown.name} is changed."


def _grant(shown: Organisation, given: dict[str, Any], actor: User) -> str:
    account = given["username"]
    domain.grant(organisation=shown, account=account, actor=actor, reason=given["reason"])
    return f"{account.username} may use the name {shown.name}."


def _end(shown: Organisation, given: dict[str, Any], actor: User) -> str:
    account = given["username"]
    domain.end(organisation=shown, account=account, actor=actor, reason=given["reason"])
    return f"{account.username} may no longer use the name {shown.name}. Confirmed systems stay confirmed."


def _confirm(_shown: Organisation, given: dict[str, Any], actor: User) -> str:
    system = given["system"]
    domain.confirm(system=system, actor=actor, reason=given["reason"])
    return f"The organisation of {system.name} is confirmed."


def _revoke(_shown: Organisation, given: dict[str, Any], actor: User) -> str:
    system = given["system"]
    domain.revoke(system=system, actor=actor, reason=given["reason"])
    return f"The organisation of {system.name} is self-declared again."


def _remove(shown: Organisation, given: dict[str, Any], actor: User) -> str:
    domain.remove(organisation=shown, actor=actor, reason=given["reason"])
    return f"{shown.name} is no longer registered."


def _list(request: HttpRequest, form: OrganisationForm | None = None) -> HttpResponse:
    """Render the list; ``form`` is a refused registration."""
    found = OrganisationFilter(request.GET, queryset=Organisation.objects.select_related("added_by"))
    page = Paginator(found.qs, ROWS).get_page(request.GET.get("page"))
    context = {
        "filter": found,
        "page": page,
        "rows": domain.with_counts(page),
        "noun": "organisation",
        "here": _LIST,
        "form": form or OrganisationForm(),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form else HTTPStatus.OK
    return render(request, "leaderboard/maintain_organisations.html", context, status=status)


def _one(request: HttpRequest, shown: Organisation, **failed: forms.Form) -> HttpResponse:
    """Render an organisation's page; ``failed`` is a refused form, by the name of its action."""
    unconfirmed, confirmed = domain.unconfirmed_systems(shown), domain.confirmed_systems(shown)
    rows = {
        "accounts": list(_accounts(domain.grants_of(shown)[:MOST], failed.get("end"))),
        "unconfirmed": list(_systems(unconfirmed[:MOST], failed.get("confirm"), "c")),
        "confirmed": list(_systems(confirmed[:MOST], failed.get("revoke"), "r")),
    }
    outside = {"end": "accounts", "confirm": "unconfirmed", "revoke": "confirmed"}
    context = {
        "organisation": shown,
        "here": _LIST,
        **rows,
        "most": MOST,
        "events": history(shown)[:ROWS],
        "change": failed.get("change") or OrganisationChangeForm.of(shown),
        "grant": failed.get("grant") or NameGrantForm(auto_id="grant_%s"),
        "remove": failed.get("remove") or RemoveNameForm(auto_id="remove_%s"),
        # A refused form whose row is no longer on the page.
        "failed": next(
            (form for name, form in failed.items() if name in outside and not _is_open(rows[outside[name]])), None
        ),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if failed else HTTPStatus.OK
    return render(request, "leaderboard/maintain_organisation.html", context, status=status)


def _is_open(rows: Iterable[ActRow]) -> bool:
    return any(row.opened for row in rows)


def _accounts(grants: Iterable[domain.AccountGrant], failed: forms.Form | None) -> Iterator[ActRow]:
    named = str(failed["username"].value()) if failed else None
    for each in grants:
        account, live = each.grant.account, each.grant.ended is None
        if failed and live and account.username == named:
            yield ActRow(each, failed, opened=True)
            named = None
        else:
            form = NameEndForm(initial={"username": account.username}, auto_id=f"g{each.grant.pk}_%s")
            yield ActRow(each, form, opened=False)


def _systems(systems: Iterable[System], failed: forms.Form | None, prefix: str) -> Iterator[ActRow]:
    named = str(failed["system"].value()) if failed else None
    for each in systems:
        if failed and each.slug == named:
            yield ActRow(each, failed, opened=True)
        else:
            form = SystemNameForm(initial={"system": each.slug}, auto_id=f"{prefix}{each.pk}_%s")
            yield ActRow(each, form, opened=False)


change = _form_view("change", OrganisationChangeForm, _change)
grant = _form_view("grant", NameGrantForm, _grant)
end = _form_view("end", NameEndForm, _end)
confirm = _form_view("confirm", SystemNameForm, _confirm)
revoke = _form_view("revoke", SystemNameForm, _revoke)
remove = _form_view("remove", RemoveNameForm, _remove, back=_LIST)
