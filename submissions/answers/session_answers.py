"""Make an output tree from OpenHands' sessions: replay each session's edits on its paper's masked repository.

Does not use Django. A paper takes one session: the one that is named like it, or else the one that began last.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from submissions.answers.contents import by_paper, paper_slug
from submissions.answers.protection import is_protected_name, unsafe_name
from submissions.answers.tree_answers import TreeFolder, answers_of
from submissions.answers.trees import read_tree
from submissions.trajectories.replaying import MAX_FILE_CHARACTERS, Replay, paths_of, replay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from submissions.answers.contents import TaskFiles
    from submissions.trajectories.sessions import Session


@dataclass(frozen=True, slots=True)
class SessionAnswer:
    """The result of one session: the ``tasks`` that it answers, or ``why`` it answers none.

    ``paper`` is empty if it is unknown. ``files`` are those of the output tree: path below it to content.
    """

    session: str
    paper: str = ""
    tasks: tuple[str, ...] = ()
    why: str = ""
    replay: Replay = field(default_factory=Replay)
    files: Mapping[str, bytes] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """Return it as JSON data, without the files."""
        found = self.replay
        counts = {"applied": found.applied, "refused": found.refused, "outside": found.outside}
        facts = {"session": self.session, "paper": self.paper, "tasks": list(self.tasks), "why": self.why}
        return {**facts, "edits": counts, "commands": list(found.commands)}

    def line(self) -> str:
        """Return one line for the report."""
        found = self.replay
        pieces = [f"{_count(found.applied, 'edit')} applied"]
        pieces += [f"{found.refused} refused by the editor"] if found.refused else []
        pieces += [f"{found.outside} outside the repository, left out"] if found.outside else []
        if found.differing & found.edited:
            names = ", ".join(sorted(found.differing & found.edited))
            pieces.append(f"the suite's masked file is another than the session's: {names}")
        if found.commands:
            pieces.append(f"commands that may also have changed files, not replayed: event {', '.join(found.commands)}")
        answer = ", ".join(self.tasks) or f"no answer, {self.why}"
        return f"{self.session}: {answer}" + (f" ({'; '.join(pieces)})" if found != Replay() else "")


def answers_of_sessions(
    sessions: Sequence[Session], tasks: Mapping[str, TaskFiles], *, suite: str
) -> list[SessionAnswer]:
    """Return the result of each session, given the tasks of ``suite`` by slug."""
    papers = [_Paper(slug, of_paper) for slug, of_paper in by_paper(tasks).items()]
    owners = [_paper_of(session, papers) for session in sessions]
    chosen: dict[str, int] = {}
    for place, (session, owner) in enumerate(zip(sessions, owners, strict=True)):
        if owner and (owner.slug not in chosen or owner.rank(session) >= owner.rank(sessions[chosen[owner.slug]])):
            chosen[owner.slug] = place
    found = []
    for place, (session, owner) in enumerate(zip(sessions, owners, strict=True)):
        if session.broken or owner is None:
            why = session.broken or f"its paths name no paper of {suite!r}"
            found.append(SessionAnswer(session.name, why=why))
        elif place != chosen[owner.slug]:
            other = sessions[chosen[owner.slug]].name
            found.append(SessionAnswer(session.name, owner.slug, why=f"the session {other} was taken for {owner.slug}"))
        else:
            found.append(owner.answer(session))
    return found


class _Paper:
    """A paper of the suite, with its tasks by slug."""

    def __init__(self, slug: str, tasks: Mapping[str, TaskFiles]) -> None:
        any_task = next(iter(tasks.values()))
        self.slug, self.tasks = slug, tasks
        self.folder, self.repository = any_task.paper_folder, any_task.repository_folder
        self.opened = [task for task in tasks.values() if not task.closed]
        self._regular: dict[Path, set[str]] = {}

    def is_named(self, name: str) -> bool:
        """Return whether a session with this name is the paper's, by its folder or its upstream number."""
        number = self.folder.partition("-")[0].lstrip("0")
        return paper_slug(name) == self.slug or (bool(number) and name.lstrip("0") == number)

    def rank(self, session: Session) -> tuple[bool, str]:
        """Return a key: the session with the greatest is the paper's."""
        began = session.events[0].get("timestamp") if session.events else ""
        return self.is_named(session.name), began if isinstance(began, str) else ""

    def place_of(self, path: str) -> str:
        """Convert a path of the agent's machine to a repository path; empty if it is outside the repository."""
        parts = posixpath.normpath(path).split("/")
        for at, part in enumerate(parts):
            if part == self.repository and at and paper_slug(parts[at - 1]) == self.slug:
                return _safe("/".join(parts[at + 1 :]))
        return _safe("/".join(parts[parts.index(self.repository) + 1 :])) if self.repository in parts else ""

    def masked(self, path: str) -> str | None:
        """Return the masked file with Unix line ends, as editors read it; None if there is none, or it is not text."""
        for task in self.opened:
            if task.repository not in self._regular:
                entries = read_tree(task.repository).entries
                self._regular[task.repository] = {name for name, entry in entries.items() if entry.is_regular}
            file = task.repository / path
            if path in self._regular[task.repository] and file.stat().st_size <= MAX_FILE_CHARACTERS:
                try:
                    return file.read_bytes().decode().replace("\r\n", "\n").replace("\r", "\n")
                except UnicodeDecodeError:
                    return None
        return None

    def answer(self, session: Session) -> SessionAnswer:
        """Replay the session."""
        if not self.opened:
            reasons = "; ".join(dict.fromkeys(task.closed for task in self.tasks.values()))
            return SessionAnswer(session.name, self.slug, why=f"its task accepts none ({reasons})")
        found = replay(session.events, place_of=self.place_of, masked=self.masked)
        blank = SessionAnswer(session.name, self.slug, replay=found)
        if not found.applied:
            ended = "it ended before its first edit"
            if found.refused or found.outside:
                ended = (
                    "all its edits are outside the repository" if found.outside else "the editor refused all its edits"
                )
            return replace(blank, why=f"{ended}: {session.ending}" if session.ending else ended)
        if found.doubt:
            return replace(blank, why=f"its edits cannot be replayed: {found.doubt}")
        goals = {task.goal.file for task in self.opened}
        texts = {goal: self.masked(goal) or "" for goal in goals} | found.files
        files = {path: text.encode("utf-8", "replace") for path, text in texts.items()}
        changed = {path: files[path] for path in found.files if path in goals or not is_protected_name(path)}
        answers, _ = answers_of(TreeFolder(place=self.slug, changed=changed, protected={}), self.tasks)
        if not answers:
            return replace(blank, why="its edits leave the goals as they are masked")
        place = f"{self.folder}/{self.repository}"
        return replace(
            blank,
            tasks=tuple(answer.task for answer in answers),
            files={f"{place}/{path}": content for path, content in sorted(files.items())},
        )


def _paper_of(session: Session, papers: Sequence[_Paper]) -> _Paper | None:
    """Return the paper in whose repository the session edited or read most files, or else the one it is named after."""
    counts: Counter[str] = Counter()
    for path in paths_of(session.events):
        counts.update(folder for folder in map(paper_slug, path.split("/")[:-1]) if folder)
    inside = max(papers, key=lambda paper: counts[paper.slug], default=None)
    if inside is not None and counts[inside.slug]:
        return inside
    return next((paper for paper in papers if paper.is_named(session.name)), None)


def _safe(path: str) -> str:
    """Return the path if it can be a repository file's, else an empty text."""
    return "" if unsafe_name(path) or ".." in path.split("/") else path


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
