from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.placeholders import KIT_PLACEHOLDERS
from submissions.answers.foreign_json import ForeignJsonError, read_json
from submissions.answers.manifest import check_manifest, parse_usage, read_manifest
from submissions.answers.types import Manifest, Problem, Severity
from tests.submissions.answers.archive_makers import MANIFEST


def messages(content: bytes) -> list[str]:
    _, problems = read_manifest(content)
    assert {(problem.severity, problem.file) for problem in problems} == {(Severity.REFUSE, "submission.json")}
    return [problem.message for problem in problems]


def good(content: bytes) -> Manifest | None:
    manifest, problems = read_manifest(content)
    assert problems == []
    return manifest


def with_fields(**fields: object) -> bytes:
    return json.dumps(MANIFEST | fields).encode()


def test_the_four_required_fields_are_enough() -> None:
    assert good(with_fields()) == Manifest(
        suite="lmr-mini",
        suite_version=None,
        system="Plain",
        backbone="small-model",
        scaffold="none",
        inputs="full",
        organisation="",
        links=(),
        notes="",
        kind="ranked",
    )


def test_every_field_is_read_stripped_and_composed() -> None:
    content = with_fields(
        suite_version=3,
        scaffold=" OpenHands 0.33 ",
        organisation="Universite\u0301",
        links=["https://example.org/a", " http://example.org "],
        notes="one\ntwo",
        kind="calibration",
        inputs="paper_goal_file",
    )
    manifest = good(b"\xef\xbb\xbf" + content)
    assert manifest == Manifest(
        suite="lmr-mini",
        suite_version=3,
        system="Plain",
        backbone="small-model",
        scaffold="OpenHands 0.33",
        inputs="paper_goal_file",
        organisation="Universit\u00e9",
        links=("https://example.org/a", "http://example.org"),
        notes="one\ntwo",
        kind="calibration",
    )


def test_all_missing_fields_are_named_at_once() -> None:
    assert messages(b"{}") == [
        "'suite' is missing; add it.",
        "'system' is missing; add it.",
        "'backbone' is missing; add it.",
        "'inputs' is missing; use one of full, paper_only, paper_goal_file.",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sytem": "x"}, "Unknown key 'sytem'; did you mean 'system'?"),
        ({"organization": "x"}, "Unknown key 'organization'; did you mean 'organisation'?"),
        ({"inputs": "some"}, "'inputs' must be one of full, paper_only, paper_goal_file, not \"some\"."),
        ({"kind": "secret"}, "'kind' must be one of ranked, calibration, not \"secret\"."),
        ({"suite": "LMR mini"}, "'suite' is a name like 'lmr-mini' (small letters, digits, hyphens), not 'LMR mini'."),
        ({"suite_version": 0}, "'suite_version' must be a whole number from 1, not 0."),
        ({"suite_version": True}, "'suite_version' must be a whole number from 1, not true."),
        ({"suite_version": "2"}, "'suite_version' must be a whole number from 1, not \"2\"."),
        ({"system": " "}, "'system' is empty; fill it in."),
        ({"system": 7}, "'system' must be a text in quotes, not 7."),
        ({"system": "x" * 101}, "'system' has 101 characters; at most 100 are allowed."),
        ({"system": "a\u202eb"}, "'system' holds the control or direction character U+202E; remove it."),
        ({"system": "a\nb"}, "'system' holds the control or direction character U+000A; remove it."),
        ({"notes": "x" * 4001}, "'notes' has 4001 characters; at most 4000 are allowed."),
        ({"links": "https://example.org"}, "'links' must be a list of at most 10 addresses."),
        ({"links": ["https://example.org"] * 11}, "'links' must be a list of at most 10 addresses."),
        ({"links": [3]}, "'links', number 1: an address must be a text in quotes."),
        ({"links": ["http://[bad"]}, "'links', number 1: the address cannot be read."),
        ({"links": ["https://e.org/" + "x" * 300]}, "'links', number 1: the address is longer than 300 characters."),
        ({"links": ["https://e.org/a b"]}, "'links', number 1: the address holds a space or control character."),
    ],
)
def test_one_wrong_field(fields: dict[str, object], expected: str) -> None:
    assert messages(with_fields(**fields)) == [expected]


@pytest.mark.parametrize("link", ["javascript:alert(1)", "ftp://example.org", "https://", "//x", "https://me@e.org"])
def test_links_are_web_addresses(link: str) -> None:
    assert messages(with_fields(links=["https://example.org", link])) == [
        "'links', number 2: an address must begin with https:// or http:// and name a host, without user name."
    ]


@pytest.mark.parametrize(
    ("content", "line", "expected"),
    [
        (b'{\n  "suite": }', 2, " at column 12: not JSON: Expecting value"),
        (b'{"a": 1, "a": 2}', None, ": the key 'a' is given twice in one object"),
        (b'{"a": NaN}', None, ": NaN is not a JSON number"),
        (b'{"a": -Infinity}', None, ": -Infinity is not a JSON number"),
        (b'{"a": 1e999}', None, ": the number 1e999 is too long or too large"),
        (b'{"a": ' + b"1" * 5000 + b"}", None, ": a number of 5000 characters is too long"),
        (b'{"a":\n' + b"[" * 100_000, 2, " at column 20: nested deeper than 20 levels"),
        (b'{"a": "\\ud800"}', None, ": a text holds half of a surrogate pair (a broken \\u escape)"),
        (b'{"\\u0000": 1}', None, ": a text holds a NUL character"),
        (b'{"a":\n "\xff"}', 2, " at column 3: not UTF-8 text"),
        (json.dumps({f"k{n}": n for n in range(101)}).encode(), None, ": an object has more than 100 keys"),
        (b"", 1, " at column 1: not JSON: Expecting value"),
    ],
)
def test_broken_json_is_refused_with_its_place_once(content: bytes, line: int | None, expected: str) -> None:
    manifest, problems = read_manifest(content)
    assert manifest is None
    assert problems == [Problem(Severity.REFUSE, f"Not usable{expected}.", file="submission.json", line=line)]


@pytest.mark.parametrize(("key", "text"), KIT_PLACEHOLDERS.items())
def test_the_example_texts_of_the_kit_are_refused(key: str, text: str) -> None:
    message = f"{key!r} still holds the task kit's example text {text!r}; replace it with your own."
    assert messages(with_fields(**{key: f" {text} "})) == [message]


def test_wrong_fields_are_empty_and_the_others_are_kept() -> None:
    links = ["javascript:alert(1)", "https://example.org"]
    content = with_fields(suite="No Slug", system="x" * 101, notes="a\u202eb", inputs="all", links=links)
    assert read_manifest(content)[0] == Manifest("", None, "", "small-model", "none", "", "", (links[1],), "")


def test_a_list_is_no_manifest() -> None:
    assert messages(b"[]") == ["submission.json must hold one JSON object, like {...}."]


def test_brackets_inside_texts_are_not_depth() -> None:
    assert read_json(b'["' + b"[{" * 50 + b'"]') == ["[{" * 50]


def test_a_manifest_from_a_form_is_checked_the_same_way() -> None:
    manifest = good(with_fields(links=["https://example.org"], suite_version=1))
    assert manifest is not None
    assert check_manifest(manifest) == (manifest, [])
    broken = Manifest("", None, "x\0", "b", "none", "full", "", ("nowhere",), "")
    assert [problem.message for problem in check_manifest(broken)[1]] == [
        "'suite' is missing; add it.",
        "'system' holds the control or direction character U+0000; remove it.",
        "'links', number 1: an address must begin with https:// or http:// and name a host, without user name.",
    ]


def test_usage_is_numbers_by_known_keys() -> None:
    content = b'{"input_tokens": 10, "output_tokens": 2, "cost_usd": 0.25, "seconds": null}'
    assert parse_usage(content) == {"input_tokens": 10.0, "output_tokens": 2.0, "cost_usd": 0.25}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[]", "usage must be one JSON object"),
        (b'{"cost": 1}', "unknown key 'cost'; did you mean 'cost_usd'?"),
        (b'{"seconds": -1}', "'seconds' must be between 0 and 1e+12"),
        (b'{"seconds": 1' + b"0" * 30 + b"}", "'seconds' must be between 0 and 1e+12"),
        (b'{"seconds": true}', "'seconds' must be a number"),
        (b'{"seconds": "1"}', "'seconds' must be a number"),
    ],
)
def test_usage_that_is_refused(content: bytes, expected: str) -> None:
    with pytest.raises(ForeignJsonError) as caught:
        parse_usage(content)
    assert str(caught.value) == expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(
    st.binary(max_size=300)
    | st.dictionaries(st.sampled_from([*MANIFEST, "links", "notes", "kind", "suite_version", "x"]), JSON_VALUES).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_any_content_gives_a_manifest_or_problems(content: bytes) -> None:
    manifest, problems = read_manifest(content)
    if manifest is not None and not problems:
        assert check_manifest(manifest) == (manifest, [])
    with contextlib.suppress(ForeignJsonError):
        parse_usage(content)
