"""Register the evaluator app with Django."""

from __future__ import annotations

from django.apps import AppConfig


class EvaluatorConfig(AppConfig):
    """App configuration; see docs/architecture.md."""

    name = "evaluator"

    def ready(self) -> None:
        """Subscribe to the signals of lower rooms."""
        from evaluator import receivers  # noqa: F401 - imported for its registrations
