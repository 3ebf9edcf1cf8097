"""Reading suite folders: upstream's format and its traps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.suite_folder import read_suite
from benchmark_tasks.domain.task_files import GradingFiles
from tests.benchmark_tasks.factories import (
    CASES,
    CHECK,
    GOLDEN_1,
    INFO,
    MASKED,
    PDF,
    RUN_1,
    info,
    write_paper,
    write_suite,
)
from tests.benchmark_tasks.reading import fatal, first_task

if TYPE_CHECKING:
    from pathlib import Path

EXACT = {"exact": True, "rtol": 1e-6, "atol": 1e-8, "ordered": True, "equal_nan": False}
CLOSE = {**EXACT, "exact": False}


class TestGoodFolder:
    def test_everything_is_read(self, suite_folder: Path) -> None:
        suite = read_suite(suite_folder)
        assert suite.problems == []
        said = suite.info
        assert (said.title, said.licence, said.source) == ("Small Suite", "CC0-1.0", "Made for tests.")
        assert said.changelog == ["First."]
        (paper,) = suite.papers
        assert (paper.info.slug, paper.info.folder_name, paper.info.instance_id) == ("alpha", "01-Alpha", "1")
        assert (paper.info.paper_name, paper.info.paper_url, paper.info.year) == (
            "Alpha: A Score",
            "https://example.org/alpha",
            2024,
        )
        assert paper.repository == suite_folder / "01-Alpha" / "scoring-repo"
        assert paper.repository_files == ("README.md", "scoring/__init__.py", "scoring/core.py", "scoring/tables.py")
        assert paper.paper_file is not None
        assert paper.paper_file.read_bytes() == PDF
        assert paper.dockerfile is None

    def test_a_sealed_task_is_read_with_all_defaults_written_out(self, suite_folder: Path) -> None:
        task = first_task(read_suite(suite_folder))
        assert task.info.model_dump(exclude={"check"}, exclude_defaults=True) == {
            "slug": "alpha/1",
            "index": 1,
            "line": 10,
            "instruction": "Implement double.",
            "category": "evaluation-metrics",
            "category_source": "upstream",
            "goal_file": "scoring/core.py",
            "goal_function": "double",
            "golden_file": "golden_files/core_golden_1.py",
            "retrieval_context": ["scoring/tables.py"],
            "unit_test_file": "unit_test/run_1.py",
            "protocol": "sealed",
            "environment": "numpy",
        }
        assert task.info.check is not None
        assert task.info.check.cases_file == "unit_test/cases.py"
        assert task.info.check.settings == {
            "public_seeds": [1, 2],
            "private_seeds": 3,
            "comparison": {"default": CLOSE, "outputs": {"value": EXACT}},
            "wall_seconds": 20.0,
            "memory_mb": 256,
        }
        assert task.reasons == ()
        assert task.masked_line == 8
        assert task.masked_source == (
            'def double(x):\n    """Twice x."""\n    # TODO: implement\n    raise NotImplementedError\n'
        )
        assert task.grading is not None
        assert task.grading == GradingFiles(GOLDEN_1.encode(), CASES.encode(), RUN_1.encode())
        assert task.unit_test_file == ""

    def test_the_check_alone_makes_a_task_sealed(self, tmp_path: Path) -> None:
        task = first_task(read_suite(write_suite(tmp_path / "s", info=info({"protocol": ..., "environment": ...}))))
        assert (task.info.protocol, task.info.environment, task.reasons) == ("sealed", "numpy", ())

    def test_an_empty_check_object_gets_defaults(self, tmp_path: Path) -> None:
        check = {"cases_file": "unit_test/cases.py", "public_seeds": [7]}
        task = first_task(read_suite(write_suite(tmp_path / "s", info=info({"check": check}))))
        assert task.info.check is not None
        assert task.info.check.settings == {
            "public_seeds": [7],
            "private_seeds": 3,
            "comparison": {"default": CLOSE, "outputs": {}},
            "wall_seconds": 30.0,
            "memory_mb": 512,
        }

    def test_an_outputs_rule_starts_from_the_default_rule(self, tmp_path: Path) -> None:
        comparison = {
            "default": {"exact": True, "ordered": False},
            "outputs": {"a": {"equal_nan": True}, "b": {"rtol": 0.5}},
        }
        given = info({"check": {**CHECK, "comparison": comparison}})
        task = first_task(read_suite(write_suite(tmp_path / "s", info=given)))
        assert task.info.check is not None
        assert task.info.check.settings["comparison"] == {
            "default": {**EXACT, "ordered": False},
            "outputs": {
                "a": {**EXACT, "ordered": False, "equal_nan": True},
                "b": {**CLOSE, "ordered": False, "rtol": 0.5},
            },
        }

    def test_equivalent_mutants_are_no_part_of_the_settings(self, tmp_path: Path) -> None:
        mutant = {"mutant": "line 3: `x` -> `1 * x`", "reason": "a product with one"}
        given = info({"check": {**CHECK, "equivalent_mutants": [mutant]}})
        task = first_task(read_suite(write_suite(tmp_path / "s", info=given)))
        assert [each.model_dump() for each in task.info.mutants] == [mutant]
        assert task.info.check is not None
        assert "equivalent_mutants" not in task.info.check.settings

    def test_litter_and_stray_folders(self, suite_folder: Path) -> None:
        for name in (".DS_Store", "01-Alpha/.DS_Store", "01-Alpha/scoring-repo/.DS_Store"):
            (suite_folder / name).write_bytes(b"\0")
        for name in (".git", "__pycache__", "01-Alpha/scoring-repo/.git", "01-Alpha/scoring-repo/__pycache__", "notes"):
            (suite_folder / name).mkdir()
            (suite_folder / name / "file").write_bytes(b"\0")
        (suite_folder / "01-Alpha/scoring-repo/scoring/core.pyc").write_bytes(b"\0")
        suite = read_suite(suite_folder)
        assert [str(problem) for problem in suite.problems] == ["notes: has no info.json; left out"]
        assert len(suite.papers[0].repository_files) == 4


class TestTraps:
    """DESIGN, section 6."""

    def test_retrieval_content(self, tmp_path: Path) -> None:
        given = info({"retrieval_context": ..., "retrieval_content": ["./scoring//tables.py"]})
        assert first_task(read_suite(write_suite(tmp_path / "s", info=given))).info.context == [
            "scoring/tables.py",
        ]

    @pytest.mark.parametrize("class_name", [None, "", ...])
    def test_no_class(self, tmp_path: Path, class_name: object) -> None:
        task = first_task(read_suite(write_suite(tmp_path / "s", info=info({"class_name": class_name}))))
        assert (task.info.class_name, task.reasons) == ("", ())

    def test_the_whole_class(self, tmp_path: Path) -> None:
        golden = MASKED.replace("self.factor = factor", "self.factor = 1.0 * factor")
        given = info({"goal_function": "Scorer", "class_name": "Scorer"})
        files = {"golden_files/core_golden_1.py": golden}
        task = first_task(read_suite(write_suite(tmp_path / "s", info=given, files=files)))
        assert (task.reasons, task.masked_line) == ((), 14)
        assert task.masked_source.startswith("class Scorer:\n")

    @pytest.mark.parametrize("class_name", ["Scorer", "", "score"])
    def test_an_only_method_is_found_under_upstreams_spellings(self, tmp_path: Path, class_name: str) -> None:
        given = info(
            {"goal_function": "score", "class_name": class_name, "golden_file": "golden_files/core_golden_2.py"}
        )
        task = first_task(read_suite(write_suite(tmp_path / "s", info=given)))
        assert (task.reasons, task.masked_line) == ((), 20)

    @pytest.mark.parametrize(("given", "read"), [(29, "29"), ("29", "29"), (None, ""), (..., "")])
    def test_instance_id(self, tmp_path: Path, given: object, read: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info(instance_id=given)))
        assert fatal(suite) == []
        assert suite.papers[0].info.instance_id == read

    @pytest.mark.parametrize(("folder", "slug"), [("01-DPO", "dpo"), ("1-DPO", "dpo"), ("TimeDistill", "timedistill")])
    def test_the_real_folders_name_counts(self, tmp_path: Path, folder: str, slug: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", folder=folder, info=info(folder_name="17-Other")))
        assert fatal(suite) == []
        assert suite.papers[0].info.slug == slug
        assert suite.papers[0].tasks[0].info.slug == f"{slug}/1"

    @pytest.mark.parametrize("spelling", ["", None, ...])
    def test_an_empty_category_outside_the_28(self, tmp_path: Path, spelling: object) -> None:
        task = first_task(read_suite(write_suite(tmp_path / "s", info=info({"category": spelling}))))
        assert (task.info.category, task.info.category_source) == ("", "none")

    def test_an_empty_category_of_one_of_the_28_comes_from_the_facts(self, tmp_path: Path) -> None:
        given = info({"category": "", "goal_function": "spacy_result_to_conll"})
        task = first_task(read_suite(write_suite(tmp_path / "s", folder="31-Syn-Chain", info=given)))
        assert (task.info.category, task.info.category_source) == ("information-extraction", "ours")

    def test_a_byte_order_mark(self, tmp_path: Path) -> None:
        data = b"\xef\xbb\xbf" + json.dumps(INFO).encode()
        assert first_task(read_suite(write_suite(tmp_path / "s", info=data))).reasons == ()

    def test_the_paper_may_lie_in_the_repository_as_json(self, tmp_path: Path) -> None:
        files = {"paper.pdf": None, "scoring-repo/paper.json": '{"title": "Alpha"}'}
        suite = read_suite(write_suite(tmp_path / "s", files=files))
        assert suite.problems == []
        assert suite.papers[0].paper_file == tmp_path / "s/01-Alpha/scoring-repo/paper.json"

    @pytest.mark.upstream
    def test_upstreams_own_files(self, tmp_path: Path, shared: Path) -> None:
        for file in (shared / "info").glob("*.json"):
            write_paper(tmp_path, file.stem, info=file.read_bytes())
        suite = read_suite(tmp_path)
        assert fatal(suite) == []
        tasks = [task for paper in suite.papers for task in paper.tasks]
        assert len(tasks) == 35
        assert sum(task.info.category_source == "upstream" for task in tasks) == 27
        assert {t.info.slug for t in tasks if t.info.category_source == "ours"} == {"syn-chain/1"}
        assert {task.info.protocol for task in tasks} == {"upstream"}
        assert all(task.reasons for task in tasks)
