"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class BenchmarkTasksConfig(AppConfig):
    """See docs/architecture.md."""

    name = "benchmark_tasks"
