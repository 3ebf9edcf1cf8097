"""Whatever a browser, or somebody at its place, sends: it is stored as it is, or there is a sentence for a field."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.queue.storable import storable
from reviews.exceptions import LabelError
from reviews.labelling.drafts import clean_draft
from reviews.labelling.findings import clean_label, draft_findings
from tests.reviews.factories import FINDING

if TYPE_CHECKING:
    from collections.abc import Callable

Cleaned = TypeVar("Cleaned")

LINES = {"candidate": 12, "golden": 7}

texts = st.text(alphabet=st.characters(exclude_categories=[]), max_size=30)
numbers = st.integers() | st.integers(-2, 15) | st.floats()
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
sides = st.sampled_from(["candidate", "golden", ""])
lines = st.integers(0, 14) | st.integers(0, 14).map(str) | st.none() | json_values
rows = st.fixed_dictionaries(
    {},
    optional={
        "side": sides | json_values,
        "start": lines,
        "end": lines,
        "text": texts | json_values,
        "error_class": st.sampled_from(["", "parsing", "policy"]) | json_values,
        "more": json_values,
    },
)
findings = st.lists(rows | json_values, max_size=5) | json_values
likely_drafts = st.fixed_dictionaries(
    {},
    optional={
        "label": st.sampled_from(["", "LI", "LC", "CC"]) | json_values,
        "confidence": st.sampled_from([1, 2, 3, "1", ""]) | json_values,
        "findings": findings,
        "note": texts | json_values,
        "paper_page": st.integers(0, 30) | json_values,
        "view": st.dictionaries(texts, json_values, max_size=3) | json_values,
        "reason": st.sampled_from(["", "bad_test", "judge_error,bad_test"]) | json_values,
    },
)


def unless_refused(clean: Callable[[], Cleaned]) -> Cleaned | None:
    """What ``clean`` makes of it; None when it refuses, with a sentence that can be shown for each field."""
    try:
        return clean()
    except LabelError as error:
        sentences = error.errors
    assert sentences
    assert all(field and sentence.isprintable() for field, sentence in sentences.items())
    return None


def is_storable(data: object) -> bool:
    """Whether SQLite and PostgreSQL both take it as JSON and give it back."""
    written = json.dumps(data, allow_nan=False)
    return bool(storable(data) == data) and json.loads(written) == data


@settings(max_examples=400, deadline=None)
@given(likely_drafts | json_values)
def test_a_draft_is_kept_or_refused_by_field(draft: object) -> None:
    cleaned = unless_refused(lambda: clean_draft(draft))
    if cleaned is None:
        return
    assert is_storable(cleaned)
    assert isinstance(draft, dict)
    assert {field: value for field, value in cleaned.items() if field != "findings"} == {
        field: value for field, value in draft.items() if field != "findings"
    }
    assert clean_draft(cleaned) == cleaned


@settings(max_examples=400, deadline=None)
@given(findings)
def test_findings_of_a_draft_keep_what_was_typed(value: object) -> None:
    kept = unless_refused(lambda: draft_findings(value))
    if kept is None:
        return
    assert is_storable(kept)
    assert isinstance(value, list)
    assert [{**row, **typed} for row, typed in zip(kept, value, strict=True)] == kept


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["LI", "LC", "CC"]) | json_values,
    st.sampled_from([1, 2, 3, "3"]) | json_values,
    st.lists(rows.map(lambda row: {**FINDING, **row}), max_size=3) | findings,
    texts | json_values,
)
def test_a_label_is_whole_or_refused_by_field(label: object, confidence: object, found: object, note: object) -> None:
    sent: dict[str, Any] = {"label": label, "confidence": confidence, "findings": found, "note": note}
    cleaned = unless_refused(lambda: clean_label(**sent, lines=LINES))
    if cleaned is None:
        return
    assert cleaned.label in {"LI", "LC", "CC"}
    assert cleaned.confidence in {1, 2, 3}
    assert cleaned.note == note
    assert cleaned.findings or cleaned.label == "CC"
    for finding in cleaned.findings:
        assert 1 <= finding["start"] <= finding["end"] <= LINES[finding["side"]]
        assert finding["text"].strip() or finding["error_class"]
    assert is_storable(cleaned._asdict())


def test_json_nested_as_deep_as_it_can_be_read_is_refused() -> None:
    for depth in (400, 10_000):
        deep: Any = []
        for _ in range(depth):
            deep = [deep]
        for draft in (deep, {"view": {"a": deep}}, {"label": deep}, {"findings": [{"start": deep, "text": deep}]}):
            unless_refused(partial(clean_draft, draft))
