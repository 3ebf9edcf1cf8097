"""The shipped facts about LMR-BENCH: the nine categories, 23 papers and 28 tasks."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.facts.categories import CATEGORIES, UnknownCategoryError, normalise
from benchmark_tasks.facts.lmr_bench import SHIPPED_FILE, lmr_bench, paper_slug

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

    @pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.slug)
    def test_own_title_and_slug_are_known(self, category: Any) -> None:
        assert normalise(category.title) == normalise(category.slug) == category.slug

    @pytest.mark.parametrize(
        ("spelling", "slug"),
        [
            ("Training Objectives & Optimization Techniques", "training-objectives-optimization"),
            ("loss function", "training-objectives-optimization"),
            ("Loss  Function ", "training-objectives-optimization"),
            ("Evaluation Metrics & Benchmarking", "evaluation-metrics"),
            ("Data Augmentation & Generation", "data-augmentation"),
            ("Information Extraction & Knowledge Integration", "information-extraction"),
            ("Neural Network Architectures & Modules", "neural-network-architectures"),
            ("", None),
            (" \n", None),
            (None, None),
        ],
    )
    def test_upstream_spellings(self, spelling: str | None, slug: str | None) -> None:
        assert normalise(spelling) == slug

    def test_unknown_spelling_names_itself_and_the_nine(self) -> None:
        with pytest.raises(
            UnknownCategoryError, match=r"'Loss functions'.*Leave it empty.*Evaluation Metrics"
        ) as caught:
            normalise("Loss functions")
        assert caught.value.spelling == "Loss functions"
        assert isinstance(caught.value, ValueError)

    @given(st.text())
    def test_any_text_is_known_empty_or_refused(self, spelling: str) -> None:
        try:
            slug = normalise(spelling)
        except UnknownCategoryError:
            assert spelling.strip()
        else:
            assert slug is None or slug in {category.slug for category in CATEGORIES}

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

    def test_the_one_category_that_upstream_leaves_empty_is_marked_ours(self) -> None:
        ours = [task for task in lmr_bench().tasks if task.category_source == "ours"]
        assert [(task.slug, task.category) for task in ours] == [("syn-chain/1", "information-extraction")]

    def test_slugs(self) -> None:
        slugs = [
            "dpo",
            "hits",
            "dola",
            "cd",
            "simpo",
            "repe",
            "bertscore",
            "steplength",
            "gdpzero",
            "moverscore",
            "decbound",
            "emojicrypt",
            "empathybias",
            "knowprob",
            "massactiv",
            "native-sparse-attention",
            "cad",
            "tokendpo",
            "simclr",
            "adalora",
            "spin",
            "ergo",
            "syn-chain",
        ]
        assert [paper.slug for paper in lmr_bench().papers] == slugs
        later = [task.slug for task in lmr_bench().tasks if task.index > 1]
        assert later == ["empathybias/2", "knowprob/2", "knowprob/3", "knowprob/4", "knowprob/5"]

    def test_folders_numbers_and_categories_agree(self) -> None:
        for paper in lmr_bench().papers:
            assert lmr_bench().paper_of_folder(paper.folder_name) is lmr_bench().paper_of_number(paper.instance_id)
            assert paper_slug(paper.folder_name) == paper.slug
            assert [task.slug for task in paper.tasks] == [f"{paper.slug}/{n + 1}" for n in range(len(paper.tasks))]
        assert {task.category for task in lmr_bench().tasks} <= {category.slug for category in CATEGORIES}

    def test_goal_file_is_the_unit_test_file_in_three_tasks(self) -> None:
        inside = [task.slug for task in lmr_bench().tasks if task.goal_file == "unit_test/unit_test_1.py"]
        assert inside == ["dola/1", "repe/1", "cad/1"]

    def test_year_agrees_with_the_address_or_is_explained(self) -> None:
        """arXiv numbers and Anthology names begin with the year of the text at that address."""
        for paper in lmr_bench().papers:
            found = re.search(r"arxiv\.org/(?:abs|pdf)/(\d\d)\d\d\.|anthology\.org/(?:20)?[A-Z]?(\d\d)", paper.address)
            if found is None:
                assert (paper.slug, paper.year) == ("bertscore", 2020)  # ICLR 2020, as the LMR-BENCH paper cites it
            elif paper.year != 2000 + int(found[1] or found[2]):
                assert (paper.slug, paper.year) == ("emojicrypt", 2025)
                assert "NAACL 2025" in paper.remarks[0]

    @pytest.mark.parametrize(
        ("folder", "slug"),
        [("01-DPO", "dpo"), ("1-DPO", "dpo"), ("31-Syn-Chain", "syn-chain"), ("TimeDistill", None), ("1-hits", None)],
    )
    def test_paper_of_folder_needs_number_and_name(self, folder: str, slug: str | None) -> None:
        paper = lmr_bench().paper_of_folder(folder)
        assert (paper and paper.slug) == slug

    def test_paper_of_number(self) -> None:
        paper = lmr_bench().paper_of_number(16)
        assert paper is not None
        assert paper.slug == "knowprob"
        assert lmr_bench().paper_of_number(21) is None

    def test_paper_slug(self) -> None:
        assert paper_slug("19-Native-Sparse-Attention") == "native-sparse-attention"
        assert paper_slug("TimeMixer") == "timemixer"

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

    def test_steplength_title_is_explained(self) -> None:
        paper = lmr_bench().paper_of_number(8)
        assert paper is not None
        assert paper.title == "The Impact of Reasoning Step Length on Large Language Models"
        assert paper.remarks == ("Upstream gives the short name StepLength; this is the title of the paper.",)
