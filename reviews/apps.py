"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    """See docs/architecture.md."""

    name = "reviews"

    def ready(self) -> None:
        """Subscribe to the lower rooms' news."""
        from reviews import receivers  # noqa: F401 - imported for its registrations
