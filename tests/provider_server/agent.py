"""Pretended agents: a scripted sequence of tool calls; what comes next follows from how many turns there have been."""

from __future__ import annotations

import json
import textwrap

from tests.provider_server.knowledge import Known
from tests.provider_server.types import Answer, Call

CHECK = "import ast, pathlib; ast.parse(pathlib.Path({path!r}).read_text()); print('it parses')"


def next_turn(how: str, task: Known | None, step: int) -> Answer:
    """The turn number ``step`` (from 0) of the agent named ``agent-<how>`` on a task."""
    if how == "wanders":
        return Answer("", (call("run", command="ls", seconds=5),))
    if task is None:
        return Answer("", (call("finish", summary="There is no task here that I know."),))
    if how == "talks":
        return Answer("Let me think about where to begin.") if step == 0 else next_turn("solves", task, step - 1)
    if how == "bad-calls":
        return _bad_call(task, step) or next_turn("solves", task, step - 3)
    turns = _plan(task, task.golden if how != "wrong" else _wrong(task))
    if how == "two-at-once":
        turns = [(*turns[0], *turns[1]), (*turns[2], *turns[3]), turns[4]]
    if step >= len(turns):
        return Answer("That was all.")
    return Answer("", turns[step], thinking="One step after the other." if step == 0 else "")


def call(name: str, **arguments: str | int) -> Call:
    """A tool call with proper arguments."""
    return Call(name, json.dumps(arguments))


def _plan(task: Known, solution: str) -> list[tuple[Call, ...]]:
    check = f'python3 -c "{CHECK.format(path=task.goal_file)}"'
    return [
        (call("read", path=task.goal_file, first_line=0, last_line=0),),
        (call("think", thought=f"The body of {task.goal_function} is missing; the paper says what belongs there."),),
        (call("edit", path=task.goal_file, old=task.masked, new=solution),),
        (call("run", command=check, seconds=20),),
        (call("finish", summary=f"{task.goal_function} is implemented."),),
    ]


def _bad_call(task: Known, step: int) -> Answer | None:
    calls = [
        call("browse", address="https://example.org/"),
        Call("read", '{"path": "' + task.goal_file),
        Call("read", json.dumps({"path": 7, "first_line": "one", "last_line": None})),
    ]
    return Answer("", (calls[step],)) if step < len(calls) else None


def _wrong(task: Known) -> str:
    indent = "    " if task.class_name else ""
    return textwrap.indent(textwrap.dedent(task.wrong), indent)
