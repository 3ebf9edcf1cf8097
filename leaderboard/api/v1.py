"""The API, version 1: its parts, its description, its addresses."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from django.http import JsonResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, re_path
from django.views.decorators.http import conditional_page, require_safe
from ninja import NinjaAPI
from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.parser import Parser

from leaderboard.api import (
    agreement,
    answers,
    boards,
    calls,
    cases,
    catalogue,
    endpoints,
    judges,
    labels,
    notices,
    snapshots,
    submissions,
    systems,
    task_results,
    uploads,
    whoami,
)
from leaderboard.api.access import PUBLIC, Token
from leaderboard.api.answering import all_answered, missing
from leaderboard.api.problems import CONTENT_TYPE, Kind, Problem, answer_to

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from ninja.operation import Operation

DESCRIPTION: Final = (
    "Everything that the public pages show, and what submitters and annotators do, for programs. The rules are the "
    "pages' own. Tokens, pages, problems and limits are explained at /docs/api/, with a client in one file."
)
_ALWAYS: Final = (
    *(Kind.UNREADABLE, Kind.NO_TOKEN, Kind.NOT_ALLOWED, Kind.INVALID, Kind.TOO_MANY_REQUESTS, Kind.SERVER_ERROR),
)
_ACTING: Final = (Kind.WRONG_STATE, Kind.TOO_LARGE, Kind.DISK_FULL)
_PROBLEM: Final = {"content": {CONTENT_TYPE: {"schema": {"$ref": REF_TEMPLATE.format(model=Problem.__name__)}}}}


class _StrictParser(Parser):
    """Takes JSON as its standard has it: no NaN, and no half of a character pair, which no database stores."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The body's data. Whatever is raised here is answered as a body that cannot be read."""
        data = json.loads(request.body, parse_constant=_refuse)
        json.dumps(data, ensure_ascii=False).encode()
        return data


def _refuse(constant: str) -> None:
    raise ValueError(constant)


class _Document(OpenAPISchema):
    """The OpenAPI document, with the scope that each operation needs and the problems that it may answer."""

    def get_components(self) -> Any:
        """The schemas, that of problems among them."""
        problem = Problem.model_json_schema(ref_template=REF_TEMPLATE)
        self.add_schema_definitions({**problem.pop("$defs"), Problem.__name__: problem})
        return super().get_components()

    def operation_details(self, operation: Operation) -> Any:
        """Its first sentence sums it up."""
        details = super().operation_details(operation)
        # Markdown has one backtick where docstrings have two.
        details["description"] = details["description"].replace("``", "`")
        return details | {"summary": details["description"].partition(". ")[0].partition("\n")[0].rstrip(".")}

    def operation_security(self, operation: Operation) -> Any:
        """The scope that a token needs; none at all where everybody may ask."""
        (token,) = operation.auth_callbacks
        assert isinstance(token, Token)  # noqa: S101 - for the type checker: nothing else lets anybody in
        self.securitySchemes["token"] = token.openapi_security_schema
        return [{"token": [token.scope.value]}, *([{}] if token.optional else [])]

    def responses(self, operation: Operation) -> Any:
        """What it answers when all is well, and its problems."""
        found = super().responses(operation)
        kinds = [*_ALWAYS, *([Kind.NOT_FOUND] if "{" in operation.path else [])]
        kinds += () if operation.methods == ["GET"] else _ACTING
        for kind in sorted(kinds, key=lambda kind: kind.status):
            found[int(kind.status)] = {"description": kind.heading, **_PROBLEM}
        return found


class _Api(NinjaAPI):
    """Answers every error with a problem, and names its operations after their functions."""

    def set_default_exception_handlers(self) -> None:
        """One for all."""
        self.add_exception_handler(Exception, answer_to)

    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: Any = None) -> OpenAPISchema:
        """The document; its addresses are whole paths."""
        return _Document(self, path_prefix or self.get_root_path(path_params or {}))

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The function's name."""
        return operation.view_func.__name__


api = _Api(
    title="LMR-Board",
    version="1",
    description=DESCRIPTION,
    auth=PUBLIC,
    parser=_StrictParser(),
    openapi_url=None,
    docs_url=None,
    urls_namespace="api",
)
for _part in (
    whoami,
    catalogue,
    task_results,
    boards,
    snapshots,
    systems,
    uploads,
    submissions,
    answers,
    endpoints,
    cases,
    labels,
    notices,
    judges,
    agreement,
    calls,
):
    api.add_router("", _part.router)


@cache
def described() -> OpenAPISchema:
    """The OpenAPI document. Code alone decides what is in it, so each process makes it once."""
    return api.get_openapi_schema()


@require_safe
@conditional_page
def document(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document."""
    return JsonResponse(described(), json_dumps_params={"indent": 1})


@require_safe
def viewer(request: HttpRequest) -> HttpResponse:
    """The document as a page on which one can try every operation."""
    listed = [
        {"method": method.upper(), "address": address, **described, "scope": described["security"][0]["token"][0]}
        for address, methods in described()["paths"].items()
        for method, described in methods.items()
    ]
    return render(request, "leaderboard/api.html", {"operations": listed})


@require_safe
def root(request: HttpRequest) -> HttpResponse:
    """Nothing is at the API's own address but the way to the viewer."""
    return redirect("api_viewer")


def _operations() -> list[URLPattern]:
    """Every operation's address. Ninja's own last one, of the API itself, serves to find where it is mounted."""
    patterns = [each for each in api.urls[0] if isinstance(each, URLPattern)]
    return all_answered([*patterns, re_path("", missing, name="missing")])


urlpatterns = [
    path("", root, name="api_root"),
    path("docs/", viewer, name="api_viewer"),
    path("openapi.json", document, name="api_document"),
    path("", (_operations(), "ninja", "api")),
]
