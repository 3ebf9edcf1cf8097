"""Register, change and delete model endpoints; store, read and delete their keys.

Only its owner, or the owners and members of its team, see an endpoint; maintainers do not. A key is returned by
:func:`key_of` only, which only workers call; no audit event, message or representation contains one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction

from submissions.domain.audit import record
from submissions.domain.endpoint_keys import opened, sealed_for
from submissions.domain.ownership import holder, manages, owned_by, require_to_act_for
from submissions.endpoints.addresses import problem, same_origin
from submissions.endpoints.sealing import SealError
from submissions.enums import MANAGING_ROLES, EndpointCheck, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError, SubmissionError, WrongStateError
from submissions.models import Endpoint, Team, User

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

MOST_ENDPOINTS: Final = 20
"""How many endpoints one user, and one team, may have."""

DESCRIBED: Final = (
    *("name", "provider", "api", "base_url", "model", "keep_key"),
    *("temperature", "top_p", "effort", "max_output_tokens", "context_tokens"),
    *("output_limit", "omit_strict"),
    *("requests_at_once", "request_seconds", "run_tokens", "run_dollars", "run_seconds"),
    *("price_input", "price_output"),
)
"""The fields that :func:`add` and :func:`change` accept."""

_TESTED_FIELDS: Final = {
    *("provider", "api", "base_url", "model", "temperature", "top_p", "effort", "output_limit", "omit_strict")
}
"""Changing one of these fields invalidates the result of a test."""

_UNTESTED: Final[dict[str, Any]] = {
    "check_state": EndpointCheck.NONE,
    "check_message": "",
    "checked": None,
    "reports_usage": None,
}

# States of evaluator.enums.GenerationState, which this app may not import.
_ENDED_GENERATIONS: Final = ("done", "cancelled")


class KeyLostError(SubmissionError):
    """A stored key can no longer be opened, since the operator's secret has changed."""


def visible_to(user: User | AnonymousUser) -> QuerySet[Endpoint]:
    """Return the endpoints that ``user`` may see, use and change: their own and their teams'."""
    if not isinstance(user, User):
        return Endpoint.objects.none()
    return Endpoint.objects.filter(owned_by(user, roles=MANAGING_ROLES))


def add(*, owner: User, described: Mapping[str, Any], key: str = "", team: Team | None = None) -> Endpoint:
    """Register an endpoint, for ``team`` if there is one. ``described`` has any fields of :data:`DESCRIBED`.

    Raises :class:`QuotaExceededError` and :class:`NotAllowedError` (an invalid address, a name in use, another's team).
    """
    _require_address(described["base_url"])
    require_to_act_for(owner, team)
    try:
        with transaction.atomic():
            # The row locks serialise the counts of simultaneous requests.
            if team is not None:
                Team.objects.select_for_update().get(pk=team.pk)
            User.objects.select_for_update().get(pk=owner.pk)
            if Endpoint.objects.filter(**holder(owner, team)).count() >= MOST_ENDPOINTS:
                who, one = ("You have", "account") if team is None else (f"{team} has", "team")
                msg = f"{who} {MOST_ENDPOINTS} endpoints, the most one {one} may have. Delete one of them first."
                raise QuotaExceededError(msg)
            endpoint = Endpoint.objects.create(owner=owner, team=team, **_known(described))
            record(verb=Verb.ENDPOINT_ADDED, subject=endpoint, actor=owner, data={"base_url": endpoint.base_url})
            if key:
                _store(endpoint, key, actor=owner)
    except IntegrityError:
        raise NotAllowedError(_refused(owner, team, described)) from None
    return endpoint


def change(*, endpoint: Endpoint, actor: User, described: Mapping[str, Any], key: str = "") -> bool:
    """Change an endpoint's fields; return whether that erased its key, which belongs to one origin.

    Raises :class:`NotAllowedError`. Runs in progress keep the settings that they began with.
    """
    _require_owner(endpoint, actor)
    _require_address(described.get("base_url", endpoint.base_url))
    try:
        with transaction.atomic():
            now = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
            new = _known(described)
            changed = {name: [_plain(getattr(now, name)), _plain(value)] for name, value in new.items()}
            changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
            erased = bool(now.sealed_key) and not same_origin(new.get("base_url", now.base_url), now.base_url)
            if _TESTED_FIELDS & changed.keys() or key:
                new |= _UNTESTED
            if erased:
                new["sealed_key"] = ""
            Endpoint.objects.filter(pk=endpoint.pk).update(**new)
            endpoint.refresh_from_db()
            if changed:
                record(verb=Verb.ENDPOINT_CHANGED, subject=endpoint, actor=actor, data={"changed": changed})
            if erased:
                record(verb=Verb.KEY_FORGOTTEN, subject=endpoint, actor=actor, reason="its address has changed")
            if key:
                _store(endpoint, key, actor=actor)
    except IntegrityError:
        raise NotAllowedError(_refused(endpoint.owner, endpoint.team, described)) from None
    return erased and not key


def correct_settings(*, endpoint: Endpoint, corrected: Mapping[str, Any]) -> None:
    """Store settings that a test found the provider to accept. The endpoint stays tested."""
    with transaction.atomic():
        now = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        changed = {name: [_plain(getattr(now, name)), _plain(value)] for name, value in corrected.items()}
        Endpoint.objects.filter(pk=endpoint.pk).update(**corrected)
        reason = "the provider refused the other setting in a test"
        record(verb=Verb.ENDPOINT_CHANGED, subject=endpoint, actor=None, reason=reason, data={"changed": changed})


def forget_key(*, endpoint: Endpoint, actor: User) -> None:
    """Delete the stored key at once. Raises :class:`NotAllowedError`, and :class:`WrongStateError` without a key."""
    _require_owner(endpoint, actor)
    with transaction.atomic():
        if not _forget(endpoint, actor=actor, reason=""):
            msg = "No key is stored."
            raise WrongStateError(msg)
    endpoint.refresh_from_db()


def forget_after_run(endpoint: Endpoint) -> bool:
    """Delete the key after a run, unless its owner keeps it, a judge uses it, or an open run needs it.

    Returns whether it was deleted. Call it when a run has ended.
    """
    with transaction.atomic():
        now = Endpoint.objects.select_for_update().filter(pk=endpoint.pk, keep_key=False).first()
        if now is None or open_runs(now) or using_judges(now):
            return False
        return _forget(now, actor=None, reason="its last run has ended")


def forget_keys_of(team: Team) -> None:
    """Delete the keys of a team's endpoints, since its last member leaves. Call it in that transaction."""
    for endpoint in team.endpoints.select_for_update():
        _forget(endpoint, actor=None, reason=f"the last member of {team} left")


def delete(*, endpoint: Endpoint, actor: User) -> None:
    """Delete an endpoint with its key; its runs stay. Raises :class:`NotAllowedError` while a judge or run needs it."""
    _require_owner(endpoint, actor)
    with transaction.atomic():
        now = Endpoint.objects.select_for_update().filter(pk=endpoint.pk).first()
        if now is None:
            msg = "This endpoint has been deleted already."
            raise WrongStateError(msg)
        judges, runs = using_judges(now), open_runs(now)
        if judges:
            msg = f"These judges use this endpoint: {', '.join(judges)}. Retire them first."
            raise NotAllowedError(msg)
        if runs:
            msg = f"A run is still open: submission {', '.join(map(str, runs))}. Cancel the run, or wait until it ends."
            raise NotAllowedError(msg)
        record(verb=Verb.ENDPOINT_DELETED, subject=now, actor=actor, data={"base_url": now.base_url})
        now.delete()


def key_of(endpoint: Endpoint) -> str:
    """Return the key, for the worker that calls the endpoint; empty if it has none. Raises :class:`KeyLostError`."""
    try:
        return opened(endpoint)
    except SealError as error:
        msg = "The stored key can no longer be read, since the site's secret for keys has changed. Store the key again."
        raise KeyLostError(msg) from error


def using_judges(endpoint: Endpoint) -> list[str]:
    """Return the names of the active judges that use this endpoint."""
    return list(endpoint.judges.filter(active=True).order_by("name").values_list("name", flat=True))


def open_runs(endpoint: Endpoint) -> list[int]:
    """Return the ids of submissions with an open run here, including paused and held ones."""
    runs = endpoint.generations.exclude(state__in=_ENDED_GENERATIONS).order_by("submission_id")
    return list(runs.values_list("submission_id", flat=True))


def _store(endpoint: Endpoint, key: str, *, actor: User) -> None:
    sealed = sealed_for(endpoint, key)
    Endpoint.objects.filter(pk=endpoint.pk).update(sealed_key=sealed, **_UNTESTED)
    endpoint.sealed_key = sealed
    record(verb=Verb.KEY_STORED, subject=endpoint, actor=actor)


def _forget(endpoint: Endpoint, *, actor: User | None, reason: str) -> bool:
    """Erase the key; return whether there was one."""
    if not Endpoint.objects.filter(pk=endpoint.pk).exclude(sealed_key="").update(sealed_key=""):
        return False
    record(verb=Verb.KEY_FORGOTTEN, subject=endpoint, actor=actor, reason=reason)
    return True


def _known(described: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in described.items() if name in DESCRIBED}


def _plain(value: Any) -> Any:
    """Convert a value for an audit event; decimals become floats, so that 1 and 1.0000 are equal."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    return float(value)


def _refused(owner: User, team: Team | None, described: Mapping[str, Any]) -> str:
    """Return why the database refused an endpoint: its name, or numbers that a form would refuse."""
    if Endpoint.objects.filter(name=described["name"], **holder(owner, team)).exists():
        who = "You have" if team is None else f"{team} has"
        return f"{who} another endpoint called {described['name']}; choose another name."
    return "One of the numbers is out of range: tokens, seconds, limits and prices are not negative."


def _require_address(base_url: str) -> None:
    wrong = problem(base_url)
    if wrong:
        raise NotAllowedError(wrong)


def _require_owner(endpoint: Endpoint, actor: User) -> None:
    if not manages(actor, endpoint):
        msg = "Only the owner of an endpoint, or members of its team, may change it."
        raise NotAllowedError(msg)
