"""Register, change and delete model endpoints; store, read and forget their keys.

An endpoint is its owner's alone; maintainers do not see others'. Keys go in here and come out in :func:`key_of`, which
only workers call; no audit event, message or representation holds one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction

from submissions.domain.audit import record
from submissions.domain.endpoint_keys import opened, sealed_for
from submissions.endpoints.addresses import problem, same_origin
from submissions.endpoints.sealing import SealError
from submissions.enums import EndpointCheck, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError, SubmissionError, WrongStateError
from submissions.models import Endpoint, User

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

MOST_ENDPOINTS: Final = 20
"""How many endpoints one person may have."""

DESCRIBED: Final = (
    *("name", "provider", "api", "base_url", "model", "keep_key"),
    *("temperature", "top_p", "effort", "max_output_tokens", "context_tokens"),
    *("output_limit", "omit_strict"),
    *("requests_at_once", "request_seconds", "run_tokens", "run_dollars", "run_seconds"),
    *("price_input", "price_output"),
)
"""What an owner says of an endpoint: the fields that :func:`add` and :func:`change` take."""

_ASKED_WITH: Final = {
    *("provider", "api", "base_url", "model", "temperature", "top_p", "effort", "output_limit", "omit_strict")
}
"""A test's result says nothing any more once one of these has changed."""

_UNTESTED: Final[dict[str, Any]] = {
    "check_state": EndpointCheck.NONE,
    "check_message": "",
    "checked": None,
    "reports_usage": None,
}

# States of evaluator.enums.GenerationState, which this lower room cannot import.
_ENDED_GENERATIONS: Final = ("done", "cancelled")


class KeyLostError(SubmissionError):
    """A key is stored and cannot be read any more: the operator's secret has changed."""


def visible_to(user: User | AnonymousUser) -> QuerySet[Endpoint]:
    """The endpoints that ``user`` may see, use and change: their own."""
    return Endpoint.objects.filter(owner=user) if isinstance(user, User) else Endpoint.objects.none()


def add(*, owner: User, described: Mapping[str, Any], key: str = "") -> Endpoint:
    """Register an endpoint. ``described`` holds any of :data:`DESCRIBED`.

    Raises :class:`QuotaExceededError` and :class:`NotAllowedError` (a wrong address, a name that is taken).
    """
    _require_address(described["base_url"])
    try:
        with transaction.atomic():
            # The row lock makes two requests at the same moment count one after the other.
            User.objects.select_for_update().get(pk=owner.pk)
            if Endpoint.objects.filter(owner=owner).count() >= MOST_ENDPOINTS:
                msg = f"You have {MOST_ENDPOINTS} endpoints, as many as one account may. Delete one of them first."
                raise QuotaExceededError(msg)
            endpoint = Endpoint.objects.create(owner=owner, **_known(described))
            record(verb=Verb.ENDPOINT_ADDED, subject=endpoint, actor=owner, data={"base_url": endpoint.base_url})
            if key:
                _store(endpoint, key, actor=owner)
    except IntegrityError:
        raise NotAllowedError(_refused(owner, described)) from None
    return endpoint


def change(*, endpoint: Endpoint, actor: User, described: Mapping[str, Any], key: str = "") -> bool:
    """Change what is said of an endpoint; return whether its key was lost by it: a key belongs to one origin.

    Raises :class:`NotAllowedError`. Runs under way keep the settings that they began with.
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
            if _ASKED_WITH & changed.keys() or key:
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
        raise NotAllowedError(_refused(endpoint.owner, described)) from None
    return erased and not key


def correct_settings(*, endpoint: Endpoint, corrected: Mapping[str, Any]) -> None:
    """Store settings that a test found to be the ones which the provider takes. The endpoint stays tested."""
    with transaction.atomic():
        now = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        changed = {name: [_plain(getattr(now, name)), _plain(value)] for name, value in corrected.items()}
        Endpoint.objects.filter(pk=endpoint.pk).update(**corrected)
        reason = "the provider refused the other setting in a test"
        record(verb=Verb.ENDPOINT_CHANGED, subject=endpoint, actor=None, reason=reason, data={"changed": changed})


def forget_key(*, endpoint: Endpoint, actor: User) -> None:
    """Delete the stored key at once. Raises :class:`NotAllowedError`, and :class:`WrongStateError` where none is."""
    _require_owner(endpoint, actor)
    with transaction.atomic():
        if not _forget(endpoint, actor=actor, reason=""):
            msg = "No key is stored."
            raise WrongStateError(msg)
    endpoint.refresh_from_db()


def forget_after_run(endpoint: Endpoint) -> bool:
    """Delete the key as its owner was promised, unless they keep it, a judge uses it, or a run still needs it.

    Says whether it did. Call it when a run has ended.
    """
    with transaction.atomic():
        now = Endpoint.objects.select_for_update().filter(pk=endpoint.pk, keep_key=False).first()
        if now is None or open_runs(now) or using_judges(now):
            return False
        return _forget(now, actor=None, reason="its last run has ended")


def delete(*, endpoint: Endpoint, actor: User) -> None:
    """Delete an endpoint with its key; its runs stay. Raises :class:`NotAllowedError` while judge or run needs it."""
    _require_owner(endpoint, actor)
    with transaction.atomic():
        now = Endpoint.objects.select_for_update().filter(pk=endpoint.pk).first()
        if now is None:
            msg = "This endpoint has been deleted already."
            raise WrongStateError(msg)
        judges, runs = using_judges(now), open_runs(now)
        if judges:
            msg = f"These judges ask here: {', '.join(judges)}. Retire them first."
            raise NotAllowedError(msg)
        if runs:
            msg = f"A run is not ended: submission {', '.join(map(str, runs))}. Cancel it, or wait for its end."
            raise NotAllowedError(msg)
        record(verb=Verb.ENDPOINT_DELETED, subject=now, actor=actor, data={"base_url": now.base_url})
        now.delete()


def key_of(endpoint: Endpoint) -> str:
    """The key, for the worker that calls the endpoint; empty where it has none. Raises :class:`KeyLostError`."""
    try:
        return opened(endpoint)
    except SealError as error:
        msg = "The stored key cannot be read any more, since the site has another secret for keys now. Store it again."
        raise KeyLostError(msg) from error


def using_judges(endpoint: Endpoint) -> list[str]:
    """The names of the active judges that ask with this endpoint's key."""
    return list(endpoint.judges.filter(active=True).order_by("name").values_list("name", flat=True))


def open_runs(endpoint: Endpoint) -> list[int]:
    """The numbers of the submissions whose answers are still being asked for here, paused and held ones too."""
    runs = endpoint.generations.exclude(state__in=_ENDED_GENERATIONS).order_by("submission_id")
    return list(runs.values_list("submission_id", flat=True))


def _store(endpoint: Endpoint, key: str, *, actor: User) -> None:
    sealed = sealed_for(endpoint, key)
    Endpoint.objects.filter(pk=endpoint.pk).update(sealed_key=sealed, **_UNTESTED)
    endpoint.sealed_key = sealed
    record(verb=Verb.KEY_STORED, subject=endpoint, actor=actor)


def _forget(endpoint: Endpoint, *, actor: User | None, reason: str) -> bool:
    """Erase the key; say whether there was one."""
    if not Endpoint.objects.filter(pk=endpoint.pk).exclude(sealed_key="").update(sealed_key=""):
        return False
    record(verb=Verb.KEY_FORGOTTEN, subject=endpoint, actor=actor, reason=reason)
    return True


def _known(described: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in described.items() if name in DESCRIBED}


def _plain(value: Any) -> Any:
    """A value as an audit event holds it; money as text, so that 1 and 1.0000 are the same."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    return float(value)


def _refused(owner: User, described: Mapping[str, Any]) -> str:
    """Why the database refused an endpoint: its name, or numbers that a form would have caught."""
    if Endpoint.objects.filter(owner=owner, name=described["name"]).exists():
        return f"You have another endpoint called {described['name']}; choose another name."
    return "One of the numbers is out of range: tokens, seconds, limits and prices are not negative."


def _require_address(base_url: str) -> None:
    wrong = problem(base_url)
    if wrong:
        raise NotAllowedError(wrong)


def _require_owner(endpoint: Endpoint, actor: User) -> None:
    if endpoint.owner_id != actor.pk:
        msg = "An endpoint belongs to the person who registered it."
        raise NotAllowedError(msg)
