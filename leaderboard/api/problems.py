"""Turn the API's errors into problem details (RFC 9457): what is wrong, where, and what to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import structlog
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from ninja import Schema
from ninja.errors import HttpError, ValidationError

from leaderboard.board.visibility import AnswerClosedError
from leaderboard.health.storage_errors import means_full, means_unreadable
from reviews.exceptions import IncompleteError, NotReadyError, StaleDraftError
from submissions.answers.contents import Severity
from submissions.domain.uploads import BundleRefusedError
from submissions.exceptions import NotAllowedError, OrganisationRefusedError, QuotaExceededError, SubmissionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from django import forms
    from django.http import HttpRequest

log = structlog.get_logger(__name__)
CONTENT_TYPE: Final = "application/problem+json"
_MOST_ERRORS: Final = 50
_LONGEST_DETAIL: Final = 2000


class Kind(StrEnum):
    """The kinds of problem. Each one's ``type`` links to its heading in ``docs/api.md``."""

    UNREADABLE = "unreadable"
    NO_TOKEN = "no-token"  # noqa: S105 - no secret
    NOT_ALLOWED = "not-allowed"
    BLIND = "blind"
    NOT_FOUND = "not-found"
    WRONG_METHOD = "wrong-method"
    WRONG_STATE = "wrong-state"
    TOO_LARGE = "too-large"
    INVALID = "invalid"
    QUOTA = "quota"
    TOO_MANY_REQUESTS = "too-many-requests"
    SERVER_ERROR = "server-error"
    DISK_FULL = "disk-full"
    STORAGE = "storage"

    @property
    def status(self) -> HTTPStatus:
        """The status code of its answers."""
        return _FACTS[self][0]

    @property
    def heading(self) -> str:
        """The fixed title of this kind."""
        return _FACTS[self][1]


_FACTS: Final = {
    Kind.UNREADABLE: (HTTPStatus.BAD_REQUEST, "The request cannot be read"),
    Kind.NO_TOKEN: (HTTPStatus.UNAUTHORIZED, "A valid token is needed"),
    Kind.NOT_ALLOWED: (HTTPStatus.FORBIDDEN, "Not allowed"),
    Kind.BLIND: (HTTPStatus.FORBIDDEN, "Hidden while you label"),
    Kind.NOT_FOUND: (HTTPStatus.NOT_FOUND, "Not found"),
    Kind.WRONG_METHOD: (HTTPStatus.METHOD_NOT_ALLOWED, "Wrong method"),
    Kind.WRONG_STATE: (HTTPStatus.CONFLICT, "Not possible in this state"),
    Kind.TOO_LARGE: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Too large"),
    Kind.INVALID: (HTTPStatus.UNPROCESSABLE_ENTITY, "Something sent is not valid"),
    Kind.QUOTA: (HTTPStatus.TOO_MANY_REQUESTS, "Quota used"),
    Kind.TOO_MANY_REQUESTS: (HTTPStatus.TOO_MANY_REQUESTS, "Too many requests"),
    Kind.SERVER_ERROR: (HTTPStatus.INTERNAL_SERVER_ERROR, "An error of this site"),
    Kind.DISK_FULL: (HTTPStatus.INSUFFICIENT_STORAGE, "The disk of this site is full"),
    Kind.STORAGE: (HTTPStatus.SERVICE_UNAVAILABLE, "A stored file cannot be read now"),
}


class FieldError(Schema):
    """One invalid value: the field (empty if it concerns the whole request) and what to do."""

    field: str
    message: str


class Problem(Schema):
    """Problem details (RFC 9457). ``type`` is the address of the explanation."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []


@dataclass
class ProblemError(Exception):
    """End a request with a problem."""

    kind: Kind
    detail: str
    errors: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] | None = None


def answer(problem: ProblemError, **more: Any) -> HttpResponse:
    """Return the problem as a response; ``more`` are additional members."""
    kind = problem.kind
    errors = [{"field": field, "message": message} for field, message in problem.errors[:_MOST_ERRORS]]
    body = {
        "type": f"/docs/api/#{kind}",
        "title": kind.heading,
        "status": int(kind.status),
        "detail": problem.detail[:_LONGEST_DETAIL],
        "errors": errors,
        **more,
    }
    response = HttpResponse(json.dumps(body), status=kind.status, content_type=CONTENT_TYPE)
    for name, value in (problem.headers or {}).items():
        response[name] = value
    return response


def answer_to(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Return ``error`` as a problem response. Unexpected errors are logged; their details are not returned."""
    if isinstance(error, type):
        error = error()
    if isinstance(error, StaleDraftError):
        return answer(ProblemError(Kind.WRONG_STATE, str(error)), draft=error.draft, version=error.version)
    if isinstance(error, NotReadyError):
        return answer(ProblemError(Kind.NOT_ALLOWED, str(error)), address=getattr(error, "address", ""))
    known = _known(error)
    if known is not None:
        return answer(known)
    if means_full(error):
        return answer(
            ProblemError(Kind.DISK_FULL, "Nothing was stored. Try again later; the operator must free disk space.")
        )
    if means_unreadable(error):
        log.error("storage_error", path=request.path, error=str(error))
        return answer(
            ProblemError(
                Kind.STORAGE,
                "The storage of this site's files does not answer, or lacks a file. Nothing was stored. Try again "
                "later; if that does not help, contact the operator.",
            )
        )
    log.error("api_error", path=request.path, exc_info=error)
    return answer(
        ProblemError(
            Kind.SERVER_ERROR, "An unexpected error of this site; your request is not the cause. The error is logged."
        )
    )


def _known(error: Exception) -> ProblemError | None:
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, SubmissionError):
        return _refused(error)
    if isinstance(error, AnswerClosedError):
        return ProblemError(
            Kind.BLIND, "You are labelling one of these answers. Lock your label or skip the item to see more."
        )
    if isinstance(error, ValidationError):
        return invalid((_field(each["loc"]), each["msg"]) for each in error.errors)
    if isinstance(error, Http404):
        return ProblemError(Kind.NOT_FOUND, "Nothing exists at this address, or you may not see it.")
    if isinstance(error, RequestDataTooBig):
        return too_large()
    if isinstance(error, HttpError | MultiPartParserError | SuspiciousOperation | UnreadablePostError):
        return ProblemError(Kind.UNREADABLE, "The body does not match its Content-Type, or it is incomplete.")
    return None


def _field(location: tuple[str | int, ...]) -> str:
    """Return a value's path in the request, without its source and without the parameter name of a body."""
    return ".".join(map(str, location[2 if location[0] == "body" else 1 :]))


def _refused(error: SubmissionError) -> ProblemError:
    """Return a domain operation's refusal as a problem; its message is written for users."""
    if isinstance(error, IncompleteError | OrganisationRefusedError):
        return invalid(error.errors.items())
    if isinstance(error, BundleRefusedError):
        wrong = [each.message for each in error.checked.problems if each.severity == Severity.REFUSE]
        errors = tuple(("file", message) for message in wrong)
        return ProblemError(Kind.INVALID, " ".join([str(error), *wrong[:3]]), errors)
    kinds = {QuotaExceededError: Kind.QUOTA, NotAllowedError: Kind.NOT_ALLOWED}
    return ProblemError(kinds.get(type(error), Kind.WRONG_STATE), str(error))


def too_large() -> ProblemError:
    """Return the problem of an oversized body."""
    return ProblemError(Kind.TOO_LARGE, "The body is larger than this address accepts. Send less.")


def invalid(errors: Iterable[tuple[str, str]]) -> ProblemError:
    """Return the problem of invalid input: each field, and what to do."""
    listed = tuple(errors)
    detail = " ".join(f"{field}: {message}" if field else message for field, message in listed[:3])
    return ProblemError(Kind.INVALID, detail, listed)


def valid(form: forms.Form) -> dict[str, Any]:
    """Return a form's cleaned data. Raises :class:`ProblemError` listing every error."""
    if form.is_valid():
        return form.cleaned_data
    raise invalid(
        ("" if field == "__all__" else field, str(message)) for field, found in form.errors.items() for message in found
    )
