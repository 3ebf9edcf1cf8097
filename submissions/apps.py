"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """See docs/architecture.md."""

    name = "submissions"

    def ready(self) -> None:
        """Subscribe to the lower room's news."""
        from submissions import receivers  # noqa: F401 - imported for its registrations
