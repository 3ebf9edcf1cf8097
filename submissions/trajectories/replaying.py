"""Replay the edits of an OpenHands session on a repository's files. Does not use Django.

OpenHands' editor reports each edit with the file's new lines, and each reading with the lines read. Every such report
is compared with the replayed file, so a change by a command that cannot be replayed is noticed: the file is in doubt.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Event: TypeAlias = Mapping[str, Any]

MAX_FILE_CHARACTERS: Final = 4_000_000
_SHOWN_LINE: Final = re.compile(r" *([0-9]{1,7})\t(.*)")
_CLIPPED: Final = re.compile(r"\[\.\.\. Observation truncated|<response clipped>")
_WRITES_IN_PYTHON: Final = re.compile(
    r"\bopen\([^)\n]*,\s*(?:mode\s*=\s*)?['\"][rbt]*[wax+]|\.write_(?:text|bytes)\(|^[!%]", re.MULTILINE
)
_WRITES: Final = re.compile(
    r"\b(?:sed|perl)\b[^|;\n]*\s-[a-zA-Z]*i|\b(?:tee|patch|apply_patch)\b|\bgit\s+(?:apply|checkout|restore|reset|stash)\b|"
    r"(?:^|[;&|]\s*)(?:mv|cp|rm|dd|truncate)\s|(?<![<>=\d&-])>>?\s*[\w./~\"'$]|" + _WRITES_IN_PYTHON.pattern,
    re.MULTILINE,
)
_NO_FILE: Final = re.compile(r"[12&]?>>?\s*(?:/dev/null|&[12])")
_UNDONE_AT_MOST: Final = 10
"""The editor can undo this many edits of a file."""
_LONGEST_COMMAND: Final = 10_000
_NOT_FOUND: Final = 127
"""The shell's exit code for an unknown command."""
_SED: Final = re.compile(
    r"sed -i '(?P<first>[1-9][0-9]{0,6})(?:(?:,(?P<last>[0-9]{1,7}))?d|i(?P<text>(?:[^'\\]|\\n)*))' (?P<path>[\w./-]+)"
)


@dataclass(slots=True)
class Replay:
    """The files after a session: repository path to new text, for the files that it edited.

    ``applied`` and ``refused`` count the edits that the editor carried out and those that it refused; ``outside`` those
    of files outside the repository. ``commands`` are the numbers of events whose commands may have written files.
    ``doubts`` are the first contradictions between reports and replayed files, by path. ``differing`` are files whose
    masked version is another than the one that the session began with.
    """

    files: dict[str, str] = field(default_factory=dict)
    applied: int = 0
    refused: int = 0
    outside: int = 0
    commands: list[str] = field(default_factory=list)
    doubts: dict[str, str] = field(default_factory=dict)
    edited: set[str] = field(default_factory=set)
    differing: set[str] = field(default_factory=set)

    @property
    def doubt(self) -> str:
        """Return the first contradiction about a file that the session edited, or an empty text."""
        return next((text for path, text in self.doubts.items() if path in self.edited), "")


class _ContradictionError(Exception):
    """A report contradicts the replayed file."""


def paths_of(events: Sequence[Event]) -> Iterator[str]:
    """Yield the paths that the agent edited, then those that it read."""
    for kinds in (("edit", "write"), ("read",)):
        for event in events:
            if event.get("action") in kinds:
                yield _text(_mapping(event.get("args")).get("path"))


def replay(events: Sequence[Event], *, place_of: Callable[[str], str], masked: Callable[[str], str | None]) -> Replay:
    """Replay a session's edits.

    ``place_of`` converts an absolute path of the agent's machine to a repository path, or to an empty text if it is
    outside; ``masked`` returns the masked file at a repository path, or None if there is none.
    """
    replayer = _Replayer(place_of, masked)
    reports = _reports(events)
    for place, event in enumerate(events):
        number = event.get("id")
        name, report = str(number if isinstance(number, int) else place), reports.get(place, {})
        if event.get("action") in ("run", "run_ipython") and event.get("source") == "agent":
            replayer.command(name, event, report)
        elif event.get("action") in ("edit", "write", "read"):
            replayer.editor(name, event, report)
    return replayer.found


class _Replayer:
    """The state of a replay: the result so far, and each file's texts before its edits, for undoing them."""

    def __init__(self, place_of: Callable[[str], str], masked: Callable[[str], str | None]) -> None:
        self.found = Replay()
        self._place_of, self._masked = place_of, masked
        self._earlier: defaultdict[str, deque[str | None]] = defaultdict(lambda: deque(maxlen=_UNDONE_AT_MOST))

    def editor(self, name: str, event: Event, report: Event) -> None:
        """Replay an event of the editor, and compare the file with its report."""
        found, arguments = self.found, _mapping(event.get("args"))
        is_edit, path = event["action"] != "read", self._place_of(_text(arguments.get("path")))
        content = _text(report.get("content"))
        if report.get("observation") != event["action"] or content.startswith("ERROR"):
            found.refused += is_edit
            return
        if not path:
            found.outside += is_edit
            return
        found.applied += is_edit
        text, shown = self._file(path), _shown_lines(content)
        try:
            if is_edit:
                found.edited.add(path)
                text = self._after(event, path, text, keeps_tabs=any("\t" in line for _, line in shown))
                self._keep(path, text)
            self._compare(path, text, shown)
        except _ContradictionError as contradiction:
            found.doubts.setdefault(path, f"event {name}, {path}: {contradiction}")

    def command(self, name: str, event: Event, report: Event) -> None:
        """Replay a command that deletes or inserts lines with sed; note any other that may write files."""
        arguments, in_python = _mapping(event.get("args")), event["action"] == "run_ipython"
        command = _text(arguments.get("code" if in_python else "command"))
        exit_code = _mapping(_mapping(report.get("extras")).get("metadata")).get("exit_code")
        if exit_code == _NOT_FOUND or not _may_write(command, in_python=in_python):
            return
        parts = [_SED.fullmatch(part) for part in command.strip().split(" && ")]
        edits = [(path, part) for part in parts if part and (path := self._place_of(part["path"]))]
        if exit_code != 0 or len(edits) < len(parts):
            self.found.commands.append(name)
            return
        for path, part in edits:
            text = self._file(path)
            self.found.applied += 1
            self.found.edited.add(path)
            self._keep(path, text and _after_sed(text, part))

    def _file(self, path: str) -> str | None:
        return self.found.files.get(path, self._masked(path))

    def _after(self, event: Event, path: str, before: str | None, *, keeps_tabs: bool) -> str | None:
        """Return the file after one edit. Raises _ContradictionError if the file cannot have been as replayed."""
        arguments = _mapping(event.get("args"))
        command = "write" if event["action"] == "write" else _text(arguments.get("command"))
        if command == "undo_edit":
            if not self._earlier[path]:
                raise _ContradictionError("an edit is undone that was not replayed")
            return self._earlier[path].pop()
        if command == "insert" and path in self.found.differing:
            raise _ContradictionError("it inserts by line number, and the masked file here is not the session's")
        after = _edited(command, arguments, before, keeps_tabs)
        self._earlier[path].append(before)
        return after

    def _keep(self, path: str, text: str | None) -> None:
        if text is not None and len(text) > MAX_FILE_CHARACTERS:
            self.found.doubts.setdefault(path, f"{path} has more than {MAX_FILE_CHARACTERS} characters")
            return
        if text is None:
            self.found.files.pop(path, None)
        else:
            self.found.files[path] = text

    def _compare(self, path: str, text: str | None, shown: list[tuple[int, str]]) -> None:
        """Raise _ContradictionError if a shown line differs from ``text``, apart from tabs and spaces at its end."""
        lines = [] if text is None else text.split("\n")
        for number, line in shown:
            replayed = lines[number - 1] if 0 < number <= len(lines) else ""
            if path not in self.found.differing and line.expandtabs().rstrip() != replayed.expandtabs().rstrip():
                if path in self.found.edited or self.found.commands:
                    raise _ContradictionError(
                        f"line {number} is not what the session shows: a command changed the file"
                    )
                # Nothing has changed the file yet, so the suite's masked file is another than the session's.
                self.found.differing.add(path)


def _edited(command: str, arguments: Event, before: str | None, keeps_tabs: bool) -> str:
    if command == "create":
        return _text(arguments.get("file_text"))
    if command == "write":
        return _written(arguments, before)
    if before is None:
        raise _ContradictionError("it edits a file that the repository does not have")
    old, new = _text(arguments.get("old_str")), _text(arguments.get("new_str"))
    if not keeps_tabs:
        before, old, new = before.expandtabs(), old.expandtabs(), new.expandtabs()
    if command == "str_replace" and old:
        # The editor tries once more without the white space around both texts.
        for one, other in ((old, new), (old.strip(), new.strip())):
            if one and before.count(one) == 1:
                return before.replace(one, other)
        raise _ContradictionError(f"it replaces a text that the file has {before.count(old)} times")
    line = arguments.get("insert_line")
    if command == "insert" and isinstance(line, int):
        lines = before.split("\n")
        if not 0 <= line <= len(lines):
            raise _ContradictionError(f"it inserts after line {line}, and the file has {len(lines)} lines")
        return "\n".join([*lines[:line], new, *lines[line:]])
    raise _ContradictionError(f"an edit {command[:20]!r} cannot be replayed")


def _written(arguments: Event, before: str | None) -> str:
    """Replace lines ``start`` to ``end`` (from 0; -1 is the end), as OpenHands' action ``write`` does."""
    start, end = arguments.get("start", 0), arguments.get("end", -1)
    content = _text(arguments.get("content"))
    if before is None or (start, end) == (0, -1):
        return content
    if not isinstance(start, int) or not isinstance(end, int):
        raise _ContradictionError("its first and last line are not numbers")
    lines = before.split("\n")
    return "\n".join([*lines[:start], content, *([] if end == -1 else lines[end:])])


def _shown_lines(report: str) -> list[tuple[int, str]]:
    """Return the numbers and texts of the lines in a report that the editor numbered."""
    if "cat -n" not in report.split("\n", 1)[0]:
        return []
    lines = report.split("\n")
    matches = [(place, match) for place, line in enumerate(lines) if (match := _SHOWN_LINE.fullmatch(line))]
    if matches and not matches[-1][1][2]:
        # After an edit, the last line is often an empty one that is not in the file.
        matches.pop()
    # Lines around the place where a long report was cut are incomplete.
    cut = {place + near for place, line in enumerate(lines) if _CLIPPED.search(line) for near in (-1, 0, 1)}
    return [(int(match[1]), match[2]) for place, match in matches if place not in cut]


def _may_write(command: str, *, in_python: bool) -> bool:
    if len(command) > _LONGEST_COMMAND:
        return True
    return bool((_WRITES_IN_PYTHON if in_python else _WRITES).search(_NO_FILE.sub("", command)))


def _after_sed(text: str, part: re.Match[str]) -> str:
    """Delete or insert lines as GNU sed's ``M,Nd`` and ``Ni text`` do."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    first = int(part["first"])
    if part["text"] is None:
        del lines[first - 1 : max(first, int(part["last"] or 0))]
    elif first <= len(lines):
        lines.insert(first - 1, part["text"].lstrip().replace("\\n", "\n") + "\n")
    return "".join(lines)


def _reports(events: Sequence[Event]) -> dict[int, Event]:
    """Return observations by the place of their action, which they name as their cause or directly follow."""
    by_cause: dict[object, Event] = {}
    for event in events:
        if isinstance(event.get("observation"), str) and isinstance(event.get("cause"), int | str):
            by_cause.setdefault(event["cause"], event)
    found: dict[int, Event] = {}
    for place, event in enumerate(events):
        number = event.get("id")
        report = by_cause.get(number) if isinstance(number, int | str) else None
        following = events[place + 1] if place + 1 < len(events) else {}
        if report is None and isinstance(following.get("observation"), str) and following.get("cause") is None:
            report = following
        if report is not None:
            found[place] = report
    return found


def _mapping(value: object) -> Event:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
