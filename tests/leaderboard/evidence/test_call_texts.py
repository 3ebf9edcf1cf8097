"""Stored requests and responses of each API as turns, also malformed ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.evidence.call_texts import (
    LONGEST_JSON,
    LONGEST_TURN,
    MOST_TURNS,
    Indented,
    Turn,
    other_facts,
    pretty,
    reply_turns,
    sent_turns,
)

ARGUMENTS = {"path": "a.py", "new": "x = 1\ny = 2"}
EDIT = "edit\npath: a.py\nnew: x = 1\ny = 2"
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Do"}, {"type": "text", "text": "it."}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "edit", "arguments": json.dumps(ARGUMENTS)}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ],
    "tools": [{"type": "function", "function": {"name": "edit"}}],
}
RESPONSES: dict[str, Any] = {
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": "Do\n\nit."},
        {"type": "function_call", "call_id": "1", "name": "edit", "arguments": json.dumps(ARGUMENTS)},
        {"type": "function_call_output", "call_id": "1", "output": "done"},
    ],
    "tools": [{"type": "function", "name": "edit"}],
}
MESSAGES: dict[str, Any] = {
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "Do\n\nit."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "edit", "input": ARGUMENTS}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "done"}]},
    ],
    "tools": [{"name": "edit"}],
}


def roles_and_texts(turns: Any) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns]


@pytest.mark.parametrize("body", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"])
def test_requests_of_each_api_become_the_same_turns(body: dict[str, Any]) -> None:
    assert roles_and_texts(sent_turns(body)) == [
        ("system", "Be brief."), ("user", "Do\n\nit."), ("assistant", EDIT), ("tool", "done"),
    ]  # fmt: skip
    assert ("tools", "edit") in other_facts(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}, [("assistant", "Yes.")]),
        ({"choices": [{"message": {"content": None, "refusal": "No."}}]}, [("assistant", "No.")]),
        (
            {
                "output": [
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
                ]
            },
            [("assistant", "Hm."), ("assistant", "Yes.")],
        ),
        (
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}],
            },
            [("assistant", "Hm.\n\nYes.")],
        ),
        ({"error": "busy"}, []),
        (None, []),
        ([1], []),
    ],
)
def test_replies_become_turns(body: Any, expected: list[tuple[str, str]]) -> None:
    assert roles_and_texts(reply_turns(body)) == expected


def test_a_tool_call_that_the_provider_could_not_parse_is_shown_as_the_model_s() -> None:
    error = {"code": "tool_use_failed", "message": "Failed.", "failed_generation": "<ls>"}
    assert reply_turns({"error": error}) == [Turn("assistant", "<ls>")]
    assert reply_turns({"error": {"code": "server_error"}}) == []


def test_turns_and_json_are_limited() -> None:
    body = {"messages": [{"role": "r" * 90, "content": "x" * (LONGEST_TURN + 7)}] * (MOST_TURNS + 5)}
    turns = sent_turns(body)
    assert (len(turns), len(turns[0].role), len(turns[0].text), turns[0].left_out) == (MOST_TURNS, 40, LONGEST_TURN, 7)
    shown = pretty({"a": "x" * LONGEST_JSON})
    assert (len(shown.text), shown.is_cut) == (LONGEST_JSON, True)
    assert pretty({"a": [1]}) == Indented('{\n  "a": [\n    1\n  ]\n}', is_cut=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["messages", "input", "choices", "message", "output", "content", "type", "text", "tool_calls", "function",
             "name", "arguments", "tools", "system", "role", "summary", "refusal",
             "error", "failed_generation", "code"]
        ),
        inner | st.sampled_from(["tool_use", "function_call", "reasoning", "tool_result", "function_call_output"]),
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@given(JSON)
def test_any_json_is_accepted(body: Any) -> None:
    for turn in [*sent_turns(body), *reply_turns(body)]:
        assert isinstance(turn.text, str)
    other_facts(body)
    pretty(body)
