"""Register the app with Django."""

from __future__ import annotations

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    """The app of reviewing: cases, labels and decisions; see docs/architecture.md."""

    name = "reviews"

    def ready(self) -> None:
        """Connect the receivers of other apps' signals."""
        from reviews import receivers  # noqa: F401 - importing it connects the receivers
