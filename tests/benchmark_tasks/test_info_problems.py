"""Reading suite folders: everything that can be wrong with one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.domain.suite_folder import read_suite
from tests.benchmark_tasks.factories import (
    CHECK,
    GOLDEN_1,
    info,
    write_paper,
    write_suite,
)
from tests.benchmark_tasks.reading import fatal, remarks

if TYPE_CHECKING:
    from pathlib import Path

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"

FORM_ERRORS = [
    pytest.param(b'{"a": 1,\n "b" 2}', "info.json:2:6: is not JSON: Expecting ':' delimiter", id="no colon"),
    pytest.param(b"", "info.json:1:1: is not JSON: Expecting value", id="empty file"),
    pytest.param(b'{"a": NaN}', "info.json: holds NaN, which is not a JSON number", id="NaN"),
    pytest.param(b'{"a": 1}\n}', "info.json:2:1: is not JSON: Extra data", id="more"),
    pytest.param(b'{\n "\xff": 1}', "info.json:2:3: is not UTF-8 text", id="not UTF-8"),
    pytest.param(b"[1, 2]", "info.json:1:1: the file must be an object, not a list", id="a list"),
    pytest.param(b"{}", "info.json:1:1: implementations is missing; add it", id="nothing"),
    pytest.param(
        b'{"implementations": [],\n "year": 2024,\n "implementations": []}',
        "info.json: has the key 'implementations' twice in one object; keep one",
        id="duplicate key",
    ),
]

VALUE_ERRORS = [
    ({}, {"implementations": {}}, "implementations must be a list, not an object"),
    ({}, {"implementations": [1]}, "implementations[0] must be an object, not 1"),
    ({}, {"year": "2024"}, 'year must be a whole number, not "2024"'),
    ({}, {"year": True}, "year must be a whole number, not true"),
    ({}, {"year": 3000}, "year must be at most 2999, not 3000"),
    ({}, {"paper_name": "a" * 301}, "paper_name has more than 300 characters; shorten it"),
    (
        {},
        {"paper_url": "javascript:alert(1)"},
        "paper_url must be an http or https address, not 'javascript:alert(1)'",
    ),
    ({}, {"instance_id": "a" * 41}, "instance_id must be a number or a short text"),
    ({"index": 0}, {}, "implementations[0].index must be at least 1, not 0"),
    ({"index": 2}, {}, "the file repeats the index 2; number the functions of a paper 1, 2, …"),
    ({"index": ...}, {}, "implementations[0].index is missing; add it"),
    ({"protocol": "open"}, {}, "implementations[0].protocol must be one of 'sealed' or 'upstream', not \"open\""),
    ({"environment": "../x"}, {}, "implementations[0].environment must be a short name such as 'numpy'"),
    (
        {"retrieval_context": ["a"], "retrieval_content": ["b"]},
        {},
        "implementations[0] has both retrieval_context and retrieval_content, and they differ; keep one",
    ),
    ({"retrieval_context": [1]}, {}, "implementations[0].retrieval_context[0] must be a text in quotes, not 1"),
]

CHECK_ERRORS = [
    ({"cases_file": ...}, "check.cases_file is missing; add it"),
    ({"public_seeds": []}, "check.public_seeds must have at least 1 items"),
    ({"public_seeds": [1, 1]}, "check.public_seeds must be different whole numbers"),
    ({"public_seeds": [True]}, "check.public_seeds[0] must be a whole number, not true"),
    ({"public_seeds": [-1]}, "check.public_seeds[0] must be at least 0, not -1"),
    ({"public_seeds": ...}, "check.public_seeds is missing; add it"),
    ({"private_seeds": 0}, "check.private_seeds must be at least 1, not 0"),
    ({"wall_seconds": 0}, "check.wall_seconds must be at least 0.1, not 0"),
    ({"memory_mb": 1.5}, "check.memory_mb must be a whole number, not 1.5"),
    ({"seeds": 1}, "check.seeds is an unknown key; "),
    ({"comparison": []}, "check.comparison must be an object, not a list"),
    ({"comparison": {"default": {"rtol": -1}}}, "check.comparison.default.rtol must be at least 0.0, not -1"),
    ({"comparison": {"default": {"tolerance": 1}}}, "check.comparison.default.tolerance is an unknown key; "),
    (
        {"comparison": {"outputs": {"x": {"exact": True, "rtol": 1}}}},
        "check.comparison.outputs.x cannot be exact and have tolerances; remove one",
    ),
    (
        {"comparison": {"outputs": {"x": {"ordered": 1}}}},
        "check.comparison.outputs.x.ordered must be true or false, not 1",
    ),
    ({"comparison": {"outputs": {"\n": {}}}}, "check.comparison.outputs.'\\n'."),
    ({"equivalent_mutants": {}}, "check.equivalent_mutants must be a list, not an object"),
    ({"equivalent_mutants": [{"mutant": "line 1"}]}, "check.equivalent_mutants[0].reason is missing; add it"),
    (
        {"equivalent_mutants": [{"mutant": "m" * 301, "reason": "r"}]},
        "check.equivalent_mutants[0].mutant has more than 300 characters; shorten it",
    ),
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

    @pytest.mark.parametrize("key", ["goal_file", "golden_file", "unit_test_file"])
    @pytest.mark.parametrize("path", ["../x.py", "/etc/passwd", "a/../../x", "a\\b", "a\nb"])
    def test_paths_that_leave(self, tmp_path: Path, key: str, path: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info({key: path})))
        (message,) = fatal(suite)
        assert f"implementations[0].{key} {path!r} is not a path inside its folder" in message

    @pytest.mark.parametrize("path", ["..", ".", "/", "../01-Alpha"])
    def test_repository_paths_that_leave(self, tmp_path: Path, path: str) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info(repo_folder_name=path)))
        assert len(fatal(suite)) == 1
        assert f"repo_folder_name {path!r} is not a path inside its folder" in fatal(suite)[0]

    def test_context_and_cases_paths_that_leave(self, tmp_path: Path) -> None:
        given = info({"retrieval_context": ["../a"], "check": {**CHECK, "cases_file": "../b"}})
        messages = fatal(read_suite(write_suite(tmp_path / "s", info=given)))
        assert any("retrieval_context[0] '../a' is not a path" in message for message in messages)
        assert any("check.cases_file '../b' is not a path" in message for message in messages)

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
        nowhere = tmp_path / "nowhere"
        assert fatal(read_suite(nowhere)) == [f"{nowhere}: there is no such folder"]
        nowhere.touch()
        assert fatal(read_suite(nowhere)) == [f"{nowhere}: is not a folder that can be read (Not a directory)"]

    @pytest.mark.parametrize("task", [{"goal_file": "../x.py"}, {"unit_test_file": []}, {"check": 1}, {"index": 0}])
    def test_what_was_given_wrongly_is_not_called_missing_too(self, tmp_path: Path, task: dict[str, Any]) -> None:
        suite = read_suite(write_suite(tmp_path / "s", info=info(task)))
        assert len(fatal(suite)) == 1
        assert remarks(suite) == []

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

    def test_every_error_is_listed(self, tmp_path: Path) -> None:
        folder = write_suite(tmp_path / "s", info=info({"index": "one"}, year="x"))
        write_paper(folder, "02-Beta", info=b"{")
        (folder / "suite.json").write_text('{"title": 1}', encoding="utf-8")
        assert [message.split(": ", 1)[0] for message in fatal(read_suite(folder))] == [
            "suite.json:1:11",
            "01-Alpha/info.json:7:10",
            "01-Alpha/info.json:12:13",
            "02-Beta/info.json:1:2",
        ]
        assert read_suite(folder).refused
