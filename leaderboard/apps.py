"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    """See docs/architecture.md."""

    name = "leaderboard"

    def ready(self) -> None:
        """Subscribe to the lower rooms' news."""
        from leaderboard.upkeep import receivers  # noqa: F401 - imported for its registrations
