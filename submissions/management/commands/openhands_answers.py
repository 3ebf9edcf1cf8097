"""``manage.py openhands_answers``: make an output tree from OpenHands' sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.content import ContentMissingError
from benchmark_tasks.domain.facts_suite import FACTS_SUITE
from submissions.answers.session_answers import answers_of_sessions
from submissions.domain.uploads import open_versions, task_files
from submissions.trajectories.sessions import SessionsError, read_sessions

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from submissions.answers.contents import TaskFiles
    from submissions.answers.session_answers import SessionAnswer


class Command(BaseCommand):
    """Replay the edits of OpenHands' sessions on the masked repositories of a suite."""

    help = "Make an output tree, which submit takes, from OpenHands' sessions. Exits with 1 if there is no answer."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add options for the sessions, the suite and the tree."""
        parser.add_argument(
            "sessions", type=Path, help="a folder of sessions (file_store/sessions), or an output.jsonl"
        )
        parser.add_argument("--suite", default=FACTS_SUITE, help="the suite's slug")
        parser.add_argument("--out", type=Path, metavar="TREE", help="write the output tree to this new folder")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Replay, write the tree, and print a line for each session."""
        place: Path = options["sessions"]
        tree: Path | None = options["out"]
        if not (place.is_file() or place.is_dir()):
            msg = f"{place} is not a file or a folder."
            raise CommandError(msg)
        if tree is not None and tree.exists():
            msg = f"{tree} exists already; name a new folder."
            raise CommandError(msg)
        tasks = _tasks(options["suite"])
        try:
            found = answers_of_sessions(list(read_sessions(place)), tasks, suite=options["suite"])
        except SessionsError as error:
            raise CommandError(str(error)) from None
        answers = sum(len(each.tasks) for each in found)
        if tree is not None and answers:
            _write(tree, found)
        if options["json"]:
            self.stdout.write(json.dumps({"answers": answers, "sessions": [each.as_data() for each in found]}))
        else:
            for each in found:
                self.stdout.write(each.line())
            sessions = f"{len(found)} session{'' if len(found) == 1 else 's'}"
            self.stdout.write(f"{answers} answer{'' if answers == 1 else 's'} from {sessions}")
        if not answers:
            raise SystemExit(1)


def _tasks(suite: str) -> dict[str, TaskFiles]:
    versions = open_versions()
    if suite not in versions:
        known = f"Suites with code: {', '.join(versions)}." if versions else "No suite has code."
        msg = f"There is no suite {suite!r} with imported code. {known}"
        raise CommandError(msg)
    try:
        return task_files(versions[suite])
    except ContentMissingError as error:
        raise CommandError(str(error)) from None


def _write(tree: Path, found: Sequence[SessionAnswer]) -> None:
    try:
        for each in found:
            for path, content in each.files.items():
                file = tree / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
    except OSError as error:
        msg = f"{tree} cannot be written: {error.strerror or error}."
        raise CommandError(msg) from None
