"""``manage.py build_images``: make the environments that tasks are measured in."""

from __future__ import annotations

import fcntl
import json
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.left_out import LeftOut, left_out_groups
from benchmark_tasks.domain.queries import current_version, revisions_of
from benchmark_tasks.management.suites import suite_named
from benchmark_tasks.models import Suite, Task
from evaluator.sandbox.building import (
    NUMPY,
    Built,
    Wanted,
    build,
    lacks_numpy,
    matches,
    sandbox_in_use,
    wanted,
)
from evaluator.sandbox.interface import SandboxError
from submissions.answers.contents import task_named

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Iterator


class Command(BaseCommand):
    """Make missing environments; a failure is stored with its log, shown on the tasks' pages, and exits with 1."""

    help = "Build the environment of each runnable task for the sandbox in use (Docker images, or bubblewrap's roots)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--suite", metavar="SUITE", help="only for this suite's tasks")
        parser.add_argument(
            "--task", metavar="PATTERN", type=task_named, help="only for these tasks, such as dpo/1 or 'dpo/*'"
        )
        parser.add_argument("--again", action="store_true", help="also build unchanged environments")
        parser.add_argument("--base-image", metavar="IMAGE", default="", help="instead of the setting BASE_IMAGE")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Build one after the other and report each when it is done."""
        suite = options["suite"]
        if suite:
            suite_named(suite)
        _require_match(suite, options["task"])
        try:
            with _build_lock():
                results, without = self._build_all(options)
        except SandboxError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            report = {
                "environments": [asdict(result) for result in results],
                "without_environment": [{"task": task, "why": why} for task, why in without],
            }
            self.stdout.write(json.dumps(report, indent=2))
        else:
            self._conclude(results, without)
        if any(result.what == "failed" for result in results):
            raise SystemExit(1)

    def _build_all(self, options: dict[str, Any]) -> tuple[list[Built], list[tuple[str, str]]]:
        kind = sandbox_in_use()
        needed, without = wanted(suite=options["suite"], pattern=options["task"])
        if not needed and not without and not options["json"]:
            self._explain_nothing(options["suite"], options["task"])
        if kind == "docker" and lacks_numpy() and not any(one.name == NUMPY for one in needed):
            # The sandbox's own check starts a box of it.
            needed.insert(0, Wanted(NUMPY, (), None))
        results = []
        for one in needed:
            if not options["json"]:
                self.stdout.write(f"{one.name} for {kind}, {_count(len(one.tasks), 'task')} … ", ending="")
                self.stdout.flush()
            results.append(build(one, kind=kind, base_image=options["base_image"], again=options["again"]))
            if not options["json"]:
                self.stdout.write(_line(results[-1]))
        return results, without

    def _explain_nothing(self, suite: str | None, pattern: str | None) -> None:
        """Print each reason once, with the tasks that cannot run for it."""
        suites = Suite.objects.filter(slug=suite) if suite else Suite.objects.all()
        versions = filter(None, map(current_version, suites))
        left_out: list[LeftOut] = [
            {"task": revision.task.slug, "why": revision.why_left_out}
            for version in versions
            for revision in revisions_of(version)
            if matches(f"{version.suite.slug}/{revision.task.slug}", revision.task.slug, pattern)
        ]
        self.stdout.write("Nothing to build: none of these tasks can be run.")
        for reasons in left_out_groups(left_out).values():
            for reason, tasks in reasons.items():
                self.stdout.write(f"  {reason}: {', '.join(tasks)}")

    def _conclude(self, results: list[Built], without: list[tuple[str, str]]) -> None:
        for task, why in without:
            self.stdout.write(f"left out: {why if task in why else f'{task}: {why}'}")
        failed = [result for result in results if result.what == "failed"]
        self.stdout.write(f"{_count(len(results), 'environment')}, {len(failed)} failed.")
        if failed:
            tasks = sum(len(result.tasks) for result in failed)
            self.stdout.write(f"{_count(tasks, 'task')} cannot be measured; their pages show the builds' logs.")


def _require_match(suite: str | None, pattern: str | None) -> None:
    """Raise CommandError for a pattern that matches no task at all, which is a typo and not "nothing to do"."""
    tasks = Task.objects.select_related("suite", "paper")
    if suite:
        tasks = tasks.filter(suite__slug=suite)
    if pattern is not None and not any(matches(f"{task.suite.slug}/{task.slug}", task.slug, pattern) for task in tasks):
        of = f" of {suite}" if suite else ""
        raise CommandError(f"No task{of} matches {pattern!r}; tasks are written as {_example(tasks)}.")


def _example(tasks: Iterable[Task]) -> str:
    task = next((task.slug for task in tasks), "dpo/1")
    return f"{task} or '{task.rpartition('/')[0]}/*'"


@contextmanager
def _build_lock() -> Iterator[None]:
    """Hold a lock, since two builds at the same time would make the same things twice."""
    folder = Path(settings.DATA_DIR) / "run"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "build_images.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CommandError("Another build_images is running on this data folder; wait until it ends.") from None
        yield


def _line(result: Built) -> str:
    if result.what == "failed":
        end = "".join(f"\n    {line}" for line in result.log_end.splitlines())
        return f"FAILED after {result.seconds:.0f} s: {result.why}{end}"
    # The names used on pages: /status/ shows an environment's source, a measured answer its environment.
    digests = f"source {result.source[:12]}, environment {result.digest.removeprefix('sha256:')[:12]}"
    return f"unchanged ({digests})" if result.what == "unchanged" else f"built in {result.seconds:.0f} s ({digests})"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
