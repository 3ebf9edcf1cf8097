"""Version 1 keeps what its last release offered, or its removal was announced; and how removals are announced."""

from __future__ import annotations

import json
import lzma
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.test import RequestFactory
from ninja import Router, Schema
from pydantic import Field

from leaderboard.api import v1
from leaderboard.api.access import PUBLIC
from leaderboard.api.answering import all_answered
from leaderboard.api.deprecation import Deprecation, deprecated
from leaderboard.settings.releases import releases
from scripts.release import RELEASED_API
from tests.leaderboard.api.test_document import described

if TYPE_CHECKING:
    from collections.abc import Iterator

REMOVED: Final[dict[str, str]] = {}
"""Beginning of lines of a contract that are gone -> the release whose changelog announced their removal."""


class Contract:
    """What a document lets programs rely on (``offered``), and what it demands of them (``demanded``), line by line."""

    def __init__(self, document: Any) -> None:
        self._schemas = document["components"]["schemas"]
        self.offered: set[str] = set()
        self.demanded: set[str] = set()
        for address, methods in document["paths"].items():
            for method, operation in methods.items():
                self._operation(f"{method.upper()} {address}", operation)

    def _operation(self, name: str, operation: Any) -> None:
        self.offered.add(name)
        for parameter in operation.get("parameters", []):
            where = f"{name} ?{parameter['name']}"
            self.offered |= {where, *self._lines(parameter["schema"], where)}
            if parameter["required"]:
                self.demanded.add(where)
        body = operation.get("requestBody", {})
        for media in body.get("content", {}).values():
            self.offered |= set(self._lines(media["schema"], f"{name} <"))
            self.demanded |= set(self._required(media["schema"], f"{name} <"))
        for status, response in operation["responses"].items():
            self.offered.add(f"{name} {status}")
            for media in response.get("content", {}).values():
                self.offered |= set(self._lines(media["schema"], f"{name} {status} >"))

    def _lines(self, schema: Any, path: str, within: tuple[str, ...] = ()) -> Iterator[str]:
        """Yield the schema's fields with their types, and its values, each with its path."""
        if name := schema.get("$ref", ""):
            if name not in within:
                yield from self._lines(self._schemas[name.rpartition("/")[2]], path, (*within, name))
            return
        for alternative in (*schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])):
            yield from self._lines(alternative, path, within)
        if kind := schema.get("type"):
            yield f"{path}: {kind}"
        for value in (*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])):
            yield f"{path} = {value}"
        for name, field in schema.get("properties", {}).items():
            yield from (f"{path} {name}", *self._lines(field, f"{path} {name}", within))
        if items := schema.get("items"):
            yield from self._lines(items, f"{path} []", within)
        if isinstance(values := schema.get("additionalProperties"), dict):
            yield from self._lines(values, f"{path} {{}}", within)

    def _required(self, schema: Any, path: str) -> Iterator[str]:
        """Yield the fields that a body must have."""
        if name := schema.get("$ref", ""):
            schema = self._schemas[name.rpartition("/")[2]]
        for name in schema.get("required", []):
            yield from (f"{path} {name}", *self._required(schema["properties"][name], f"{path} {name}"))


def small(properties: dict[str, Any], *, required: tuple[str, ...] = (), **more: Any) -> Contract:
    """The contract of one operation, whose body and response have these properties."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}
    operation = {"requestBody": {"content": content}, "responses": {"200": {"content": content}}, **more}
    thing = {"type": "object", "properties": properties, "required": list(required)}
    return Contract({"components": {"schemas": {"Thing": thing}}, "paths": {"/a": {"put": operation}}})


def broken(before: Contract, after: Contract) -> list[str]:
    """What programs written for ``before`` miss in ``after``, and what it demands of operations that both have."""
    gone = before.offered - after.offered
    operations = {line for line in before.offered if line.count(" ") == 1}
    new = {line for line in after.demanded - before.demanded if " ".join(line.split()[:2]) in operations}
    return sorted(line for line in gone | new if not line.startswith(tuple(REMOVED)))


def test_nothing_that_the_last_release_offered_is_gone() -> None:
    released = Contract(json.loads(lzma.decompress(RELEASED_API.read_bytes())))
    assert len(released.offered) > 10_000
    assert broken(released, Contract(described())) == [], "docs/contributing.md, “Version 1 of the API”"


def test_removals_name_the_release_that_announced_them() -> None:
    assert set(REMOVED.values()) <= {each.version for each in releases()}


TEXT: Any = {"type": "string"}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (small({"a": TEXT, "b": TEXT}), []),
        (small({}), ["PUT /a 200 > a", "PUT /a 200 > a: string", "PUT /a < a", "PUT /a < a: string"]),
        (small({"a": {"type": "integer"}}), ["PUT /a 200 > a: string", "PUT /a < a: string"]),
        (small({"a": TEXT}, required=("a",)), ["PUT /a < a"]),
        (small({"a": TEXT}, parameters=[{"name": "q", "required": True, "schema": TEXT}]), ["PUT /a ?q"]),
        (
            small({"a": TEXT}, responses={}),
            ["PUT /a 200", "PUT /a 200 > a", "PUT /a 200 > a: string", "PUT /a 200 >: object"],
        ),
    ],
)
def test_what_breaks_programs(after: Contract, expected: list[str]) -> None:
    assert broken(small({"a": TEXT}), after) == expected


def test_values_and_inner_fields_are_compared() -> None:
    values = small({"a": {"anyOf": [{"enum": ["x", "y"]}, {"type": "null"}]}})
    fewer = small({"a": {"anyOf": [{"enum": ["x"]}, {"type": "null"}]}})
    assert broken(values, fewer) == ["PUT /a 200 > a = y", "PUT /a < a = y"]
    fields: tuple[Any, ...] = ({"b": {}}, {})
    inner, none = ({"type": "array", "items": {"properties": each}} for each in fields)
    assert broken(small({"a": inner}), small({"a": none})) == ["PUT /a 200 > a [] b", "PUT /a < a [] b"]
    same = {"$ref": "#/components/schemas/Thing"}
    assert broken(small({"a": same}), small({"a": same})) == []


class SampleOut(Schema):
    """A response with a field that will be removed."""

    kept: int = 1
    old: int = Field(default=2, deprecated=True)


ANNOUNCED = Deprecation(since=date(2027, 1, 1), sunset=date(2027, 7, 3))


def sample_api() -> Any:
    """An API with the wrapping and the document of ours, and operations that will be removed."""
    router = Router()

    @router.get("/whole", response=SampleOut, tags=["sample"])
    @deprecated(ANNOUNCED)
    def whole(request: Any) -> SampleOut:
        """Get what will be removed."""
        return SampleOut()

    @router.get("/field", response=SampleOut, tags=["sample"])
    @deprecated(Deprecation(ANNOUNCED.since, ANNOUNCED.sunset, field="old"))
    def field(request: Any) -> SampleOut:
        """Get what has a field that will be removed."""
        return SampleOut()

    @router.get("/kept", tags=["sample"])
    def kept(request: Any) -> dict[str, int]:
        """Get what is kept."""
        return {}

    made = v1._Api(auth=PUBLIC, docs_url=None, openapi_url=None, urls_namespace="sample")
    made.add_router("", router)
    return made


@pytest.mark.django_db
def test_an_announced_removal_is_in_headers_and_document() -> None:
    api = sample_api()
    views = {each.pattern._route: each for each in api.urls[0] if each.name != "api-root"}
    all_answered(list(views.values()))
    responses = {name: each.callback(RequestFactory().get(f"/{name}")) for name, each in views.items()}
    assert {name: response.status_code for name, response in responses.items()} == dict.fromkeys(views, 200)
    expected = {
        "Deprecation": "@1798761600",
        "Sunset": "Sat, 03 Jul 2027 00:00:00 GMT",
        "Link": '</docs/api/#version-1>; rel="deprecation"; type="text/html"',
    }
    found = {name: {key: response.headers.get(key) for key in expected} for name, response in responses.items()}
    assert found == {"whole": expected, "field": expected, "kept": dict.fromkeys(expected)}

    document = v1._Document(api, "/")
    marked = {address: each["get"].get("deprecated") for address, each in document["paths"].items()}
    assert marked == {"/whole": True, "/field": None, "/kept": None}
    fields = document["components"]["schemas"]["SampleOut"]["properties"]
    assert {name: each.get("deprecated") for name, each in fields.items()} == {"kept": None, "old": True}


def test_no_removal_at_short_notice() -> None:
    with pytest.raises(ValueError, match="within 183 days of its announcement"):
        Deprecation(since=date(2027, 1, 1), sunset=date(2027, 7, 2))
