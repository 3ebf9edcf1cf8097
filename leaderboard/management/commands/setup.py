"""``manage.py setup``: turn an empty data folder into a board that can be served. Idempotent."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import StringIO, TextIOBase
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import BaseCommand, CommandError, call_command
from django.db.utils import OperationalError

from benchmark_tasks.domain.catalogue import SHIPPED_SUITE
from leaderboard.management.errors import require_whole_database
from leaderboard.settings.environment import unknown_names
from leaderboard.supervision.data_folder import make_private, mark_as_data_folder
from submissions.domain.maintainers import ensure_maintainer

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path

    from django.core.management.base import OutputWrapper

MAINTAINER = "maintainer"


def static_fingerprint() -> str:
    """Return a digest of every static file's name, size and time, and of where and how they are collected.

    Comparing it avoids collecting and compressing all of them, which takes seconds.
    """
    collected = settings.STATIC_ROOT.is_dir()
    digest = hashlib.sha256(f"{settings.STORAGES['staticfiles']['BACKEND']} {collected}\n".encode())
    for finder in get_finders():
        for path, storage in sorted(finder.list([]), key=lambda found: found[0]):
            digest.update(f"{path}\0{_size_and_time(storage, path)}\n".encode())
    return digest.hexdigest()


def _size_and_time(storage: Any, path: str) -> str:
    return f"{storage.size(path)} {storage.get_modified_time(path).timestamp()}"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the set-up.

    If a step that is not ``needed_to_serve`` fails, the board runs but nothing is evaluated. A step with a
    ``fingerprint`` is skipped while its fingerprint is unchanged.
    """

    title: str
    command: tuple[str, ...]
    needed_to_serve: bool = True
    fingerprint: Callable[[], str] | None = None


# The shipped suite only: upstream's tests take hours, so workers audit those.
AUDIT = Step("Audit of the tasks", ("audit_tasks", "--suite", SHIPPED_SUITE), needed_to_serve=False)
STEPS = (
    Step("Database", ("migrate", "--no-input")),
    Step("Shared cache", ("createcachetable",)),
    # --clear: WhiteNoise would keep serving an older version's compressed file beside its changed original.
    Step("Static files", ("collectstatic", "--no-input", "--clear"), fingerprint=static_fingerprint),
    Step("Suites", ("load_catalogue",)),
    Step("Published results", ("load_published",)),
    Step("Environment of the boxes", ("prepare_evaluator",), needed_to_serve=False),
    AUDIT,
    Step("Sample submissions", ("submit_samples",), needed_to_serve=False),
)


class _ProgressBelowTitle(TextIOBase):
    """Writes a step's progress and warnings on separate lines below its title."""

    def __init__(self, stream: OutputWrapper) -> None:
        self._stream = stream
        self.used = False

    def begin(self) -> None:
        """Start a step, whose title has been written without a newline."""
        self.used = False

    def write(self, text: str) -> int:
        """Write and flush."""
        # Most of it is progress, and standard error is red on a terminal.
        self._stream.write(text if self.used else f"\n{text}", style_func=str, ending="")
        self._stream.flush()
        self.used = True
        return len(text)


class Command(BaseCommand):
    """Bring database, static files, catalogue, boxes and the first account up to date."""

    help = "Prepare the data folder: migrate, load the catalogue, prepare the boxes, create the maintainer's account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--no-audit", action="store_true", help="leave the audit of the shipped tasks to the workers, as serve does"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        for warning in filter(None, (*unknown_names(), make_private(settings.DATA_DIR))):
            self.stderr.write(warning)
        require_whole_database()
        self._progress = _ProgressBelowTitle(self.stderr)
        mark_as_data_folder(settings.DATA_DIR)
        # Events such as "the queue does not answer" are meaningless before the instance is started.
        logging.disable(logging.INFO if options["verbosity"] <= 1 else logging.NOTSET)
        try:
            steps = [step for step in STEPS if not (options["no_audit"] and step is AUDIT)]
            evaluation_problem = self._run_steps(steps, options["verbosity"])
        finally:
            logging.disable(logging.NOTSET)
        self._account()
        if evaluation_problem:
            self.stderr.write(
                f"\nThe board works, but NOTHING CAN BE EVALUATED on this machine yet:\n  {evaluation_problem}\n"
                "docs/operating.md lists what sandboxes need. Then run make setup again.\n"
            )

    def _run_steps(self, steps: list[Step], verbosity: int) -> str:
        """Run every step. Return why nothing can be evaluated, or "" if all steps succeeded."""
        evaluation_problem = ""
        for step in steps:
            if evaluation_problem and not step.needed_to_serve:
                self._line(step.title, "skipped")
                continue
            try:
                self._timed(step.title, partial(self._call, step, verbosity))
            except (CommandError, OperationalError) as error:
                self.stdout.write("failed")
                if step.needed_to_serve:
                    msg = f"{step.title} ({' '.join(step.command)}) failed: {error}"
                    raise CommandError(msg) from None
                evaluation_problem = f"{step.title}: {error}"
        return evaluation_problem

    def _call(self, step: Step, verbosity: int) -> None:
        name, *arguments = step.command
        stamp: Path = settings.DATA_DIR / "run" / f"{name}.stamp"
        if step.fingerprint and stamp.exists() and stamp.read_text(encoding="ascii") == step.fingerprint():
            return
        # Long lists of names would bury the important line; -v 2 shows them.
        output = self.stdout if verbosity > 1 else StringIO()
        try:
            call_command(name, *arguments, stdout=output, stderr=self._progress, verbosity=verbosity)
        except SystemExit as ended:
            printed = output.getvalue().strip() if isinstance(output, StringIO) else ""
            msg = f"manage.py {name} ended with exit code {ended.code}\n{printed}"
            raise CommandError(msg.strip()) from None
        if step.fingerprint:
            stamp.parent.mkdir(exist_ok=True)
            stamp.write_text(step.fingerprint(), encoding="ascii")

    def _timed(self, title: str, work: Callable[[], None]) -> None:
        self._line(title, "", ending="")
        self._progress.begin()
        started = time.monotonic()
        work()
        if self._progress.used:
            self._line(title, "", ending="")
        self.stdout.write(f"{time.monotonic() - started:5.1f} s")

    def _line(self, title: str, result: str, *, ending: str = "\n") -> None:
        self.stdout.write(f"{title + ' ':.<34} {result}", ending=ending)
        self.stdout.flush()

    def _account(self) -> None:
        password = ensure_maintainer(username=MAINTAINER)
        if password is not None:
            self.stdout.write(
                f"\nA maintainer's account was created. The password is shown once:\n\n    name      {MAINTAINER}\n"
                f"    password  {password}\n"
            )
