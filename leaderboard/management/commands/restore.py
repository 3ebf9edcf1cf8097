"""``manage.py restore``: restore a backup into an empty instance, or check that it can be restored."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.bucket import NoObjectError, StorageUnavailableError
from leaderboard.backup import places
from leaderboard.backup.archive import BackupError
from leaderboard.backup.saving import check, restore
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.data_folder import mark_as_data_folder, only_instance
from submissions.domain import endpoint_keys, second_factor

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

_NEWEST: Final = "newest"


class Command(BaseCommand):
    """Read an archive of ``manage.py backup``, whichever database it was made from."""

    help = "Restore a backup into an empty database and the content store; --check only reads all of it."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the archive."""
        parser.add_argument("file", metavar="FILE", help="a file, - for standard input, a name in BACKUPS, or newest")
        parser.add_argument("--check", action="store_true", help="read and compare everything, and store nothing")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Restore or check. Raises CommandError; then the database is empty as before."""
        try:
            with _opened(options["file"]) as stream:
                if options["check"]:
                    self._check(stream)
                    return
                with only_instance(settings.DATA_DIR):
                    mark_as_data_folder(settings.DATA_DIR)
                    self.stdout.write(f"Restored {restore(stream)}.")
        except KeyboardInterrupt:
            raise CommandError("Nothing was restored: it was interrupted.", returncode=130) from None
        except (BackupError, StorageUnavailableError, SupervisionError, NoObjectError, OSError) as error:
            raise CommandError(str(error)) from None
        for endpoint in endpoint_keys.unreadable():
            self.stderr.write(
                f"The key of endpoint {endpoint} cannot be read here: put the old instance's ENDPOINT_KEYS into .env, "
                "or let its owner enter it again."
            )
        for username in second_factor.unreadable():
            self.stderr.write(
                f"The second factor of {username} cannot be read here: put the old instance's ENDPOINT_KEYS into .env, "
                f"or remove it: manage.py second_factor {username} --remove."
            )
        self.stdout.write("Run make setup (or manage.py setup) next, and manage.py storage --verify.")

    def _check(self, stream: IO[bytes]) -> None:
        summary = check(stream)
        if summary.missing:
            listed = "\n  ".join(summary.missing)
            msg = f"The backup can be restored ({summary}), but it lacks these stored files:\n  {listed}"
            raise CommandError(msg)
        self.stdout.write(f"The backup is whole: {summary}.")


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """Open an archive by its path, or by its name in ``BACKUPS``. Raises CommandError, OSError."""
    if name == "-":
        yield sys.stdin.buffer
        return
    if Path(name).is_file():
        with Path(name).open("rb") as file:
            yield file
        return
    place = places.configured()
    found = [each.name for each in places.kept(place)] if place else []
    wanted = found[0] if name == _NEWEST and found else name
    if place is None or wanted not in found:
        kept = f"in {place.address} (manage.py backup --list)" if place else "since BACKUPS is not set"
        msg = f"There is no file {name}, and no backup of this name {kept}."
        raise CommandError(msg)
    with place.opened(wanted) as stream:
        yield stream
