"""Events and files of OpenHands' sessions, as its editor and shell write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Event = dict[str, Any]


def shown(text: str, first: int = 1) -> str:
    """Return lines as ``cat -n`` numbers them."""
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(text.split("\n"), start=first))


def edit(path: str, command: str, report: str = "", **arguments: Any) -> list[Event]:
    """Return an edit and its observation; an empty ``report`` is a success that shows no line."""
    args = {"path": path, "command": command, "old_str": None, "new_str": None, "insert_line": None, **arguments}
    content = report or f"The file {path} has been edited. Here's the result of running `cat -n` on a snippet:\n"
    return [action("edit", args), {"observation": "edit", "content": content, "extras": {}}]


def reading(path: str, text: str) -> list[Event]:
    content = f"Here's the result of running `cat -n` on {path}:\n{shown(text)}\n"
    return [action("read", {"path": path}), {"observation": "read", "content": content, "extras": {}}]


def run(command: str, exit_code: int = 0) -> list[Event]:
    extras = {"metadata": {"exit_code": exit_code}}
    return [action("run", {"command": command}), {"observation": "run", "content": "", "extras": extras}]


def action(name: str, args: dict[str, Any]) -> Event:
    return {"source": "agent", "action": name, "args": args}


def numbered(*pairs: Sequence[Event], began: str = "2025-05-16T01:00:00") -> list[Event]:
    """Number the events; an observation names the event before it as its cause."""
    events = [dict(event) for pair in pairs for event in pair]
    for number, event in enumerate(events):
        event |= {"id": number, "timestamp": began}
        if "observation" in event:
            event["cause"] = number - 1
    return events


def session(folder: Path, events: Sequence[Event]) -> Path:
    """Write one file for each event below ``folder``, and return ``folder``."""
    (folder / "events").mkdir(parents=True)
    for event in events:
        (folder / "events" / f"{event['id']}.json").write_text(json.dumps(event))
    return folder


def output_line(name: str, events: Sequence[Event], **more: Any) -> str:
    """Return a line of ``output.jsonl``, whose history is pairs."""
    pairs = [list(events[place : place + 2]) for place in range(0, len(events), 2)]
    return json.dumps({"instance_id": name, "history": pairs, "metrics": {}, "error": None, **more}) + "\n"
