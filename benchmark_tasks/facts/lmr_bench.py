"""LMR-BENCH's 23 papers and 28 tasks as facts: where they come from and what is masked, not upstream's code or text.

The facts lie beside this file in ``lmr_bench.json``. No Django here.
Source: upstream's info.json files, and which 28 functions its published results name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.facts.strict_json import ShippedDataError, read_object

if TYPE_CHECKING:
    from benchmark_tasks.facts.strict_json import Fields

SHIPPED_FILE: Final = Path(__file__).with_name("lmr_bench.json")

CategorySource = Literal["upstream", "ours"]

_NUMBERED_FOLDER: Final = re.compile(r"0*(?P<number>[1-9][0-9]{0,8})-(?P<name>.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """One masked function. ``slug`` is ``<paper slug>/<index>``, ``index`` counts from 1 within its paper.

    ``category_source`` is ``ours`` where upstream leaves the category empty. ``class_name`` is empty for a
    module-level function.
    """

    slug: str
    index: int
    category: str
    category_source: CategorySource
    goal_file: str
    goal_function: str
    class_name: str


@dataclass(frozen=True, slots=True)
class PaperFacts:
    """One paper and its tasks. ``folder_name`` is upstream's, number included (``01-DPO``); ``remarks`` are ours."""

    instance_id: int
    slug: str
    folder_name: str
    title: str
    address: str
    year: int
    repository_address: str
    repo_folder_name: str
    remarks: tuple[str, ...]
    tasks: tuple[TaskFacts, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkFacts:
    """All papers in upstream's order, and the lookups that importers need."""

    title: str
    paper_title: str
    paper_address: str
    proceedings_address: str
    repository_address: str
    organisation: str
    papers: tuple[PaperFacts, ...]

    @property
    def tasks(self) -> tuple[TaskFacts, ...]:
        """The 28 tasks, paper by paper."""
        return tuple(task for paper in self.papers for task in paper.tasks)

    def paper_of_folder(self, folder_name: str) -> PaperFacts | None:
        """The paper of a folder called ``01-DPO`` or ``1-DPO``; None for folders outside the paper's 23.

        Number and name must both agree: upstream's instance_id alone is not unique over its whole data set.
        """
        return next((p for p in self.papers if _folder_key(p.folder_name) == _folder_key(folder_name)), None)

    def paper_of_number(self, instance_id: int) -> PaperFacts | None:
        """The paper with this id among the 23, within which ids are unique; None for any other."""
        return next((paper for paper in self.papers if paper.instance_id == instance_id), None)


def paper_slug(folder_name: str) -> str:
    """The slug of a paper's folder: without number prefix, lower-case (``01-DPO`` -> ``dpo``)."""
    return _folder_key(folder_name)[1]


@cache
def lmr_bench() -> BenchmarkFacts:
    """The shipped facts, read once. Raises ShippedDataError if the file was damaged."""
    return read_benchmark_facts(SHIPPED_FILE)


def read_benchmark_facts(path: Path) -> BenchmarkFacts:
    """Facts from a file of the shape of ``lmr_bench.json``. Raises ShippedDataError, saying where."""
    fields = read_object(path)
    facts = BenchmarkFacts(
        title=fields.text("title"),
        paper_title=fields.text("paper_title"),
        paper_address=fields.text("paper_address"),
        proceedings_address=fields.text("proceedings_address"),
        repository_address=fields.text("repository_address"),
        organisation=fields.text("organisation"),
        papers=tuple(_read_paper(paper) for paper in fields.objects("papers")),
    )
    fields.finish()
    _refuse_repeats([str(paper.instance_id) for paper in facts.papers], what="instance_id", where=path.name)
    _refuse_repeats([paper.slug for paper in facts.papers], what="paper slug", where=path.name)
    return facts


def _read_paper(fields: Fields) -> PaperFacts:
    paper = PaperFacts(
        instance_id=fields.whole_number("instance_id"),
        slug=fields.text("slug"),
        folder_name=fields.text("folder_name"),
        title=fields.text("title"),
        address=fields.text("address"),
        year=fields.whole_number("year"),
        repository_address=fields.text("repository_address"),
        repo_folder_name=fields.text("repo_folder_name"),
        remarks=fields.texts("remarks") if fields.has("remarks") else (),
        tasks=tuple(_read_task(task) for task in fields.objects("tasks")),
    )
    fields.finish()
    if _folder_key(paper.folder_name) != (paper.instance_id, paper.slug):
        raise ShippedDataError(f"{fields.where}: folder {paper.folder_name!r} does not give id and slug of the paper.")
    expected = [f"{paper.slug}/{number}" for number in range(1, len(paper.tasks) + 1)]
    found = [f"{paper.slug}/{task.index}" for task in paper.tasks]
    if not expected or found != expected or [task.slug for task in paper.tasks] != expected:
        raise ShippedDataError(f"{fields.where}: tasks must be numbered from 1 without gaps, with slugs {expected}.")
    return paper


def _read_task(fields: Fields) -> TaskFacts:
    task = TaskFacts(
        slug=fields.text("slug"),
        index=fields.whole_number("index"),
        category=fields.text("category"),
        category_source=cast("CategorySource", fields.text("category_source")),
        goal_file=fields.text("goal_file"),
        goal_function=fields.text("goal_function"),
        class_name=fields.optional_text("class_name") or "",
    )
    fields.finish()
    if task.category not in {category.slug for category in CATEGORIES}:
        raise ShippedDataError(f"{fields.where}: unknown category slug {task.category!r}.")
    if task.category_source not in {"upstream", "ours"}:
        raise ShippedDataError(f"{fields.where}: category_source must be 'upstream' or 'ours'.")
    return task


def _folder_key(folder_name: str) -> tuple[int | None, str]:
    match = _NUMBERED_FOLDER.fullmatch(folder_name)
    if match is None:
        return None, folder_name.lower()
    return int(match["number"]), match["name"].lower()


def _refuse_repeats(values: list[str], *, what: str, where: str) -> None:
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise ShippedDataError(f"{where}: {what} {', '.join(repeated)} is used more than once.")
