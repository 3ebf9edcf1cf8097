from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.placeholders import KIT_PLACEHOLDERS
from submissions.answers.contents import Manifest, Problem, Severity
from submissions.answers.manifest import check_manifest, read_manifest, read_usage
from tests.submissions.answers.archive_makers import MANIFEST

NO_WEB_ADDRESS = "must begin with https:// or http:// and name a host, without user name."


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


def test_every_field_is_read_stripped_and_composed() -> None:
    assert good(with_fields()) == Manifest(
        "lmr-mini", None, "Plain", "small-model", "none", "full", "", (), "", "ranked"
    )
    content = with_fields(
        suite_version=3,
        scaffold=" OpenHands 0.33 ",
        organisation="Universite\u0301",
        links=["https://example.org/a", " http://example.org "],
        notes="one\ntwo",
        kind="calibration",
        inputs="paper_goal_file",
        weights="open",
        knowledge_cutoff="2024-06",
    )
    links = ("https://example.org/a", "http://example.org")
    described = (
        "OpenHands 0.33",
        "paper_goal_file",
        "Universit\u00e9",
        links,
        "one\ntwo",
        "calibration",
        "open",
        "2024-06",
    )
    assert good(b"\xef\xbb\xbf" + content) == Manifest("lmr-mini", 3, "Plain", "small-model", *described)


def test_all_missing_fields_are_named_at_once() -> None:
    assert messages(b"{}") == [f"{key} is missing; add it." for key in ("suite", "system", "backbone", "inputs")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"system": "a\nb"}, "system contains the control or direction character U+000A; remove it."),
        ({"system": "a\u202eb"}, "system contains the control or direction character U+202E; remove it."),
        ({"links": ["http://[bad"]}, "links[0] cannot be read as an address."),
        ({"links": ["https://e.org/a b"]}, "links[0] contains a space."),
        ({"knowledge_cutoff": "2024-13"}, "knowledge_cutoff is a month like '2024-06', not '2024-13'."),
        ({"weights": "ajar"}, "weights must be one of '', 'open' or 'closed', not \"ajar\"."),
        (
            {"suite": "LMR mini"},
            "suite is a name like 'lmr-mini' (a to z, digits, hyphens), not 'LMR mini'.",
        ),
        *(
            ({"links": ["https://example.org", link]}, f"links[1] {NO_WEB_ADDRESS}")
            for link in ("javascript:alert(1)", "ftp://example.org", "https://", "//x", "https://me@e.org")
        ),
    ],
)
def test_one_wrong_field(fields: dict[str, object], expected: str) -> None:
    assert messages(with_fields(**fields)) == [expected]


@pytest.mark.parametrize(
    ("content", "line", "expected"),
    [
        (b'{\n  "suite": }', 2, " at column 12: it is not JSON: Expecting value"),
        (b'{"a":\n "\xff"}', 2, " at column 3: it is not UTF-8 text"),
    ],
)
def test_broken_json_is_refused_with_its_place_once(content: bytes, line: int | None, expected: str) -> None:
    manifest, problems = read_manifest(content)
    assert manifest is None
    assert problems == [Problem(Severity.REFUSE, f"Not usable{expected}.", file="submission.json", line=line)]


@pytest.mark.parametrize(("key", "text"), KIT_PLACEHOLDERS.items())
def test_the_example_texts_of_the_kit_are_refused(key: str, text: str) -> None:
    message = f"{key} still has the task kit's example text {text!r}; replace it with your own."
    assert messages(with_fields(**{key: f" {text} "})) == [message]


def test_a_manifest_from_a_form_is_checked_the_same_way() -> None:
    manifest = good(with_fields(links=["https://example.org"], suite_version=1))
    assert manifest is not None
    assert check_manifest(manifest) == (manifest, [])
    broken = Manifest("", None, "x\0", "b", "none", "full", "", ("nowhere",), "")
    assert [problem.message for problem in check_manifest(broken)[1]] == [
        "suite is missing; add it.",
        "system contains the control or direction character U+0000; remove it.",
        f"links[0] {NO_WEB_ADDRESS}",
    ]


def usage(content: bytes) -> tuple[dict[str, float], list[str]]:
    found, problems = read_usage(content, task="dpo/1", file="usage.json")
    assert all((problem.task, problem.file) == ("dpo/1", "usage.json") for problem in problems)
    return found, [problem.message for problem in problems]


def test_usage_is_numbers_by_known_keys() -> None:
    content = b'{"input_tokens": 10, "output_tokens": 2, "cost_usd": 0.25, "seconds": null}'
    assert usage(b'{"cost": 1}') == ({}, ["cost is an unknown key; did you mean 'cost_usd'?"])
    assert usage(content) == ({"input_tokens": 10.0, "output_tokens": 2.0, "cost_usd": 0.25}, [])


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
    usage(content)
