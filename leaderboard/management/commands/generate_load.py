"""``manage.py generate_load``: fill an instance with made-up submissions, to measure it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.content import size_text
from benchmark_tasks.domain.facts_suite import FACTS_SUITE
from leaderboard.load.generating import LoadRefusedError, database_bytes, generate, plan

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Add submissions until there are so many. Refuses an instance with submissions that were not generated."""

    help = "Fill an instance of its own with made-up submissions, to measure it. Nothing removes them again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare number, suite and seed."""
        parser.add_argument("--submissions", type=int, required=True, metavar="N", help="how many there shall be")
        parser.add_argument("--suite", default=FACTS_SUITE, metavar="SLUG", help=f"default: {FACTS_SUITE}")
        parser.add_argument("--seed", type=int, default=0, help="another seed gives other results (default: 0)")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Generate, with a line of progress now and then. Raises CommandError where it is refused."""
        if options["submissions"] < 1:
            msg = "--submissions must be at least 1."
            raise CommandError(msg)
        wanted = {name: options[name] for name in ("suite", "submissions")}
        try:
            todo = plan(**wanted)
            free = (
                "the free space of its server is unknown" if todo.free is None else f"{size_text(todo.free)} are free"
            )
            self.stdout.write(
                f"{todo.wanted - todo.there:,} submissions to add to {todo.there:,}; they need about "
                f"{size_text(todo.bytes)} of disk, and {free}."
            )
            self._begun, self._told, self._first = time.monotonic(), time.monotonic(), todo.there
            before = database_bytes()
            rows = generate(**wanted, seed=options["seed"], progress=self._progress)
        except LoadRefusedError as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            msg = "Interrupted. What is stored is whole; the same command goes on."
            raise CommandError(msg, returncode=130) from None
        seconds, added = time.monotonic() - self._begun, database_bytes() - before
        for name, count in rows.items():
            self.stdout.write(f"{count:>12,}  {name}")
        each = f", {size_text(added // (todo.wanted - todo.there))} a submission" if todo.wanted > todo.there else ""
        self.stdout.write(
            f"{sum(rows.values()):,} rows in {seconds:.0f} s; the database grew by {size_text(added)}{each}."
        )

    def _progress(self, there: int) -> None:
        now = time.monotonic()
        if now - self._told >= 10:
            self._told = now
            rate = (there - self._first) / (now - self._begun)
            self.stdout.write(f"{there:,} submissions, {rate:.0f} a second")
            self.stdout.flush()
