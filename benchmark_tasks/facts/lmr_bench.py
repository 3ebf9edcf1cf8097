"""Facts about LMR-BENCH's 23 papers and 28 tasks: sources and masked functions, without upstream's code or text.

They are read from ``lmr_bench.json`` beside this file, which is our own and tested. No Django here.
Source: upstream's info.json files, and the 28 functions in its published results.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

SHIPPED_FILE: Final = Path(__file__).with_name("lmr_bench.json")

CategorySource = Literal["upstream", "ours"]

_NUMBERED_FOLDER: Final = re.compile(r"0*(?P<number>[1-9][0-9]{0,8})-(?P<name>.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """One masked function. ``slug`` is ``<paper slug>/<index>``, ``index`` counts from 1 within its paper.

    ``category_source`` is ``ours`` if upstream leaves the category empty. ``class_name`` is empty for a module-level
    function.
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
    tasks: tuple[TaskFacts, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkFacts:
    """All papers in upstream's order, with the lookups that importers need.

    ``kept_copies`` has, by a task's slug, where its masked repository still contains its method (docs/lmr-bench.md).
    """

    title: str
    paper_title: str
    paper_address: str
    proceedings_address: str
    repository_address: str
    organisation: str
    papers: tuple[PaperFacts, ...]
    kept_copies: dict[str, str]

    @property
    def tasks(self) -> tuple[TaskFacts, ...]:
        """The 28 tasks, paper by paper."""
        return tuple(task for paper in self.papers for task in paper.tasks)

    @property
    def task_slugs(self) -> frozenset[str]:
        """The slugs of the 28 tasks."""
        return frozenset(task.slug for task in self.tasks)

    def paper_of_folder(self, folder_name: str) -> PaperFacts | None:
        """Return the paper of a folder named ``01-DPO`` or ``1-DPO``; None for folders outside the paper's 23.

        Number and name must both match: upstream's instance_id alone is not unique in its whole data set.
        """
        return next((p for p in self.papers if _folder_key(p.folder_name) == _folder_key(folder_name)), None)

    def paper_of_number(self, instance_id: int) -> PaperFacts | None:
        """Return the paper with this id among the 23, where ids are unique; None for any other."""
        return next((paper for paper in self.papers if paper.instance_id == instance_id), None)


def paper_slug(folder_name: str) -> str:
    """Return the slug of a paper's folder: without number prefix, lower-case (``01-DPO`` -> ``dpo``)."""
    return _folder_key(folder_name)[1]


@cache
def lmr_bench() -> BenchmarkFacts:
    """Return the shipped facts, which are read once."""
    facts: dict[str, Any] = json.loads(SHIPPED_FILE.read_text(encoding="utf-8"))
    papers = tuple(
        PaperFacts(
            **{
                **paper,
                "tasks": tuple(TaskFacts(**task) for task in paper["tasks"]),
                "remarks": tuple(paper.get("remarks", ())),
            }
        )
        for paper in facts.pop("papers")
    )
    return BenchmarkFacts(**facts, papers=papers)


def _folder_key(folder_name: str) -> tuple[int | None, str]:
    match = _NUMBERED_FOLDER.fullmatch(folder_name)
    if match is None:
        return None, folder_name.lower()
    return int(match["number"]), match["name"].lower()
