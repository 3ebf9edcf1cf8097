"""``manage.py keys``: print the keys of this instance, for its other hosts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from submissions.domain import endpoint_keys


class Command(BaseCommand):
    """Print both keys as lines of ``.env``."""

    help = "Print SECRET_KEY and ENDPOINT_KEYS as lines for .env; those that are not set are in the data folder."
    requires_system_checks = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print the keys. They are secret: they sign sessions and open the providers' keys."""
        if settings.ENVIRONMENT.keys_problem:
            self.stderr.write(
                "Set these on every host with the pool site or model_calls. Keys that are not set are those of this "
                "host's data folder."
            )
        self.stdout.write("\n".join(endpoint_keys.lines_for_env()))
