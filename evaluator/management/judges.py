"""Which judge and which suite a command's arguments mean."""

from __future__ import annotations

from django.core.management.base import CommandError

from benchmark_tasks.models import Suite
from evaluator.judging.configs import HOW_TO_CONFIGURE, active_configs
from evaluator.models import JudgeConfig


def judges(slug: str | None) -> list[JudgeConfig]:
    """The active judges, or the one called ``slug``. Raises ``CommandError`` when there is none."""
    configs = list(active_configs())
    if not configs:
        raise CommandError(HOW_TO_CONFIGURE)
    if slug is None:
        return configs
    found = [config for config in configs if config.slug == slug]
    if not found:
        known = ", ".join(config.slug for config in configs)
        raise CommandError(f"There is no active judge {slug!r}. Active: {known}.")
    return found


def suite(slug: str | None) -> Suite | None:
    """The suite called ``slug``; ``None`` where none is given. Raises ``CommandError`` for an unknown one."""
    if slug is None:
        return None
    found = Suite.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Suite.objects.values_list("slug", flat=True)) or "none; run manage.py load_catalogue first"
        raise CommandError(f"There is no suite {slug!r}. Known: {known}.")
    return found
