"""Register the app ``benchmark_tasks`` with Django."""

from __future__ import annotations

from django.apps import AppConfig


class BenchmarkTasksConfig(AppConfig):
    """See docs/architecture.md."""

    name = "benchmark_tasks"
