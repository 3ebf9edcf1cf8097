"""Load facts about upstream's suite: the tasks every instance lists, whether or not their code was imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.domain.revisions import store_papers
from benchmark_tasks.enums import Protocol
from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Category, Paper, Suite, Task, TaskRevision

if TYPE_CHECKING:
    from collections.abc import Collection

    from benchmark_tasks.domain.revisions import NewPaper, SuiteChanges
    from benchmark_tasks.facts.lmr_bench import PaperFacts

FACTS_SUITE: Final = "lmr-bench"
CODE_NOT_SHIPPED: Final = "its code is not shipped; an operator adds it with manage.py import_suite"

FACTS_DESCRIPTION: Final = (
    "The 28 masked functions of 23 language modelling papers that the benchmark's authors published. Shown here as "
    "facts with the published results; papers, repositories and tests are not part of this site."
)
IMPORTED_DESCRIPTION: Final = (
    "The masked functions of language modelling papers that the benchmark's authors published, imported from their "
    "data set by this site's operator."
)


def ensure_categories() -> None:
    """Create or correct the nine category rows; cheap and harmless to repeat."""
    rows = {category.slug: category for category in Category.objects.all()}
    for position, facts in enumerate(CATEGORIES, start=1):
        wanted = {"title": facts.title, "definition": facts.definition, "position": position}
        row = rows.get(facts.slug)
        if row is None or any(getattr(row, name) != value for name, value in wanted.items()):
            Category.objects.update_or_create(slug=facts.slug, defaults=wanted)


def load_facts(*, actor: Any = None) -> SuiteChanges | None:
    """Store the benchmark's tasks as facts. Do nothing and return None if an operator has imported their code.

    Published results belong to a version with exactly these tasks, so every instance has such a version.
    """
    with transaction.atomic():
        facts = lmr_bench()
        suite, _ = Suite.objects.get_or_create(
            slug=FACTS_SUITE,
            defaults={
                "title": facts.title,
                "description": FACTS_DESCRIPTION,
                "source": facts.repository_address,
                "position": 1,
            },
        )
        current = current_version(suite)
        if current and TaskRevision.objects.filter(suite_versions=current).exclude(protocol=Protocol.NONE).exists():
            return None
        return store_papers(suite=suite, papers=facts_papers(), actor=actor)


def facts_papers(*, without: Collection[str] = ()) -> list[NewPaper]:
    """Return the benchmark's papers except the slugs ``without``; none of their tasks is runnable."""
    return [_facts_content(paper) for paper in lmr_bench().papers if paper.slug not in without]


def _facts_content(paper: PaperFacts) -> NewPaper:
    row = Paper(
        slug=paper.slug,
        instance_id=str(paper.instance_id),
        folder_name=paper.folder_name,
        title=paper.title,
        address=paper.address,
        year=paper.year,
        repository_address=paper.repository_address,
        repository_folder=paper.repo_folder_name,
    )
    tasks = [
        TaskRevision(
            task=Task(index=task.index),
            goal_file=task.goal_file,
            goal_function=task.goal_function,
            class_name=task.class_name,
            category=Category(slug=task.category),
            category_source=task.category_source,
            not_runnable_reasons=[CODE_NOT_SHIPPED],
        )
        for task in paper.tasks
    ]
    return row, tasks
