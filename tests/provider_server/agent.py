"""Pretended agents: a scripted sequence of tool calls; what comes next follows from how many turns there have been."""

from __future__ import annotations

import json
import textwrap

from tests.provider_server.knowledge import Known
from tests.provider_server.types import Answer, Call

CHECK = "import ast, pathlib; ast.parse(pathlib.Path({path!r}).read_text()); print('it parses')"
EDIT = "import pathlib\nfile = pathlib.Path({path!r})\nfile.write_text(file.read_text().replace({old!r}, {new!r}))"


def next_turn(how: str, task: Known | None, step: int) -> Answer:
    """The turn number ``step`` (from 0) of the agent named ``agent-<how>`` on a task."""
    if how == "wanders":
        return Answer("", (bash("ls"),))
    if task is None:
        return Answer("", (bash("submit"),))
    if how == "talks":
        return Answer("Let me think about where to begin.") if step == 0 else next_turn("solves", task, step - 1)
    if how == "bad-calls":
        return _bad_call(step) or next_turn("solves", task, step - 3)
    turns = _plan(task, task.golden if how != "wrong" else _wrong(task))
    if how == "two-at-once":
        turns = [(*turns[0], *turns[1]), (*turns[2], *turns[3])]
    if step >= len(turns):
        return Answer("That was all.")
    return Answer("", turns[step], thinking="One step after the other." if step == 0 else "")


def bash(command: str) -> Call:
    """A tool call with proper arguments."""
    return Call("bash", json.dumps({"command": command}))


def _plan(task: Known, solution: str) -> list[tuple[Call, ...]]:
    edit = EDIT.format(path=task.goal_file, old=task.masked, new=solution)
    return [
        (bash(f"cat {task.goal_file}"),),
        (bash(f"python3 - <<'END'\n{edit}\nEND"),),
        (bash(f'python3 -c "{CHECK.format(path=task.goal_file)}"'),),
        (bash("submit"),),
    ]


def _bad_call(step: int) -> Answer | None:
    calls = [
        Call("browse", json.dumps({"address": "https://example.org/"})),
        Call("bash", '{"command": "ls'),
        Call("bash", json.dumps({"command": 7})),
    ]
    return Answer("", (calls[step],)) if step < len(calls) else None


def _wrong(task: Known) -> str:
    indent = "    " if task.class_name else ""
    return textwrap.indent(textwrap.dedent(task.wrong), indent)
