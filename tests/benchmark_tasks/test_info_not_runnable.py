"""Reading suite folders: what makes tasks not runnable, limits, remarks, and fuzzing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.folders import (
    LFS_ADVICE,
    MAXIMUM_FILE_BYTES,
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
from tests.benchmark_tasks.reading import first_task, remarks
from tests.conftest import examples

if TYPE_CHECKING:
    from pathlib import Path

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"

GOLDEN = "golden_files/core_golden_1.py"
CORE = "scoring-repo/scoring/core.py"
NOT_RUNNABLE: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({"golden_file": ...}, {}, {}, "info.json names no golden_file"),
    ({"goal_function": ...}, {}, {}, "info.json names no goal_function"),
    ({"instruction": ""}, {}, {}, "info.json gives no instruction"),
    ({"check": ...}, {}, {}, "the protocol is sealed but no check is declared"),
    ({}, {"repo_folder_name": ...}, {}, "info.json names no repository folder (repo_folder_name)"),
    ({}, {"repo_folder_name": "x"}, {}, "the repository folder 'x' is missing"),
    ({}, {}, {GOLDEN: None}, f"golden_file {GOLDEN} is missing"),
    ({}, {}, {"unit_test/cases.py": None}, "cases_file unit_test/cases.py is missing"),
    ({}, {}, {GOLDEN: "x = 1\n"}, f"{GOLDEN} does not define the function 'double' at module level"),
    ({}, {}, {GOLDEN: LFS}, f"golden_file {GOLDEN} {LFS_ADVICE}"),
    ({}, {}, {"unit_test/cases.py": "def cases(:\n"}, "unit_test/cases.py is not valid Python: invalid syntax"),
    ({}, {}, {"unit_test/run_1.py": "x = 1\n"}, "unit_test/run_1.py does not define the function 'run'"),
    ({}, {}, {GOLDEN: MASKED}, "double is the same in the goal file and the golden file: nothing is masked"),
    (
        *({}, {}, {"scoring-repo/backup/old.py": GOLDEN_1}),
        f"the masked repository holds a copy of {GOLDEN} (backup/old.py): it gives the answer away",
    ),
    (
        *({"golden_file": "scoring-repo/g.py"}, {}, {"scoring-repo/g.py": GOLDEN_1 + "\n# other\n"}),
        "golden_file scoring-repo/g.py lies inside the masked repository, where candidates can read it",
    ),
    (
        *({"goal_file": "__pycache__/core.py"}, {}, {"scoring-repo/__pycache__/core.py": MASKED}),
        "goal_file scoring-repo/__pycache__/core.py lies in a folder that is not imported",
    ),
    ({}, {}, {CORE: f"{MASKED}\nreturn\n"}, f"{CORE} does not compile: 'return' outside function"),
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

    def test_a_link_inside_is_not_followed(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s", files={"golden_files/core_golden_1.py": None})
        (folder / "01-Alpha/golden_files/core_golden_1.py").symlink_to("core_golden_2.py")
        assert first_task(read_suite(folder)).reasons == (
            "golden_file golden_files/core_golden_1.py is a symbolic link; replace it by the file itself",
        )


class TestBigAndChangingFolders:
    """The real limits apply: sparse files cost nothing."""

    def test_a_file_that_is_too_big(self, suite_folder: Path) -> None:
        big = suite_folder / "01-Alpha/scoring-repo/data.bin"
        with big.open("wb") as file:
            file.truncate(MAXIMUM_FILE_BYTES + 1)
        assert first_task(read_suite(suite_folder)).reasons == (
            "the repository folder 'scoring-repo' holds a file of more than 64 MB (data.bin)",
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


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("../x"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
task_keys = st.sampled_from([*INFO["implementations"][0], "retrieval_content", "other"])
check_keys = st.sampled_from([*CHECK, "other"])
paper_keys = st.sampled_from([key for key in INFO if key != "implementations"])
fuzzed = settings(max_examples=examples(60))


class TestFuzz:
    """Any info.json yields problems, never an exception."""

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
