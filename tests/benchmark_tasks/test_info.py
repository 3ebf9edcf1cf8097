"""Reading suite folders: upstream's format, its traps, and everything that can be wrong."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.folders import MAXIMUM_FILE_BYTES, MAXIMUM_TREE_BYTES, UnusableFileError, read_files
from benchmark_tasks.domain.info import read_suite
from benchmark_tasks.domain.problems import ImportProblem
from benchmark_tasks.domain.suite_folder import SuiteFolder, TaskFolder, TaskInfo
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

if TYPE_CHECKING:
    from pathlib import Path

EXACT = {"exact": True, "rtol": 1e-6, "atol": 1e-8, "ordered": True, "equal_nan": False}
CLOSE = {**EXACT, "exact": False}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


def fatal(suite: SuiteFolder) -> list[str]:
    return [str(problem) for problem in suite.problems if problem.fatal]


def remarks(suite: SuiteFolder) -> list[str]:
    return [str(problem) for problem in suite.problems if not problem.fatal]


def first_task(suite: SuiteFolder) -> TaskFolder:
    assert fatal(suite) == []
    return suite.papers[0].tasks[0]


def reasons(tmp_path: Path, **paper: Any) -> tuple[str, ...]:
    return first_task(read_suite(write_suite(tmp_path / "s", **paper))).reasons


class TestGoodFolder:
    def test_everything_is_read(self, suite_folder: Path) -> None:
        suite = read_suite(suite_folder)
        assert suite.problems == []
        assert (suite.title, suite.licence, suite.source, suite.changelog) == (
            "Small Suite",
            "CC0-1.0",
            "Made for tests.",
            ("First.",),
        )
        (paper,) = suite.papers
        assert (paper.info.slug, paper.info.folder_name, paper.info.instance_id) == ("alpha", "01-Alpha", "1")
        assert (paper.info.title, paper.info.address, paper.info.year) == (
            "Alpha: A Score",
            "https://example.org/alpha",
            2024,
        )
        assert paper.repository == suite_folder / "01-Alpha" / "scoring-repo"
        assert paper.repository_files == ("README.md", "scoring/__init__.py", "scoring/core.py", "scoring/tables.py")
        assert paper.paper_file == PDF

    def test_a_sealed_task_is_read_with_all_defaults_written_out(self, suite_folder: Path) -> None:
        task = first_task(read_suite(suite_folder))
        assert task.info == TaskInfo(
            slug="alpha/1",
            index=1,
            line=10,
            instruction="Implement double.",
            category="evaluation-metrics",
            category_source="upstream",
            goal_file="scoring/core.py",
            goal_function="double",
            class_name="",
            golden_file="golden_files/core_golden_1.py",
            retrieval_context=("scoring/tables.py",),
            unit_test_file="unit_test/run_1.py",
            protocol="sealed",
            environment="numpy",
            check=task.info.check,
        )
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
        assert (task.grading.golden, task.grading.cases, task.grading.run) == (
            GOLDEN_1.encode(),
            CASES.encode(),
            RUN_1.encode(),
        )

    def test_a_method_is_found(self, suite_folder: Path) -> None:
        task = read_suite(suite_folder).papers[0].tasks[1]
        assert task.reasons == ()
        assert task.masked_line == 20
        assert task.masked_source.startswith("    def score(self, x):\n")

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
        assert first_task(read_suite(write_suite(tmp_path / "s", info=given))).info.retrieval_context == (
            "scoring/tables.py",
        )

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

    @pytest.mark.parametrize(
        ("spelling", "slug"),
        [
            ("loss function", "training-objectives-optimization"),
            ("Evaluation Metrics & Benchmarking", "evaluation-metrics"),
            ("Decoding & Search Strategies", "decoding-search-strategies"),
        ],
    )
    def test_category_spellings(self, tmp_path: Path, spelling: str, slug: str) -> None:
        task = first_task(read_suite(write_suite(tmp_path / "s", info=info({"category": spelling}))))
        assert (task.info.category, task.info.category_source) == (slug, "upstream")

    @pytest.mark.parametrize("spelling", ["", None, ...])
    def test_an_empty_category_outside_the_28(self, tmp_path: Path, spelling: object) -> None:
        task = first_task(read_suite(write_suite(tmp_path / "s", info=info({"category": spelling}))))
        assert (task.info.category, task.info.category_source) == ("", "none")

    def test_an_empty_category_of_one_of_the_28_comes_from_the_facts(self, tmp_path: Path) -> None:
        given = info({"category": "", "goal_function": "spacy_result_to_conll"})
        task = first_task(read_suite(write_suite(tmp_path / "s", folder="31-Syn-Chain", info=given)))
        assert (task.info.category, task.info.category_source) == ("information-extraction", "ours")

    def test_another_function_of_that_folder_stays_outside(self, tmp_path: Path) -> None:
        task = first_task(read_suite(write_suite(tmp_path / "s", folder="31-Syn-Chain", info=info({"category": ""}))))
        assert task.info.category == ""

    def test_a_byte_order_mark(self, tmp_path: Path) -> None:
        data = b"\xef\xbb\xbf" + json.dumps(INFO).encode()
        assert first_task(read_suite(write_suite(tmp_path / "s", info=data))).reasons == ()

    def test_upstreams_test_in_the_repository_which_is_the_goal_file(self, tmp_path: Path) -> None:
        task = {
            "goal_file": "unit_test/unit_test_1.py",
            "unit_test_file": "unit_test/unit_test_1.py",
            "protocol": ...,
            "check": ...,
        }
        files = {"scoring-repo/unit_test/unit_test_1.py": MASKED}
        read = first_task(read_suite(write_suite(tmp_path / "s", info=info(task), files=files)))
        assert (read.info.protocol, read.info.environment) == ("upstream", "")
        assert read.reasons == ("the upstream protocol is not supported by this version yet",)
        assert read.grading is None
        assert read.masked_line == 8

    def test_the_paper_may_lie_in_the_repository_as_json(self, tmp_path: Path) -> None:
        files = {"paper.pdf": None, "scoring-repo/paper.json": '{"title": "Alpha"}'}
        suite = read_suite(write_suite(tmp_path / "s", files=files))
        assert suite.problems == []
        assert suite.papers[0].paper_file == b'{"title": "Alpha"}'

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


FORM_ERRORS = [
    pytest.param(b'{"a": 1,\n "b" 2}', "info.json:2:6: is not JSON: expecting ':' after a key", id="no colon"),
    pytest.param(b"", "info.json:1:1: is not JSON: Expecting value", id="empty file"),
    pytest.param(b'{"a": nan}', "info.json:1:7: is not JSON: Expecting value", id="not a value"),
    pytest.param(b'{"a": NaN}', "info.json:1:7: holds a number that is too long or not finite", id="NaN"),
    pytest.param(b'{"a": 1e999}', "info.json:1:7: holds a number that is too long or not finite", id="infinite"),
    pytest.param(b"9" * 5000, "info.json:1:1: holds a number that is too long or not finite", id="long number"),
    pytest.param(b"[" * 50, "info.json:1:33: is nested deeper than 32 levels", id="deep"),
    pytest.param(b'{"a": "\n"}', "info.json:1:8: is not JSON: Invalid control character at", id="raw newline"),
    pytest.param(b'{"a": 1}\n}', "info.json:2:1: has more text after the end of the JSON value", id="more"),
    pytest.param(b'{"a": 1,}', "info.json:1:9: is not JSON: expecting a key in double quotes", id="comma"),
    pytest.param(b'{\n "\xff": 1}', "info.json:2:3: is not UTF-8; save it as UTF-8", id="not UTF-8"),
    pytest.param(b"[1, 2]", "info.json:1:1: the file must be an object, not a list", id="a list"),
    pytest.param(b"{}", "info.json:1:1: implementations is missing: list one object per masked function", id="nothing"),
    pytest.param(
        b'{"implementations": [],\n "year": 2024,\n "implementations": []}',
        "info.json:3:2: repeats the key 'implementations'; keep one",
        id="duplicate key",
    ),
]

VALUE_ERRORS = [
    pytest.param({}, {"implementations": {}}, "implementations must be a list, not an object", id="no list"),
    pytest.param({}, {"implementations": [1]}, "implementations[0] must be an object, not a whole number", id="item"),
    pytest.param({}, {"year": "2024"}, "year must be a whole number, not a text", id="year"),
    pytest.param({}, {"year": True}, "year must be a whole number, not true or false", id="year true"),
    pytest.param({}, {"year": 3000}, "year must lie between 1900 and 2999, not 3000", id="year far"),
    pytest.param({}, {"paper_name": "a" * 301}, "paper_name is longer than 300 characters", id="long title"),
    pytest.param(
        {},
        {"paper_name": "a\0"},
        "paper_name holds characters that cannot be stored (NUL or half a surrogate pair)",
        id="NUL",
    ),
    pytest.param(
        {},
        {"paper_name": "\ud800"},
        "paper_name holds characters that cannot be stored (NUL or half a surrogate pair)",
        id="surrogate",
    ),
    pytest.param(
        {},
        {"paper_url": "javascript:alert(1)"},
        "paper_url must be an http or https address, not 'javascript:alert(1)'",
        id="script address",
    ),
    pytest.param({}, {"instance_id": "a" * 41}, "instance_id must be a number or a short text", id="long id"),
    pytest.param({}, {"instance_id": 10**400}, "instance_id must be a number or a short text", id="huge id"),
    pytest.param({"index": 0}, {}, "implementations[0].index must lie between 1 and 999, not 0", id="index 0"),
    pytest.param({"index": 2}, {}, "repeats the index 2; number the functions of a paper 1, 2, …", id="duplicate slug"),
    pytest.param(
        {"index": ...},
        {},
        "implementations[0].index is missing: number the functions of a paper 1, 2, …",
        id="no index",
    ),
    pytest.param(
        {"protocol": "open"},
        {},
        "implementations[0].protocol must be 'sealed' or 'upstream', not 'open'",
        id="protocol",
    ),
    pytest.param(
        {"environment": "../x"},
        {},
        "implementations[0].environment must be a short name such as 'numpy'",
        id="environment",
    ),
    pytest.param(
        {"retrieval_context": ["a"], "retrieval_content": ["b"]},
        {},
        "implementations[0] has both retrieval_context and retrieval_content, and they differ; keep one",
        id="two contexts",
    ),
    pytest.param(
        {"retrieval_context": [1]},
        {},
        "implementations[0].retrieval_context[0] must be a text, not a whole number",
        id="context type",
    ),
]

CHECK_ERRORS = [
    pytest.param({"cases_file": ...}, "check must name its cases_file", id="no cases"),
    pytest.param({"public_seeds": []}, "check.public_seeds must list 1 to 100 different whole numbers", id="no seeds"),
    pytest.param({"public_seeds": [1, 1]}, "check.public_seeds must list 1 to 100 different", id="same seeds"),
    pytest.param({"public_seeds": [True]}, "check.public_seeds must list 1 to 100 different", id="seed true"),
    pytest.param({"public_seeds": [-1]}, "check.public_seeds must list 1 to 100 different", id="negative seed"),
    pytest.param({"public_seeds": ...}, "check.public_seeds must list 1 to 100 different", id="seeds missing"),
    pytest.param({"private_seeds": 0}, "check.private_seeds must lie between 1 and 100, not 0", id="no private seeds"),
    pytest.param({"wall_seconds": 0}, "check.wall_seconds must lie between 0.1 and 3600, not 0", id="no time"),
    pytest.param({"memory_mb": 1.5}, "check.memory_mb must be a whole number, not a number", id="memory"),
    pytest.param({"seeds": 1}, "check.seeds is an unknown key; remove it or correct its spelling", id="unknown key"),
    pytest.param({"comparison": []}, "check.comparison must be an object, not a list", id="comparison"),
    pytest.param(
        {"comparison": {"default": {"rtol": -1}}},
        "check.comparison.default.rtol must lie between 0 and 1e+300, not -1",
        id="negative tolerance",
    ),
    pytest.param(
        {"comparison": {"default": {"tolerance": 1}}},
        "check.comparison.default.tolerance is an unknown key; remove it or correct its spelling",
        id="unknown rule",
    ),
    pytest.param(
        {"comparison": {"outputs": {"x": {"exact": True, "rtol": 1}}}},
        "check.comparison.outputs.x cannot be exact and have tolerances; remove one",
        id="contradiction",
    ),
    pytest.param(
        {"comparison": {"outputs": {"x": {"ordered": 1}}}},
        "check.comparison.outputs.x.ordered must be true or false, not a whole number",
        id="flag",
    ),
    pytest.param({"comparison": {"outputs": {"\n": {}}}}, "check.comparison.outputs names an output '\\n'", id="name"),
]


class TestErrorsOfForm:
    @pytest.mark.parametrize(("data", "message"), FORM_ERRORS)
    def test_json(self, tmp_path: Path, data: bytes, message: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=data))
        assert fatal(suite) == [f"01-Alpha/{message}"]

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

    @pytest.mark.parametrize("key", ["goal_file", "golden_file", "unit_test_file"])
    @pytest.mark.parametrize("path", ["../x.py", "/etc/passwd", "a/../../x", "a\\b", "a\nb"])
    def test_paths_that_leave(self, tmp_path: Path, key: str, path: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info({key: path})))
        (message,) = fatal(suite)
        assert f"implementations[0].{key}: {path!r} is not a path inside its folder" in message

    @pytest.mark.parametrize("path", ["..", ".", "/", "../01-Alpha"])
    def test_repository_paths_that_leave(self, tmp_path: Path, path: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info(repo_folder_name=path)))
        assert len(fatal(suite)) == 1
        assert f"repo_folder_name: {path!r} is not a path inside its folder" in fatal(suite)[0]

    def test_context_and_cases_paths_that_leave(self, tmp_path: Path) -> None:
        given = info({"retrieval_context": ["../a"], "check": {**CHECK, "cases_file": "../b"}})
        messages = fatal(read_suite(write_suite(tmp_path / "s", info=given)))
        assert any("retrieval_context: '../a' is not a path" in message for message in messages)
        assert any("check.cases_file: '../b' is not a path" in message for message in messages)

    @pytest.mark.parametrize(
        "name", ["golden_files/core_golden_1.py", "unit_test/cases.py", "scoring-repo/scoring/core.py", "paper.pdf"]
    )
    @pytest.mark.parametrize("exists", [True, False])
    def test_links_that_leave(self, tmp_path: Path, name: str, exists: bool) -> None:
        folder = write_suite(tmp_path / "s", files={name: None})
        if exists:
            (tmp_path / "secret").write_text(GOLDEN_1, encoding="utf-8")
        (folder / "01-Alpha" / name).symlink_to(tmp_path / "secret")
        assert fatal(read_suite(folder)) == [
            f"01-Alpha/{name}: {name!r} leads out of its folder through a symbolic link"
        ]

    def test_a_repository_that_is_a_link_out(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s", info=info(repo_folder_name="link"))
        (folder / "01-Alpha/link").symlink_to(tmp_path)
        assert fatal(read_suite(folder)) == ["01-Alpha/link: 'link' leads out of its folder through a symbolic link"]

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
            "empty: holds no paper: each lies in a folder of its own with an info.json"
        ]
        (message,) = fatal(read_suite(tmp_path / "nowhere"))
        assert "is not a folder that can be read" in message

    def test_every_error_is_listed(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s", info=info({"index": "one"}, year="x"))
        write_paper(folder, "02-Beta", info=b"{")
        (folder / "suite.json").write_text('{"title": 1}', encoding="utf-8")
        assert [message.split(": ", 1)[0] for message in fatal(read_suite(folder))] == [
            "suite.json:1:11",
            "01-Alpha/info.json:12:13",
            "01-Alpha/info.json:10:3",
            "01-Alpha/info.json:7:10",
            "02-Beta/info.json:1:2",
        ]


NOT_RUNNABLE = [
    pytest.param({"golden_file": ...}, {}, {}, "info.json names no golden_file", id="no golden file named"),
    pytest.param({"unit_test_file": ...}, {}, {}, "info.json names no unit_test_file", id="no unit test named"),
    pytest.param({"goal_file": ...}, {}, {}, "info.json names no goal_file", id="no goal file named"),
    pytest.param({"goal_function": ...}, {}, {}, "info.json names no goal_function", id="no goal function named"),
    pytest.param({"instruction": ""}, {}, {}, "info.json gives no instruction", id="no instruction"),
    pytest.param({"check": ...}, {}, {}, "the protocol is sealed but no check is declared", id="no check"),
    pytest.param(
        {}, {"repo_folder_name": ...}, {}, "info.json names no repository folder (repo_folder_name)", id="no repository"
    ),
    pytest.param({}, {"repo_folder_name": "x"}, {}, "the repository folder 'x' is missing", id="repository missing"),
    pytest.param(
        {},
        {},
        {"golden_files/core_golden_1.py": None},
        "golden_file golden_files/core_golden_1.py is missing",
        id="golden",
    ),
    pytest.param({}, {}, {"unit_test/cases.py": None}, "cases_file unit_test/cases.py is missing", id="cases"),
    pytest.param({}, {}, {"unit_test/run_1.py": None}, "unit_test_file unit_test/run_1.py is missing", id="run"),
    pytest.param(
        {},
        {},
        {"golden_files/core_golden_1.py": "x = 1\n"},
        "golden_files/core_golden_1.py does not define the function 'double' at module level",
        id="golden without goal",
    ),
    pytest.param(
        {},
        {},
        {"golden_files/core_golden_1.py": LFS},
        "golden_file golden_files/core_golden_1.py is only a Git LFS pointer; fetch the file with 'git lfs pull'",
        id="LFS",
    ),
    pytest.param(
        {},
        {},
        {"unit_test/cases.py": "def cases(:\n"},
        "unit_test/cases.py is not Python source: invalid syntax",
        id="cases do not parse",
    ),
    pytest.param(
        {}, {}, {"unit_test/run_1.py": "x = 1\n"}, "unit_test/run_1.py does not define the function 'run'", id="no run"
    ),
    pytest.param(
        {},
        {},
        {"golden_files/core_golden_1.py": MASKED},
        "double is the same in the goal file and the golden file: nothing is masked",
        id="not masked",
    ),
    pytest.param(
        {},
        {},
        {"scoring-repo/backup/old.py": GOLDEN_1},
        "the masked repository holds a copy of golden_files/core_golden_1.py (backup/old.py): it gives the answer away",
        id="golden copy in the repository",
    ),
    pytest.param(
        {"golden_file": "scoring-repo/g.py"},
        {},
        {"scoring-repo/g.py": GOLDEN_1 + "\n# other\n"},
        "golden_file scoring-repo/g.py lies inside the masked repository, where candidates can read it",
        id="golden in the repository",
    ),
    pytest.param(
        {"goal_file": "__pycache__/core.py"},
        {},
        {"scoring-repo/__pycache__/core.py": MASKED},
        "goal_file scoring-repo/__pycache__/core.py lies in a folder that is not imported",
        id="goal in a cache",
    ),
]


class TestNotRunnable:
    @pytest.mark.parametrize(("task", "changes", "files", "reason"), NOT_RUNNABLE)
    def test_reason(
        self, tmp_path: Path, task: dict[str, Any], changes: dict[str, Any], files: dict[str, Any], reason: str
    ) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info(task, **changes), files=files))
        read = first_task(suite)
        assert reason in read.reasons
        assert read.grading is None
        assert any(f"alpha/1 is not runnable: {reason}" in remark for remark in remarks(suite))

    def test_the_other_task_of_the_paper_is_unharmed(self, tmp_path: Path) -> None:
        suite = read_suite(write_suite(tmp_path / "s", files={"golden_files/core_golden_1.py": None}))
        assert [bool(task.reasons) for task in suite.papers[0].tasks] == [True, False]

    def test_a_goal_file_without_the_goal(self, tmp_path: Path) -> None:
        found = reasons(tmp_path, info=info({"goal_function": "score"}))
        reason = "does not define the function 'score' at module level (class_name may have to be one of: Scorer)"
        assert found == (f"golden_files/core_golden_1.py {reason}", f"scoring-repo/scoring/core.py {reason}")

    def test_an_unreadable_test_is_told_with_its_line(self, tmp_path: Path) -> None:
        suite = read_suite(write_suite(tmp_path / "s", files={"unit_test/run_1.py": "x = 1\ndef run(:\n"}))
        file = "unit_test/run_1.py"
        reason = f"{file} is not Python source: invalid syntax"
        assert remarks(suite) == [f"01-Alpha/{file}:2: alpha/1 is not runnable: {reason}"]

    def test_a_link_inside_is_not_followed(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s", files={"golden_files/core_golden_1.py": None})
        (folder / "01-Alpha/golden_files/core_golden_1.py").symlink_to("core_golden_2.py")
        assert first_task(read_suite(folder)).reasons == (
            "golden_file golden_files/core_golden_1.py is a symbolic link; replace it by the file itself",
        )


class TestBigAndChangingFolders:
    """Limits are lowered nowhere: sparse files cost nothing."""

    def test_a_file_that_is_too_big(self, suite_folder: Path) -> None:
        big = suite_folder / "01-Alpha/scoring-repo/data.bin"
        with big.open("wb") as file:
            file.truncate(MAXIMUM_FILE_BYTES + 1)
        assert first_task(read_suite(suite_folder)).reasons == (
            "the repository folder 'scoring-repo' holds a file of more than 16 MB (data.bin)",
        )

    def test_a_repository_that_is_too_big(self, suite_folder: Path) -> None:
        for number in range(MAXIMUM_TREE_BYTES // MAXIMUM_FILE_BYTES):
            with (suite_folder / f"01-Alpha/scoring-repo/{number}.bin").open("wb") as file:
                file.truncate(MAXIMUM_FILE_BYTES)
        assert first_task(read_suite(suite_folder)).reasons == (
            "the repository folder 'scoring-repo' holds more than 128 MB",
        )

    def test_a_golden_file_that_is_too_big(self, suite_folder: Path) -> None:
        with (suite_folder / "01-Alpha/golden_files/core_golden_1.py").open("ab") as file:
            file.truncate(MAXIMUM_FILE_BYTES + 1)
        assert first_task(read_suite(suite_folder)).reasons == (
            "golden_file golden_files/core_golden_1.py is larger than 16 MB",
        )

    def test_a_file_that_is_gone_when_it_is_read(self, suite_folder: Path) -> None:
        with pytest.raises(UnusableFileError, match=r"gone\.py cannot be read \(No such file or directory\)"):
            read_files(suite_folder, ["suite.json", "gone.py"])


class TestRemarks:
    def test_links_in_the_repository_are_left_out(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s")
        (folder / "01-Alpha/scoring-repo/link.txt").symlink_to("/etc/passwd")
        (folder / "01-Alpha/scoring-repo/up").symlink_to("..")
        suite = read_suite(folder)
        assert first_task(suite).reasons == ()
        assert remarks(suite) == [
            "01-Alpha/scoring-repo/up: is a symbolic link; left out",
            "01-Alpha/scoring-repo/link.txt: is a symbolic link; left out",
        ]
        assert "link.txt" not in suite.papers[0].repository_files

    def test_unknown_keys_missing_context_and_no_paper(self, tmp_path: Path) -> None:
        given = info({"retrieval_context": ["gone.py"], "protcol": "sealed"})
        suite = read_suite(write_suite(tmp_path / "s", info=given, files={"paper.pdf": b"not a pdf"}))
        assert first_task(suite).reasons == ()
        assert [remark.split(": ", 1)[1] for remark in remarks(suite)] == [
            "implementations[0].protcol is an unknown key; remove it or correct its spelling (ignored)",
            "is named as context of alpha/1 but is missing",
            "is not a PDF file; left out",
            "is missing: there is no publication to read with the task",
        ]

    def test_a_problem_prints_like_a_compilers(self) -> None:
        assert str(ImportProblem("a/info.json", "is bad", 3, 7)) == "a/info.json:3:7: is bad"
        assert str(ImportProblem("a/x.py", "is bad", 3)) == "a/x.py:3: is bad"
        assert str(ImportProblem("a", "is bad")) == "a: is bad"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("../x"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
task_keys = st.sampled_from([*INFO["implementations"][0], "retrieval_content", "other"])
check_keys = st.sampled_from([*CHECK, "other"])
paper_keys = st.sampled_from([key for key in INFO if key != "implementations"])
fuzzed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class TestFuzz:
    """Whatever lies in info.json: problems, never an exception."""

    @fuzzed
    @given(st.binary(max_size=300))
    def test_any_bytes(self, tmp_path: Path, data: bytes) -> None:
        assert read_suite(write_suite(tmp_path / "s", info=data)).refused

    @fuzzed
    @given(json_values)
    def test_any_json(self, tmp_path: Path, value: object) -> None:
        assert read_suite(write_suite(tmp_path / "s", info=json.dumps(value).encode())).refused

    @fuzzed
    @given(
        st.dictionaries(task_keys, json_values, max_size=3),
        st.dictionaries(paper_keys, json_values, max_size=2),
        st.dictionaries(check_keys, json_values, max_size=2),
    )
    def test_a_good_file_with_anything_in_it(
        self, tmp_path: Path, task: dict[str, Any], paper: dict[str, Any], check: dict[str, Any]
    ) -> None:
        made = info({"check": {**CHECK, **check}, **task}, **paper)
        suite = read_suite(write_suite(tmp_path / "s", info=json.dumps(made).encode()))
        assert all(isinstance(problem, ImportProblem) for problem in suite.problems)
        assert suite.refused or suite.papers
