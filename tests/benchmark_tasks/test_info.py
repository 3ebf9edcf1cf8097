"""Reading suite folders: upstream's format and its traps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.domain.paper_folder import GradingFiles
from benchmark_tasks.domain.suite_folder import read_suite
from tests.benchmark_tasks.factories import (
    CASES,
    CHECK,
    GOLDEN_1,
    PDF,
    RUN_1,
    STUB,
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
        facts = suite.info
        assert (facts.title, facts.licence, facts.source) == ("Small Suite", "CC0-1.0", "Made for tests.")
        assert facts.changelog == ["First."]
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
        assert task.info.check is not None
        assert task.info.check.settings == {
            "public_seeds": [1, 2],
            "private_seeds": 3,
            "comparison": {"default": CLOSE, "outputs": {"value": EXACT}},
            "wall_seconds": 20.0,
            "memory_mb": 256,
        }
        assert (task.info.protocol, task.info.environment, task.info.category) == (
            "sealed",
            "numpy",
            "evaluation-metrics",
        )
        assert (task.reasons, task.masked_line, task.unit_test_file) == ((), 8, "")
        assert task.masked_source == f'def double(x):\n    """Twice x."""\n{STUB}'
        assert task.grading == GradingFiles(GOLDEN_1.encode(), CASES.encode(), RUN_1.encode())

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
    """docs/design/published-numbers.md."""

    def test_retrieval_content(self, tmp_path: Path) -> None:
        given = info({"retrieval_context": ..., "retrieval_content": ["./scoring//tables.py"]})
        assert first_task(read_suite(write_suite(tmp_path / "s", info=given))).info.context == [
            "scoring/tables.py",
        ]

    @pytest.mark.parametrize(("folder", "slug"), [("01-DPO", "dpo"), ("1-DPO", "dpo"), ("TimeDistill", "timedistill")])
    def test_the_real_folders_name_counts(self, tmp_path: Path, folder: str, slug: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", folder=folder, info=info(folder_name="17-Other")))
        assert fatal(suite) == []
        assert suite.papers[0].info.slug == slug
        assert suite.papers[0].tasks[0].info.slug == f"{slug}/1"

    def test_an_empty_category_of_one_of_the_28_comes_from_the_facts(self, tmp_path: Path) -> None:
        given = info({"category": "", "goal_function": "spacy_result_to_conll"})
        task = first_task(read_suite(write_suite(tmp_path / "s", folder="31-Syn-Chain", info=given)))
        assert (task.info.category, task.info.category_source) == ("information-extraction", "ours")


FORM_ERRORS = [
    (b"[1, 2]", "info.json:1:1: the file must be an object, not a list"),
    (b"{}", "info.json:1:1: implementations is missing; add it"),
    (b'{"a": 1,\n "a": 2}', "info.json: has the key 'a' twice in one object; keep one"),
    (b'{"a": 1,\n "b" 2}', "info.json:2:6: is not JSON: Expecting ':' delimiter"),
]

VALUE_ERRORS = [
    (
        {},
        {"paper_url": "javascript:alert(1)"},
        "paper_url must be an http or https address, not 'javascript:alert(1)'",
    ),
    ({"index": 2}, {}, "the file repeats the index 2; number the functions of a paper 1, 2, …"),
    ({"environment": "../x"}, {}, "implementations[0].environment must be a short name such as 'numpy'"),
    (
        {"retrieval_context": ["a"], "retrieval_content": ["b"]},
        {},
        "implementations[0] has both retrieval_context and retrieval_content, and they differ; keep one",
    ),
]

CHECK_ERRORS = [
    ({"public_seeds": [1, 1]}, "check.public_seeds must be different whole numbers"),
    (
        {"comparison": {"outputs": {"x": {"exact": True, "rtol": 1}}}},
        "check.comparison.outputs.x cannot be exact and have tolerances; remove one",
    ),
    ({"comparison": {"outputs": {"\n": {}}}}, "check.comparison.outputs.'\\n'."),
    ({"equivalent_mutants": [{"mutant": "line 1"}]}, "check.equivalent_mutants[0].reason is missing; add it"),
]


class TestErrorsOfForm:
    @pytest.mark.parametrize(("data", "message"), FORM_ERRORS)
    def test_json(self, tmp_path: Path, data: bytes, message: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=data))
        assert fatal(suite) == [f"01-Alpha/{message}"]
        assert suite.left_out == {"alpha": "01-Alpha"}

    @pytest.mark.parametrize(("task", "changes", "message"), VALUE_ERRORS)
    def test_values(self, tmp_path: Path, task: dict[str, Any], changes: dict[str, Any], message: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info(task, **changes)))
        assert suite.refused
        assert message in [problem.message for problem in suite.problems if problem.fatal]
        assert all(problem.line and problem.column for problem in suite.problems if problem.fatal)

    @pytest.mark.parametrize(("change", "message"), CHECK_ERRORS)
    def test_check(self, tmp_path: Path, change: dict[str, Any], message: str) -> None:
        check = {key: value for key, value in {**CHECK, **change}.items() if value is not ...}
        suite = read_suite(write_suite(tmp_path / "s", info=info({"check": check})))
        assert [problem.message for problem in suite.problems if problem.fatal] != []
        assert all(p.message.startswith(f"implementations[0].{message}") for p in suite.problems if p.fatal)

    def test_an_unknown_category_names_the_nine(self, tmp_path: Path) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info({"category": "Cooking"})))
        (message,) = fatal(suite)
        assert message.startswith("01-Alpha/info.json:13:")
        assert "Unknown category 'Cooking'" in message
        assert "Evaluation Metrics" in message

    @pytest.mark.parametrize(
        ("key", "path"),
        [
            *(("goal_file", path) for path in ("../x.py", "/etc/passwd", "a/../../x", "a\\b", "a\nb")),
            *(("golden_file", "../x.py"), ("unit_test_file", "../x.py")),
        ],
    )
    def test_paths_that_leave(self, tmp_path: Path, key: str, path: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info({key: path})))
        (message,) = fatal(suite)
        assert f"implementations[0].{key} {path!r} is not a path inside its folder" in message

    @pytest.mark.parametrize("path", ["..", ".", "/", "../01-Alpha"])
    def test_repository_paths_that_leave(self, tmp_path: Path, path: str) -> None:
        (message,) = fatal(read_suite(write_suite(tmp_path / "s", info=info(repo_folder_name=path))))
        assert f"repo_folder_name {path!r} is not a path inside its folder" in message

    @pytest.mark.parametrize("exists", [True, False])
    def test_links_that_leave(self, tmp_path: Path, exists: bool) -> None:
        name = "golden_files/core_golden_1.py"
        folder = write_suite(tmp_path / "s", files={name: None})
        if exists:
            (tmp_path / "secret").write_text(GOLDEN_1, encoding="utf-8")
        (folder / "01-Alpha" / name).symlink_to(tmp_path / "secret")
        assert fatal(read_suite(folder)) == [
            f"01-Alpha/{name}: {name!r} leads out of its folder through a symbolic link"
        ]

    def test_info_json_that_is_a_link_out_or_no_file(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s")
        write_paper(folder, "02-Beta")
        (folder / "01-Alpha/info.json").unlink()
        (folder / "01-Alpha/info.json").symlink_to("/etc/hostname")
        (folder / "02-Beta/info.json").unlink()
        os.mkfifo(folder / "02-Beta/info.json")
        assert fatal(read_suite(folder)) == [
            "01-Alpha/info.json: 'info.json' leads out of its folder through a symbolic link",
            "02-Beta/info.json: is not a regular file",
        ]

    def test_two_folders_of_one_slug(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s")
        write_paper(folder, "1-alpha")
        assert fatal(read_suite(folder)) == [
            "1-alpha: gives the same task slugs as the folder 01-Alpha (alpha/1, …); rename one"
        ]

    def test_a_folder_that_makes_no_slug(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s")
        write_paper(folder, "02-Größe 1")
        assert fatal(read_suite(folder)) == [
            "02-Größe 1: names a paper's folder: use letters, digits, '-' and '_' only, such as 01-DPO"
        ]

    def test_no_paper_and_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert fatal(read_suite(tmp_path / "empty")) == [
            "empty: has no papers: each must be in its own folder with an info.json"
        ]
        nowhere = tmp_path / "nowhere"
        assert fatal(read_suite(nowhere)) == [f"{nowhere}: there is no such folder"]
        nowhere.touch()
        assert fatal(read_suite(nowhere)) == [f"{nowhere}: is not a folder that can be read (Not a directory)"]

    def test_an_unknown_key_names_the_one_that_was_meant(self, tmp_path: Path) -> None:
        check = {**CHECK, "wal_seconds": 3}
        suite = read_suite(write_suite(tmp_path / "s", info=info({"check": check, "goal_fil": "x"}, paper_nam="x")))
        assert [problem.message for problem in suite.problems] == [
            "implementations[0].check.wal_seconds is an unknown key; did you mean 'wall_seconds'?"
        ]
        suite = read_suite(write_suite(tmp_path / "t", info=info({"goal_fil": "x"}, paper_nam="x")))
        assert [problem.message for problem in suite.problems] == [
            "implementations[0].goal_fil is an unknown key; did you mean 'goal_file'? (ignored)",
            "paper_nam is an unknown key; did you mean 'paper_name'? (ignored)",
        ]
