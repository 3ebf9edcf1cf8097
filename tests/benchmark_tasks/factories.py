"""Catalogue rows and suite folders, for the tests of every app."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import factory

from benchmark_tasks.enums import AuditState, CategorySource, Protocol
from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.models import Category, Paper, SeedEpoch, Suite, SuiteVersion, Task, TaskRevision
from tests.numbering import numbered

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MASKED = '''"""Scores."""

import math

from scoring.tables import WEIGHTS


def double(x):
    """Twice x."""
    # TODO: implement
    raise NotImplementedError


class Scorer:
    """Keeps a factor."""

    def __init__(self, factor):
        self.factor = factor

    def score(self, x):
        """The weighted score."""
        # TODO: implement
        raise NotImplementedError
'''
GOLDEN_DOUBLE_BODY = "    return math.fsum([x, x])  # golden-double\n"
GOLDEN_SCORE_BODY = "        return self.factor * WEIGHTS[0] * x  # golden-score\n"
STUB = "    # TODO: implement\n    raise NotImplementedError\n"
GOLDEN_1 = MASKED.replace(STUB, GOLDEN_DOUBLE_BODY, 1)
GOLDEN_2 = MASKED.replace("        # TODO: implement\n        raise NotImplementedError\n", GOLDEN_SCORE_BODY)
CASES = 'def cases(seed):\n    """Secret cases."""\n    return [{"x": float(seed)}, {"x": 0}, {"x": -1.5}]\n'
RUN_1 = 'from scoring.core import double\n\n\ndef run(case):\n    return {"value": double(case["x"])}\n'
RUN_2 = 'from scoring.core import Scorer\n\n\ndef run(case):\n    return {"value": Scorer(2).score(case["x"])}\n'
PDF = b"%PDF-1.4\nA small paper.\n"

CHECK: dict[str, Any] = {
    "cases_file": "unit_test/cases.py",
    "public_seeds": [1, 2],
    "private_seeds": 3,
    "comparison": {"default": {"rtol": 1e-6, "atol": 1e-8}, "outputs": {"value": {"exact": True}}},
    "wall_seconds": 20,
    "memory_mb": 256,
}

INFO: dict[str, Any] = {
    "instance_id": 1,
    "folder_name": "01-Alpha",
    "repo_folder_name": "scoring-repo",
    "paper_name": "Alpha: A Score",
    "paper_url": "https://example.org/alpha",
    "year": 2024,
    "repo_url": "",
    "implementations": [
        {
            "instruction": "Implement double.",
            "index": 1,
            "category": "Evaluation Metrics",
            "goal_file": "scoring/core.py",
            "goal_function": "double",
            "class_name": "",
            "golden_file": "golden_files/core_golden_1.py",
            "retrieval_context": ["scoring/tables.py"],
            "unit_test_file": "unit_test/run_1.py",
            "protocol": "sealed",
            "environment": "numpy",
            "check": CHECK,
        },
        {
            "instruction": "Implement Scorer.score.",
            "index": 2,
            "category": "loss function",
            "goal_file": "scoring/core.py",
            "goal_function": "score",
            "class_name": "Scorer",
            "golden_file": "golden_files/core_golden_2.py",
            "retrieval_context": [],
            "unit_test_file": "unit_test/run_2.py",
            "protocol": "sealed",
            "environment": "numpy",
            "check": CHECK,
        },
    ],
}

FILES: dict[str, str | bytes] = {
    "scoring-repo/README.md": "A repository.\n",
    "scoring-repo/scoring/__init__.py": "",
    "scoring-repo/scoring/core.py": MASKED,
    "scoring-repo/scoring/tables.py": "WEIGHTS = [3.0]\n",
    "golden_files/core_golden_1.py": GOLDEN_1,
    "golden_files/core_golden_2.py": GOLDEN_2,
    "unit_test/cases.py": CASES,
    "unit_test/run_1.py": RUN_1,
    "unit_test/run_2.py": RUN_2,
    "samples/wrong_1.py": "def double(x):\n    return x  # sample-wrong\n",
    "paper.pdf": PDF,
}


def info(task: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A good info.json; ``task`` changes its first implementation. The value ``...`` removes a key."""
    made = copy.deepcopy(INFO)
    for target, given in ((made, changes), (made["implementations"][0], task or {})):
        for key, value in given.items():
            if value is ...:
                del target[key]
            else:
                target[key] = value
    return made


def write_paper(
    suite: Path,
    folder: str = "01-Alpha",
    *,
    info: Mapping[str, Any] | bytes | None = None,
    files: Mapping[str, str | bytes | None] | None = None,
) -> Path:
    """A paper's folder. ``files`` are added to the good ones or replace them; None leaves a file out."""
    root = suite / folder
    for name, content in {**FILES, **(files or {})}.items():
        if content is not None:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    data = info if isinstance(info, bytes) else json.dumps(INFO if info is None else info, indent=1).encode()
    (root / "info.json").write_bytes(data)
    return root


def write_suite(suite: Path, **paper: Any) -> Path:
    """A suite folder with ``suite.json`` and one paper (arguments as for :func:`write_paper`)."""
    write_paper(suite, **paper)
    facts = {"title": "Small Suite", "licence": "CC0-1.0", "source": "Made for tests.", "changelog": ["First."]}
    (suite / "suite.json").write_text(json.dumps(facts), encoding="utf-8")
    return suite


class CategoryFactory(factory.django.DjangoModelFactory):
    """One of the nine categories: the first, or the one with ``slug``."""

    class Meta:
        model = Category
        django_get_or_create = ("slug",)

    slug = CATEGORIES[0].slug
    title = factory.LazyAttribute(lambda row: next(c.title for c in CATEGORIES if c.slug == row.slug))
    definition = factory.LazyAttribute(lambda row: next(c.definition for c in CATEGORIES if c.slug == row.slug))
    position = factory.LazyAttribute(lambda row: [c.slug for c in CATEGORIES].index(row.slug) + 1)


class SuiteFactory(factory.django.DjangoModelFactory):
    """A suite called ``suite-10001``, ``suite-10002``, …"""

    class Meta:
        model = Suite
        django_get_or_create = ("slug",)

    slug = numbered("suite-")
    title = factory.LazyAttribute(lambda row: row.slug.replace("-", " ").title())


class SeedEpochFactory(factory.django.DjangoModelFactory):
    """The first epoch, with a key that tests can rely on."""

    class Meta:
        model = SeedEpoch
        django_get_or_create = ("suite", "number")

    suite = factory.SubFactory(SuiteFactory)
    number = 1
    key = "5e" * 32


class PaperFactory(factory.django.DjangoModelFactory):
    """A paper called ``paper-10001``, ``paper-10002``, …"""

    class Meta:
        model = Paper

    suite = factory.SubFactory(SuiteFactory)
    slug = numbered("paper-")
    instance_id = numbered()
    folder_name = factory.LazyAttribute(lambda row: f"{int(row.instance_id):05}-{row.slug}")
    title = factory.LazyAttribute(lambda row: f"The {row.slug} paper")
    year = 2024


class TaskFactory(factory.django.DjangoModelFactory):
    """The first task of a new paper of ``suite``."""

    class Meta:
        model = Task

    suite = factory.SubFactory(SuiteFactory)
    paper = factory.SubFactory(PaperFactory, suite=factory.SelfAttribute("..suite"))
    index = 1
    slug = factory.LazyAttribute(lambda row: f"{row.paper.slug}/{row.index}")


class TaskRevisionFactory(factory.django.DjangoModelFactory):
    """A runnable, audited revision. Its hashes name nothing in the content store: import a folder for that."""

    class Meta:
        model = TaskRevision

    task = factory.SubFactory(TaskFactory)
    number = 1
    instruction = "Implement double."
    category = factory.SubFactory(CategoryFactory)
    category_source = CategorySource.UPSTREAM
    goal_file = "scoring/core.py"
    goal_function = "double"
    protocol = Protocol.SEALED
    environment = "numpy"
    masked_source = 'def double(x):\n    """Twice x."""\n    # TODO: implement\n    raise NotImplementedError\n'
    masked_line = 8
    statement_hash = factory.LazyAttribute(lambda row: f"{row.task.pk:032x}{row.number:032x}")
    repository_hash = "a" * 64
    grading_hash = factory.LazyAttribute(lambda row: f"{row.number:032x}{row.task.pk:032x}")
    audit_state = AuditState.PASSED


class SuiteVersionFactory(factory.django.DjangoModelFactory):
    """Version 1 of a new suite; ``tasks=3`` gives it three revisions, ``revisions=[…]`` given ones."""

    class Meta:
        model = SuiteVersion
        skip_postgeneration_save = True

    suite = factory.SubFactory(SuiteFactory)
    number = 1
    seed_epoch = factory.SubFactory(SeedEpochFactory, suite=factory.SelfAttribute("..suite"))

    @factory.post_generation
    def revisions(self, create: bool, extracted: list[TaskRevision] | None, **_: Any) -> None:
        """Use existing revisions."""
        if create and extracted:
            SuiteVersion.objects.get(pk=self.pk).revisions.set(extracted)

    @factory.post_generation
    def tasks(self, create: bool, extracted: int | None, **_: Any) -> None:
        """Create this many tasks, each of its own paper."""
        if create and extracted:
            made = [TaskRevisionFactory(task=TaskFactory(suite=self.suite)) for _ in range(extracted)]
            SuiteVersion.objects.get(pk=self.pk).revisions.add(*made)
