"""Reading suite folders: what makes tasks not runnable, limits, remarks, and fuzzing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.folders import (
    MAXIMUM_FILE_BYTES,
    MAXIMUM_SOURCE_BYTES,
    MAXIMUM_TREE_BYTES,
    MAXIMUM_TREE_FILES,
    Listing,
)
from benchmark_tasks.domain.problems import ImportProblem
from benchmark_tasks.domain.suite_folder import read_suite
from tests.benchmark_tasks.factories import (
    CHECK,
    GOLDEN_1,
    INFO,
    MASKED,
    info,
    write_suite,
)
from tests.benchmark_tasks.reading import first_task, reasons, remarks

if TYPE_CHECKING:
    from pathlib import Path

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"

GUARDED = "try:\n    def double(x):\n        return x\nexcept NameError:\n    def double(x):\n        return 2 * x\n"

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
        "golden_file golden_files/core_golden_1.py is a Git LFS pointer; fetch the file with 'git lfs pull' "
        "and import again",
        id="LFS",
    ),
    pytest.param(
        {},
        {},
        {"unit_test/cases.py": "def cases(:\n"},
        "unit_test/cases.py is not valid Python: invalid syntax",
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
    pytest.param(
        {},
        {},
        {"scoring-repo/scoring/core.py": f"if WEIGHTS:\n    pass\n{GUARDED}"},
        "scoring-repo/scoring/core.py defines 'double' several times under conditions (lines 4, 7), so it cannot be "
        "told which one is meant",
        id="goal defined twice under conditions",
    ),
    pytest.param(
        {},
        {},
        {"golden_files/core_golden_1.py": GUARDED},
        "golden_files/core_golden_1.py defines 'double' several times under conditions (lines 2, 5), so it cannot be "
        "told which one is meant",
        id="golden function defined twice under conditions",
    ),
    pytest.param(
        {},
        {},
        {"scoring-repo/scoring/core.py": f"# coding: latin-1\nNAME = 'é'\n{MASKED}".encode("latin-1")},
        "scoring-repo/scoring/core.py is not readable as UTF-8 text ('utf-8' codec can't decode byte 0xe9 in position "
        "26: invalid continuation byte); convert it",
        id="goal file in another encoding",
    ),
    pytest.param(
        {},
        {},
        {"scoring-repo/scoring/core.py": f"{MASKED}\nreturn\n"},
        "scoring-repo/scoring/core.py does not compile: 'return' outside function",
        id="goal file that parses but does not compile",
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
        found = reasons(tmp_path, info=info({"goal_function": "score", "class_name": "Judge"}))
        reason = "does not define the method 'score' in the class 'Judge' (class_name may have to be one of: Scorer)"
        assert found == (f"golden_files/core_golden_1.py {reason}", f"scoring-repo/scoring/core.py {reason}")

    def test_an_unreadable_test_is_told_with_its_line(self, tmp_path: Path) -> None:
        suite = read_suite(write_suite(tmp_path / "s", files={"unit_test/run_1.py": "x = 1\ndef run(:\n"}))
        file = "unit_test/run_1.py"
        reason = f"{file} is not valid Python: invalid syntax"
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
            "the repository folder 'scoring-repo' holds a file of more than 64 MB (data.bin)",
        )

    def test_a_repository_that_is_too_big(self, suite_folder: Path) -> None:
        for number in range(MAXIMUM_TREE_BYTES // MAXIMUM_FILE_BYTES):
            with (suite_folder / f"01-Alpha/scoring-repo/{number}.bin").open("wb") as file:
                file.truncate(MAXIMUM_FILE_BYTES)
        assert first_task(read_suite(suite_folder)).reasons == (
            "the repository folder 'scoring-repo' holds more than 256 MB",
        )

    def test_a_golden_file_that_is_too_big(self, suite_folder: Path) -> None:
        with (suite_folder / "01-Alpha/golden_files/core_golden_1.py").open("ab") as file:
            file.truncate(MAXIMUM_SOURCE_BYTES + 1)
        assert first_task(read_suite(suite_folder)).reasons == (
            "golden_file golden_files/core_golden_1.py is larger than 4 MB",
        )

    def test_a_listing_of_too_many_files(self) -> None:
        listing = Listing()
        for number in range(MAXIMUM_TREE_FILES):
            listing.add(f"{number}.py", 1)
        assert (listing.excess, listing.total) == ("", MAXIMUM_TREE_FILES)
        listing.add("one_more.py", 1)
        assert listing.excess == "holds more than 20000 files"


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
            "implementations[0].protcol is an unknown key; did you mean 'protocol'? (ignored)",
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
fuzzed = settings(max_examples=150)


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
