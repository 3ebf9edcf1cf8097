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
        return _bash("ls")
    if task is None:
        return _bash("submit")
    wrong = textwrap.indent(textwrap.dedent(task.wrong), "    " if task.class_name else "")
    edit = EDIT.format(path=task.goal_file, old=task.masked, new=wrong if how == "wrong" else task.golden)
    commands = [
        f"cat {task.goal_file}",
        f"python3 - <<'END'\n{edit}\nEND",
        f'python3 -c "{CHECK.format(path=task.goal_file)}"',
        "submit",
    ]
    if step >= len(commands):
        return Answer("That was all.")
    return _bash(commands[step], thinking="One step after the other." if step == 0 else "")


def _bash(command: str, thinking: str = "") -> Answer:
    return Answer("", (Call("bash", json.dumps({"command": command})),), thinking=thinking)
