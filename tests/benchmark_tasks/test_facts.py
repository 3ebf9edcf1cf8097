"""The shipped facts about LMR-BENCH: the nine categories, 23 papers and 28 tasks."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmark_tasks.facts.categories import CATEGORIES, normalise
from benchmark_tasks.facts.lmr_bench import SHIPPED_FILE, lmr_bench

UPSTREAM = Path(__file__).parents[3] / "shared" / "lmr-bench"


@pytest.fixture
def upstream_info() -> list[dict[str, Any]]:
    if not UPSTREAM.is_dir():
        pytest.skip("no ../shared here")
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((UPSTREAM / "info").glob("*.json"))]


class TestCategories:
    def test_the_nine_of_table_4(self) -> None:
        assert [category.title for category in CATEGORIES] == [
            "Feature Learning & Representation",
            "Neural Network Architectures",
            "Prompt Engineering & Instruction Tuning",
            "Information Extraction",
            "Data Augmentation",
            "Training Objectives & Optimization",
            "Decoding & Search Strategies",
            "Evaluation Metrics",
            "Interpretability & Explainability",
        ]
        assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", category.slug) for category in CATEGORIES)
        assert len({category.slug for category in CATEGORIES}) == 9
        assert all(category.definition.endswith(".") and "\n" not in category.definition for category in CATEGORIES)

    @pytest.mark.parametrize(
        ("spelling", "slug"),
        [
            ("Training Objectives & Optimization Techniques", "training-objectives-optimization"),
            ("loss function", "training-objectives-optimization"),
            ("Loss  Function ", "training-objectives-optimization"),
            ("Evaluation Metrics & Benchmarking", "evaluation-metrics"),
            ("", None),
            (None, None),
        ],
    )
    def test_upstream_spellings(self, spelling: str | None, slug: str | None) -> None:
        assert normalise(spelling) == slug

    @pytest.mark.upstream
    def test_every_spelling_of_upstream_is_known(self, upstream_info: list[dict[str, Any]]) -> None:
        spellings = {task.get("category") for info in upstream_info for task in info["implementations"]}
        assert len(spellings) == 13
        assert [spelling for spelling in spellings if normalise(spelling) is None] in ([None, ""], ["", None])


class TestLmrBench:
    def test_23_papers_and_28_tasks_per_category(self) -> None:
        facts = lmr_bench()
        assert len(facts.papers) == 23
        assert len(facts.tasks) == 28
        assert Counter(task.category for task in facts.tasks) == {
            "training-objectives-optimization": 7,
            "evaluation-metrics": 5,
            "information-extraction": 3,
            "data-augmentation": 3,
            "decoding-search-strategies": 3,
            "interpretability-explainability": 3,
            "neural-network-architectures": 2,
            "feature-learning-representation": 1,
            "prompt-engineering-instruction-tuning": 1,
        }

    @pytest.mark.parametrize(
        ("folder", "slug"),
        [("01-DPO", "dpo"), ("1-DPO", "dpo"), ("31-Syn-Chain", "syn-chain"), ("TimeDistill", None), ("1-hits", None)],
    )
    def test_paper_of_folder_needs_number_and_name(self, folder: str, slug: str | None) -> None:
        paper = lmr_bench().paper_of_folder(folder)
        assert (paper and paper.slug) == slug

    @pytest.mark.upstream
    def test_facts_hold_no_sentence_of_upstream(self, upstream_info: list[dict[str, Any]]) -> None:
        shipped = SHIPPED_FILE.read_text(encoding="utf-8")
        instructions = [task["instruction"] for info in upstream_info for task in info["implementations"]]
        assert len(instructions) > 28
        assert not [text for text in instructions if text[:40] in shipped]

    @pytest.mark.upstream
    def test_facts_are_upstreams(self, upstream_info: list[dict[str, Any]]) -> None:
        by_folder = {info.get("folder_name"): info for info in upstream_info}
        for paper in lmr_bench().papers:
            info = by_folder[paper.folder_name]
            title = "StepLength" if paper.slug == "steplength" else paper.title
            assert (paper.instance_id, title, paper.address, paper.year) == (
                info["instance_id"],
                info["paper_name"],
                info["paper_url"],
                info["year"],
            )
            assert (paper.repository_address, paper.repo_folder_name) == (info["repo_url"], info["repo_folder_name"])
            for task, upstream in zip(paper.tasks, info["implementations"], strict=True):
                assert (task.index, task.goal_file, task.goal_function, task.class_name) == (
                    upstream["index"],
                    upstream["goal_file"],
                    upstream["goal_function"],
                    upstream["class_name"] or "",
                )
                if task.category_source == "upstream":
                    assert task.category == normalise(upstream["category"])
                else:
                    assert normalise(upstream["category"]) is None


def test_kept_copies_are_of_tasks_and_in_the_documentation() -> None:
    kept = lmr_bench().kept_copies
    documented = " ".join((Path(__file__).parents[2] / "docs" / "lmr-bench.md").read_text(encoding="utf-8").split())
    assert kept.keys() - lmr_bench().task_slugs == {"hyena/1"}
    assert [
        slug for slug in kept if f"({slug})" not in documented and f"({slug.split('/')[0]})" not in documented
    ] == []
