"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class BenchmarkTasksConfig(AppConfig):
    """See DESIGN, section 2."""

    name = "benchmark_tasks"
