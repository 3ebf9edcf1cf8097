"""``manage.py storage``: show what the content store keeps, and check it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.domain.bucket import StorageUnavailableError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from benchmark_tasks.domain.garbage import Blob, Comparison


class Command(BaseCommand):
    """List the stored files by what names them. Ends with 1 if one is missing or damaged."""

    help = "Show what the content store keeps, by kind, and what is missing; --verify reads every file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the full check."""
        parser.add_argument("--verify", action="store_true", help="read every file and compare it with its digest")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the table. Raises CommandError for missing or damaged files, or a bucket that does not answer."""
        self.stdout.write(f"Files are stored in {content.where()}\n")
        try:
            found = garbage.compare()
            damaged = self._damaged(found) if options["verify"] else []
        except StorageUnavailableError as error:
            raise CommandError(str(error)) from None
        self._print(found)
        try:
            garbage.require_own_store()
        except garbage.ForeignStoreError as error:
            self.stderr.write(str(error))
        if options["verify"]:
            self.stdout.write(f"Files that have their digests: {len(found.named) - len(damaged)}")
        wrong = [f"missing: {name} {_key(blob)}" for blob, name in found.missing.items()]
        wrong += [f"damaged: {name} {_key(blob)}" for blob, name in damaged]
        if wrong:
            listed = "\n  ".join(sorted(wrong))
            msg = (
                f"These files are missing or damaged:\n  {listed}\n"
                "Restore them from a backup of the content store; for the files of a task, import its suite again."
            )
            raise CommandError(msg)

    def _damaged(self, found: Comparison) -> list[tuple[Blob, str]]:
        return [(each.blob, name) for each, name in found.named.items() if not _is_whole(each.blob)]

    def _print(self, found: Comparison) -> None:
        sizes = defaultdict(list)
        for each, name in found.named.items():
            sizes[name].append(each.size)
        rows = [*sorted(sizes.items()), ("named by no row", [each.size for each in found.unnamed])]
        for name, found_sizes in rows:
            total = content.size_text(sum(found_sizes))
            self.stdout.write(f"  {name:30} {len(found_sizes):7} {total:>10}")


def _is_whole(blob: Blob) -> bool:
    try:
        return content.is_whole(*blob)
    except OSError:  # of the disk, or it has just been removed
        return False


def _key(blob: Blob) -> str:
    return content.key_of(*blob)
