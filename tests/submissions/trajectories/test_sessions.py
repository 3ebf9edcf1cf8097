"""Reading OpenHands' sessions from folders of event files and from output.jsonl."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.trajectories import sessions
from submissions.trajectories.replaying import paths_of
from submissions.trajectories.sessions import Session, SessionsError, read_sessions
from tests.conftest import examples
from tests.submissions.trajectories.openhands_sessions import numbered, output_line, run, session

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = numbered(run("ls"), run("pwd"))


@pytest.mark.parametrize("where", ["file_store/sessions/1-Alpha", "sessions/1-Alpha", "1-Alpha"])
def test_sessions_are_found_in_each_folder_above_them(tmp_path: Path, where: str) -> None:
    folder = session(tmp_path / where, EVENTS)
    expected = [Session("1-Alpha", tuple(EVENTS))]
    assert list(read_sessions(tmp_path)) == expected
    assert list(read_sessions(folder)) == expected


def test_events_are_ordered_by_number_and_cached_pages_replace_missing_files(tmp_path: Path) -> None:
    events = numbered(*[run(f"echo {number}") for number in range(6)])
    folder = session(tmp_path / "one", events)
    (folder / "events/3.json").unlink()
    (found,) = read_sessions(folder)
    assert found.broken == f"{folder}: events/3.json is missing."
    (folder / "event_cache").mkdir()
    (folder / "event_cache/0-4.json").write_text(json.dumps(events[:4]))
    (found,) = read_sessions(folder)
    assert [event["id"] for event in found.events] == list(range(12))


def test_runs_of_an_output_file(tmp_path: Path) -> None:
    file = tmp_path / "output.jsonl"
    file.write_text(output_line("3", EVENTS) + "\n" + output_line("9", [], error="Bad\n request") + "{\n" + "[]\n")
    first, second, third, fourth = read_sessions(file)
    assert first == Session("3", tuple(EVENTS))
    assert second == Session("9", ending="Bad request")
    assert third == Session("line 4", broken=f"{file}:4: this is not a run with a 'history', as in output.jsonl.")
    assert fourth.broken == f"{file}:5: this is not a run with a 'history', as in output.jsonl."
    file.write_text(output_line("3", [*EVENTS, {"role": "user"}]))
    assert [each.broken for each in read_sessions(file)] == [
        f"{file}:1: the 'history' has entries that are not OpenHands events."
    ]


def test_a_broken_session_does_not_affect_the_others(tmp_path: Path) -> None:
    session(tmp_path / "a", EVENTS)
    broken = session(tmp_path / "b", EVENTS) / "events/1.json"
    session(tmp_path / "c", [])
    for content in (b"[", b"\xff", b"[" * 100_000, b"{}", b"null"):
        broken.write_bytes(content)
        good, bad, empty = read_sessions(tmp_path)
        assert good == Session("a", tuple(EVENTS))
        assert bad == Session("b", broken=f"{broken}: this is not an OpenHands event.")
        assert empty == Session("c", broken=f"{tmp_path / 'c'}: it has no events.")


def test_sizes_and_numbers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = session(tmp_path / "one", EVENTS)
    file = tmp_path / "output.jsonl"
    file.write_text(output_line("1", EVENTS))
    for name, reason in (
        ("MAX_EVENT_BYTES", "this event or the whole session is too large."),
        ("MAX_SESSION_BYTES", "this event or the whole session is too large."),
        ("MAX_EVENTS", "more than 2 events."),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(sessions, name, 2)
            (found,) = read_sessions(folder)
            assert found.broken.endswith(reason)
    monkeypatch.setattr(sessions, "MAX_EVENTS", 3)
    assert [each.broken for each in read_sessions(file)] == [f"{file}:1: more than 3 events."]
    monkeypatch.setattr(sessions, "MAX_SESSION_BYTES", 50)
    with pytest.raises(SessionsError, match="the line is larger than 50 bytes"):
        list(read_sessions(file))
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 0)
    with pytest.raises(SessionsError, match="holds 1 sessions; at most 0 are read"):
        list(read_sessions(folder))


def test_a_place_without_sessions_is_named(tmp_path: Path) -> None:
    with pytest.raises(SessionsError, match=rf"^{tmp_path} holds no sessions: expected <session>/events/0.json"):
        list(read_sessions(tmp_path))
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(SessionsError, match=r"empty.jsonl is empty\.$"):
        list(read_sessions(tmp_path / "empty.jsonl"))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "action", "observation", "history", "instance_id", "source"]), inner)
    ),
    max_leaves=8,
)
_BYTES = st.binary(max_size=40) | _JSON.map(lambda value: json.dumps(value).encode())


@settings(max_examples=examples(300))
@given(contents=st.lists(_BYTES, min_size=1, max_size=3), line=_BYTES)
def test_any_files_are_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], line: bytes
) -> None:
    folder = tmp_path_factory.mktemp("session", numbered=True)
    (folder / "events").mkdir()
    for number, content in enumerate(contents):
        (folder / f"events/{number}.json").write_bytes(content)
    (folder / "output.jsonl").write_bytes(line + b"\n")
    for place in (folder, folder / "output.jsonl"):
        found = list(read_sessions(place))
        assert all(each.broken == " ".join(each.broken.split()) for each in found)
        assert all(isinstance(event, dict) for each in found for event in each.events)


def test_upstreams_runs_are_read(shared: Path) -> None:
    found = list(read_sessions(shared / "openhands/gpt4o/output.jsonl"))
    assert (len(found), [each for each in found if each.broken]) == (23, [])
    assert [each.name for each in found if each.ending] == ["9", "15", "7", "31", "8", "2"]
    (dpo,) = [each for each in found if each.name == "1"]
    assert [each.rsplit("/", 1)[1] for each in paths_of(dpo.events)] == ["trainers.py", "trainers.py"]
