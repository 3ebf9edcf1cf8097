"""JSON from third parties: which input is refused, and the positions of errors and values."""

from __future__ import annotations

import contextlib
import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchmark_tasks.domain.foreign_json import JsonError, places, problems_of, read_json


@pytest.mark.parametrize(
    ("content", "line", "column", "message"),
    [
        (b'{\n  "suite": }', 2, 12, "is not JSON: Expecting value"),
        (b"", 1, 1, "is not JSON: Expecting value"),
        (b'{"a": 1, "a": 2}', None, None, "has the key 'a' twice in one object; keep one"),
        (b'{"a": -Infinity}', None, None, "holds -Infinity, which is not a JSON number"),
        (b'{"a": 1e999}', None, None, "holds the number 1e999, which is too long or too large"),
        (b'{"a": ' + b"1" * 5000 + b"}", None, None, "holds a number of 5000 characters, which is too long"),
        (b'{"a":\n' + b"[" * 100_000, 2, 20, "is nested deeper than 20 levels"),
        (b'{"a": "\\ud800"}', None, None, "holds a text with half of a surrogate pair (a broken \\u escape)"),
        (b'{"\\u0000": 1}', None, None, "holds a text with a NUL character"),
        (b'{"a":\n "\xff"}', 2, 3, "is not UTF-8 text"),
        (json.dumps({f"k{n}": n for n in range(1001)}).encode(), None, None, "has an object of more than 1000 keys"),
    ],
)
def test_unusable_json_is_refused(content: bytes, line: int | None, column: int | None, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        read_json(content)
    assert (caught.value.line, caught.value.column, caught.value.message) == (line, column, message)


def test_every_value_has_a_position() -> None:
    text = '{"a": [1,\n  {"b,": "}"}, []],\n "c": {"d\\"": null}}'
    assert places(text) == {
        (): (1, 1),
        ("a",): (1, 7),
        ("a", 0): (1, 8),
        ("a", 1): (2, 3),
        ("a", 1, "b,"): (2, 10),
        ("a", 2): (2, 16),
        ("c",): (3, 7),
        ("c", 'd"'): (3, 15),
    }


class Sample(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: Annotated[str, StringConstraints(min_length=1, max_length=3)] = "abc"
    kind: Literal["big", "small"] = "big"
    number: Annotated[int, Field(ge=1, le=9)] = 1
    share: float = 0.5
    exact: bool = False
    items: Annotated[list[str], Field(min_length=1, max_length=2)] = ["x"]
    more: dict[str, int] = {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "the file must be an object, not a list"),
        ({"name": ""}, "name is empty; fill it in"),
        ({"name": "abcd"}, "name has more than 3 characters; shorten it"),
        ({"name": 7}, "name must be a text in quotes, not 7"),
        ({"kind": "huge"}, "kind must be one of 'big' or 'small', not \"huge\""),
        ({"number": 0}, "number must be at least 1, not 0"),
        ({"number": 10}, "number must be at most 9, not 10"),
        ({"number": True}, "number must be a whole number, not true"),
        ({"share": "1"}, 'share must be a number, not "1"'),
        ({"exact": 1}, "exact must be true or false, not 1"),
        ({"items": {}}, "items must be a list, not an object"),
        ({"items": []}, "items must have at least 1 items"),
        ({"items": ["a", "b", "c"]}, "items has more than 2 items"),
        ({"items": [3]}, "items[0] must be a text in quotes, not 3"),
        ({"more": {"a": "x"}}, 'more.a must be a whole number, not "x"'),
        ({"nmae": "x"}, "nmae is an unknown key; did you mean 'name'?"),
        ({"zzz": "x"}, "zzz is an unknown key; remove it or correct its spelling"),
    ],
)
def test_pydantic_errors_get_messages_for_authors(value: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Sample.model_validate(value)
    assert [wrong.message for wrong in problems_of(caught.value, list(Sample.model_fields))] == [message]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with contextlib.suppress(JsonError):
        places(content.decode("utf-8-sig")) if read_json(content) else None


@given(VALUES, st.sampled_from([None, 2]))
def test_the_place_of_a_value_is_where_it_begins(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    lines = text.split("\n")
    for path, (line, column) in places(text).items():
        found = value
        for step in path:
            found = found[step]  # type: ignore[index]
        assert "\n".join([lines[line - 1][column - 1 :], *lines[line:]]).startswith(json.dumps(found)[:1])
