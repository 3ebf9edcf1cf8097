"""What every instance shows: the nine categories, upstream's suite as facts, and the shipped suite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from benchmark_tasks.domain.categories import ensure_categories
from benchmark_tasks.domain.importing import ImportReport, import_suite
from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.domain.revisions import PaperContent, SuiteChanges, TaskContent, store_papers
from benchmark_tasks.enums import Protocol
from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Suite, TaskRevision

if TYPE_CHECKING:
    from benchmark_tasks.facts.lmr_bench import PaperFacts

FACTS_SUITE: Final = "lmr-bench"
SHIPPED_SUITE: Final = "lmr-mini"
SHIPPED_SUITES_FOLDER: Final = Path(__file__).resolve().parents[1] / "suites"
CODE_NOT_SHIPPED: Final = "its code is not shipped; an operator adds it with manage.py import_suite"

_FACTS_DESCRIPTION: Final = (
    "The 28 masked functions of 23 language modelling papers that the benchmark's authors published. Shown here as "
    "facts with the published results; papers, repositories and tests are not part of this site."
)


@dataclass(frozen=True, slots=True)
class CatalogueReport:
    """What loading did; ``facts`` is None where an operator's own import of the suite was left alone."""

    facts: SuiteChanges | None
    shipped: ImportReport


def load_catalogue(*, actor: Any = None) -> CatalogueReport:
    """Load what is shipped; a second time it changes nothing. Raises ImportRefusedError for a damaged shipped suite."""
    with transaction.atomic():
        ensure_categories()
        facts = _load_facts(actor)
    shipped = import_suite(folder=SHIPPED_SUITES_FOLDER / SHIPPED_SUITE, slug=SHIPPED_SUITE, actor=actor)
    # Only a suite that is new gets its place in the order: an operator may have moved it since.
    if shipped.version is not None and shipped.version.number == 1:
        Suite.objects.filter(slug=SHIPPED_SUITE).update(position=2)
    return CatalogueReport(facts, shipped)


def _load_facts(actor: Any) -> SuiteChanges | None:
    facts = lmr_bench()
    suite, _ = Suite.objects.get_or_create(
        slug=FACTS_SUITE,
        defaults={
            "title": facts.title,
            "description": _FACTS_DESCRIPTION,
            "source": facts.repository_address,
            "position": 1,
        },
    )
    current = current_version(suite)
    if current and TaskRevision.objects.filter(suite_versions=current).exclude(protocol=Protocol.NONE).exists():
        return None
    return store_papers(suite=suite, papers=[_facts_content(paper) for paper in facts.papers], actor=actor)


def _facts_content(paper: PaperFacts) -> PaperContent:
    return PaperContent(
        slug=paper.slug,
        instance_id=str(paper.instance_id),
        folder_name=paper.folder_name,
        title=paper.title,
        address=paper.address,
        year=paper.year,
        repository_address=paper.repository_address,
        repository_folder=paper.repo_folder_name,
        tasks=tuple(
            TaskContent(
                index=task.index,
                goal_file=task.goal_file,
                goal_function=task.goal_function,
                class_name=task.class_name,
                category=task.category,
                category_source=task.category_source,
                not_runnable_reasons=(CODE_NOT_SHIPPED,),
            )
            for task in paper.tasks
        ),
    )
