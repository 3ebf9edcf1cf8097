"""Register the app with Django."""

from __future__ import annotations

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """The app of accounts, uploads and submissions; see docs/architecture.md."""

    name = "submissions"

    def ready(self) -> None:
        """Connect the receivers of other apps' signals."""
        from submissions import receivers  # noqa: F401 - importing it connects the receivers
