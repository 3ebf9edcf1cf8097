"""``manage.py backup``: save the instance as one archive, while it runs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import size_text
from leaderboard.backup import places
from leaderboard.backup.archive import BackupError
from leaderboard.backup.saving import save
from submissions.domain import endpoint_keys

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from leaderboard.backup.places import Place
    from leaderboard.backup.saving import Summary


class Command(BaseCommand):
    """Write to a file, to standard output, or to the place of ``BACKUPS``, where the oldest ones are removed."""

    help = "Save database and stored files as one archive; the site may go on. restore reads it on either database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the target, what is left out, and the file of keys."""
        parser.add_argument("file", nargs="?", metavar="FILE", help="a new file, or - for standard output (BACKUPS)")
        parser.add_argument("--without-files", action="store_true", help="rows only: the bucket has copies of its own")
        parser.add_argument("--keys", type=Path, metavar="FILE", help="also write SECRET_KEY and ENDPOINT_KEYS there")
        parser.add_argument("--list", action="store_true", help="only list the backups in BACKUPS")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Save, or list. Raises CommandError if nothing was saved."""
        try:
            if options["list"]:
                self._list(self._place())
                return
            if options["keys"] and options["keys"].exists():
                msg = f"{options['keys']} exists. Name a new file for the keys."
                raise CommandError(msg)
            # A service manager stops the command like Ctrl-C, which removes what is not complete.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            summary = self._save(options["file"], files=not options["without_files"])
            if options["keys"]:
                _write_keys(options["keys"])
        except (BackupError, StorageUnavailableError, OSError) as error:
            msg = f"No backup was made: {error}"
            raise CommandError(msg) from None
        except KeyboardInterrupt:
            raise CommandError("No backup was made: it was interrupted.", returncode=130) from None
        if summary.missing:
            listed = "\n  ".join(summary.missing)
            msg = (
                "The backup was made, but these files are missing or damaged in the content store, so it lacks them "
                f"(manage.py storage --verify):\n  {listed}"
            )
            raise CommandError(msg)

    def _save(self, file: str | None, *, files: bool) -> Summary:
        if file == "-":
            summary = save(sys.stdout.buffer, files=files)
            sys.stdout.buffer.flush()
            self.stderr.write(f"Saved {summary}.")
            return summary
        if file is not None:
            path = Path(file).absolute()
            if path.exists():
                msg = f"{path} exists. Name a new file."
                raise CommandError(msg)
            return self._save_at(places.Folder(path.parent), path.name, files=files)
        place = self._place()
        summary = self._save_at(place, places.new_name(), files=files)
        for each in places.remove_oldest(place, keep=settings.ENVIRONMENT.backups_keep):
            self.stdout.write(f"Removed {each.name}: BACKUPS_KEEP={settings.ENVIRONMENT.backups_keep}.")
        return summary

    def _save_at(self, place: Place, name: str, *, files: bool) -> Summary:
        with place.written(name) as stream:
            summary = save(stream, files=files)
        if places.missing_in(place, name) is None:
            msg = f"{name} is not complete in {place.address}."
            raise BackupError(msg)
        self.stdout.write(f"{place.address.rstrip('/')}/{name}: {summary}.")
        return summary

    def _place(self) -> Place:
        place = places.configured()
        if place is None:
            msg = "Name a file, or a folder or bucket for all backups in BACKUPS (docs/configuration.md)."
            raise CommandError(msg)
        return place

    def _list(self, place: Place) -> None:
        found = places.kept(place)
        for each in found:
            size = size_text(each.size)
            made = timezone.localtime(each.made)
            lacking = places.missing_in(place, each.name)
            state = "  INCOMPLETE" if lacking is None else f"  LACKS {lacking} FILES" if lacking else ""
            self.stdout.write(f"{each.name}  {made:%Y-%m-%d %H:%M %Z}  {size:>10}{state}")
        self.stdout.write(f"{len(found)} in {place.address}")


def _write_keys(file: Path) -> None:
    """Write the keys as lines for ``.env``; only the instance's user may read them. Raises OSError."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as target:
        target.write("\n".join([*endpoint_keys.lines_for_env(), ""]))
