"""``manage.py reset``: delete the data folder to start over (``make reset``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.db import connections

from leaderboard.management.errors import require_typed
from leaderboard.settings.environment import PROJECT_ROOT
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.data_folder import check_deletable, delete, only_instance

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path


class Command(BaseCommand):
    """Delete the data folder after confirmation."""

    help = "Delete all data of this instance: database, uploads, logs, sandbox environments."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--force", action="store_true", help="delete without confirmation")

    def handle(self, *_args: Any, **options: Any) -> None:
        folder: Path = settings.DATA_DIR
        try:
            check_deletable(folder, project_root=PROJECT_ROOT)
            with only_instance(folder):
                if not options["force"]:
                    self._confirm(folder)
                connections.close_all()
                delete(folder)
        except SupervisionError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{folder} is deleted. make run starts over.")
        if connections["default"].vendor != "sqlite":
            self.stdout.write("The database that DATABASE_URL names was not touched.")

    def _confirm(self, folder: Path) -> None:
        names = ", ".join(sorted(entry.name for entry in folder.iterdir()))
        self.stdout.write(f"This deletes {folder} and everything in it: {names}.")
        require_typed("yes", prompt="Type yes to continue: ", refusal="Nothing was deleted.")
