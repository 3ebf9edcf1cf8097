"""Find the suite that a command's argument names."""

from __future__ import annotations

from django.core.management.base import CommandError

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite, SuiteVersion


def suite_named(slug: str) -> Suite:
    """Return the suite with this slug. Raises ``CommandError``, which lists the known ones."""
    found = Suite.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Suite.objects.values_list("slug", flat=True)) or "none; run manage.py load_catalogue first"
        raise CommandError(f"There is no suite {slug!r}. Known: {known}.")
    return found


def newest_version(slug: str) -> SuiteVersion:
    """Return the newest version of the suite with this slug. Raises ``CommandError`` if there is none."""
    version = current_version(suite_named(slug))
    if version is None:
        raise CommandError(f"The suite {slug!r} has no version yet. Import its tasks with import_suite.")
    return version
