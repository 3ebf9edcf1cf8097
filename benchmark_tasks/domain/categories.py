"""The nine categories as rows."""

from __future__ import annotations

from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.models import Category


def ensure_categories() -> None:
    """Make the nine rows what the facts say; cheap and harmless to repeat."""
    rows = {category.slug: category for category in Category.objects.all()}
    for position, facts in enumerate(CATEGORIES, start=1):
        wanted = {"title": facts.title, "definition": facts.definition, "position": position}
        row = rows.get(facts.slug)
        if row is None or any(getattr(row, name) != value for name, value in wanted.items()):
            Category.objects.update_or_create(slug=facts.slug, defaults=wanted)
