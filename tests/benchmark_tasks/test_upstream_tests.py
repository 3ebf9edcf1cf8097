"""Upstream's unit tests: which file is taken, and which data is missing."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.folders import LFS_ADVICE
from benchmark_tasks.domain.upstream_tests import choose_unit_test, missing_data

TEST = "unit_test/unit_test_1.py"


def reasons(code: str, *, files: tuple[str, ...] = (), pointers: tuple[str, ...] = ()) -> list[str]:
    return missing_data(TEST, ast.parse(code), {TEST, *files, *pointers}, pointers)


class TestChoice:
    @pytest.mark.parametrize(
        ("named", "index", "files", "chosen"),
        [
            ("unit_test/unit_test_1.py", 1, ["unit_test/unit_test_1.py", "unit_test/unit_test_2.py"], TEST),
            ("unit_test/unit_test.py", 1, ["unit_test/unit_test_1.py"], TEST),
            ("unit_test/unit_test_1.py", 1, ["unit_test/unit_test.py"], "unit_test/unit_test.py"),
            ("", 1, ["unit_test/unit_test_1.py"], TEST),
            ("unit_test/unit_test_1.py", 1, ["unit_test/test_lion_init.py", "unit_test/test_lion_step.py"], ""),
            ("unit_test/unit_test_3.py", 3, ["unit_test/unit_test_1.py", "unit_test/unit_test_2.py"], ""),
            ("unit_test/unit_test_1.py", 1, ["tests/unit_test_1.py", "unit_test/data/unit_test_1.py"], ""),
        ],
    )
    def test_chosen(self, named: str, index: int, files: list[str], chosen: str) -> None:
        assert choose_unit_test(named, index, files) == chosen


class TestPointers:
    @pytest.mark.parametrize(
        "code",
        [
            'open("./data//a.tsv")',
            'Path(__file__).parent / "data" / "a.tsv"',
            'os.path.join(root, "data", "a.tsv")',
            'open(f"data/{name}.tsv")',
            'class T:\n    def setUp(self):\n        self.x = read(path="data/a.tsv")',
        ],
    )
    def test_spellings_of_a_path(self, code: str) -> None:
        assert reasons(code, pointers=("data/a.tsv",)) == [f"data/a.tsv {LFS_ADVICE}"]

    @pytest.mark.parametrize("text", ["../a_9.pt", "./../a_9.pt"])
    def test_a_path_may_leave_the_tests_folder(self, text: str) -> None:
        """SimCLR's test names its data in this way, relative to its own folder."""
        code = f'os.path.join(os.path.dirname(__file__), "{text}")'
        assert reasons(code, pointers=("a_9.pt",)) == [f"a_9.pt {LFS_ADVICE}"]
        assert reasons(code, files=("a_9.pt",)) == []
        assert reasons(code) == [f"../a_9.pt, which {TEST} reads, is missing"]

    def test_pointers_in_the_tests_folder_and_of_modules_are_named(self) -> None:
        pointers = ("unit_test/tensors/losses.pt", "unit_test/x.npy", "src/model.py", "weights.bin")
        assert reasons("pass", pointers=pointers) == [
            f"{path} {LFS_ADVICE}" for path in ("src/model.py", "unit_test/tensors/losses.pt", "unit_test/x.npy")
        ]


class TestMissing:
    @pytest.mark.parametrize(
        ("code", "path"),
        [
            ('torch.load("unit_test/tensors/losses.pt")', "unit_test/tensors/losses.pt"),
            ('np.load(os.path.join(here, "list_acc.npy"))', "list_acc.npy"),
            ('with open("unit_test/out.pkl", "rb") as file:\n    pickle.load(file)', "unit_test/out.pkl"),
        ],
    )
    def test_missing_data_is_named(self, code: str, path: str) -> None:
        assert reasons(code) == [f"{path}, which {TEST} reads, is missing"]
        assert reasons(code, files=(path,)) == []

    @pytest.mark.parametrize(
        "code",
        [
            'torch.save(x, "out.pt")',
            'with open("out.pkl", "wb") as file:\n    pickle.dump(x, file)',
            'path = "out.pt"\ntorch.save(x, path)\ntorch.load(path)',
            'path = "tensors/state.pt"\nif os.path.exists(path):\n    torch.load(path)',
            'x = f"test_data_seed{seed}.pt"',
            'url = "https://example.org/a.pt"',
        ],
    )
    def test_other_paths_are_not_missing_data(self, code: str) -> None:
        assert reasons(code) == []


@given(st.lists(st.text(max_size=12), max_size=8), st.sets(st.sampled_from(["a.pt", "b/c.npy", "unit_test/d.pkl"])))
def test_any_texts_are_read(texts: list[str], pointers: set[Any]) -> None:
    code = "\n".join(f"f({text!r})\nx = {text!r}" for text in texts)
    found = reasons(code, pointers=tuple(pointers))
    assert all(isinstance(reason, str) for reason in found)


def test_deep_expressions_are_read() -> None:
    assert reasons("x = " + "+".join(["'a.pt'"] * 900)) == [f"a.pt, which {TEST} reads, is missing"]
    assert reasons("torch.save(" + "a" + ".b" * 80 + ", 'a.pt')") == []
