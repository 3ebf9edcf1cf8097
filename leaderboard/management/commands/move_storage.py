"""``manage.py move_storage``: copy the content store to a bucket, or from a bucket to the data folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from environs import ValidationError

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.domain.bucket import DamagedError, StorageUnavailableError, bucket, bucket_at
from leaderboard.settings.environment import valid_storage_url

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from benchmark_tasks.domain.bucket import Bucket
    from benchmark_tasks.domain.garbage import Blob

_LOCAL: Final = "local"
_REPORT_SECONDS: Final = 5.0


class Command(BaseCommand):
    """Copy what is not there yet, so that it can be repeated. Changes neither settings nor the present store."""

    help = "Copy all stored files to another place; repeat it after an interruption."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the target."""
        parser.add_argument(
            "--to",
            default=settings.ENVIRONMENT.move_storage_to,
            metavar="ADDRESS",
            help="a STORAGE_URL, or local: the data folder (default: MOVE_STORAGE_TO, which ps does not show)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Copy. Raises CommandError for a wrong target, a store that does not answer, and files that are not whole."""
        target = _target(options["to"])
        try:
            present = {each.blob for each in garbage.stored(target)}
            left = [each.blob for each in garbage.stored(bucket()) if each.blob not in present]
            self.stdout.write(f"Files to copy: {len(left)}. Already there: {len(present)}.")
            failed = self._copy(left, target)
        except StorageUnavailableError as error:
            msg = f"{error} What was copied stays; repeat the command to copy the rest."
            raise CommandError(msg) from None
        if failed:
            listed = "\n  ".join(failed)
            msg = f"These files could not be copied; all others were:\n  {listed}"
            raise CommandError(msg)
        self.stdout.write(
            "All are copied. Stop the instance, repeat this command for what was stored meanwhile, "
            f"{'unset STORAGE_URL' if target is None else 'set STORAGE_URL to this address'} on every host, and start "
            "it. The previous files stay; delete them when manage.py storage --verify finds all of them."
        )

    def _copy(self, left: list[Blob], target: Bucket | None) -> list[str]:
        """Copy files; return what could not be copied, with the reason."""
        failed, reported = [], time.monotonic()
        for number, blob in enumerate(left, start=1):
            try:
                content.copy_to(target, *blob)
            except (DamagedError, OSError) as error:
                failed.append(f"{content.key_of(*blob)}: {error}")
            if time.monotonic() - reported > _REPORT_SECONDS:
                reported = time.monotonic()
                self.stdout.write(f"{number} of {len(left)} …")
        return failed


def _target(address: str) -> Bucket | None:
    present = bucket()
    if address == _LOCAL:
        if present is None:
            msg = "The files are in the data folder already: STORAGE_URL is not set."
            raise CommandError(msg)
        return None
    try:
        valid_storage_url(address or "none")
    except ValidationError as error:
        msg = f"--to: {error.messages[0]}, or local"
        raise CommandError(msg) from None
    target = bucket_at(address)
    if present is not None and present.identity == target.identity:
        msg = "The files are in this bucket already: STORAGE_URL names it."
        raise CommandError(msg)
    return target
