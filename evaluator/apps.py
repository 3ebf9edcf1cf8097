"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class EvaluatorConfig(AppConfig):
    """See docs/architecture.md."""

    name = "evaluator"

    def ready(self) -> None:
        """Subscribe to the lower rooms' news."""
        from evaluator import receivers  # noqa: F401 - imported for its registrations
