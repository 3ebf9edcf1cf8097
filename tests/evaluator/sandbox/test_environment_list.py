"""The operator's list of environments: what it may say, and what a mistake in it is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry, EnvironmentList, read_environment_list
from evaluator.sandbox.packages import REQUIREMENTS
from evaluator.sandbox.types import SandboxError

WHOLE = """\
# Ours.
[environments.torch-cpu]
packages = "torch"
memory_mb = 4096
wall_seconds = 600

[environments.conda]
rootfs = "{folder}/conda"
image = "registry.example/conda@sha256:0123"

[environments.text]
requirements = "text.txt"

[tasks]
"lmr-bench/dpo/*" = "conda"
"lmr-bench/*" = "torch-cpu"
"*" = "numpy"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What ``WHOLE`` names."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "conda").mkdir()
    (tmp_path / "text.txt").touch()
    return tmp_path


def read(folder: Path, text: str) -> EnvironmentList:
    file = folder / "environments.toml"
    file.write_text(text, encoding="utf-8")
    return read_environment_list(file)


def test_a_whole_file_is_read(folder: Path) -> None:
    found = read(folder, WHOLE.format(folder=folder))
    assert found.entries == (
        EnvironmentEntry("torch-cpu", packages=folder / "torch", memory_mb=4096, wall_seconds=600),
        EnvironmentEntry("conda", rootfs=folder / "conda", image="registry.example/conda@sha256:0123"),
        EnvironmentEntry("text", requirements=folder / "text.txt"),
    )
    assert found.names() == ["conda", "numpy", "text", "torch-cpu"]


@pytest.mark.parametrize(
    ("task", "environment"),
    [("lmr-bench/dpo/1", "conda"), ("lmr-bench/simpo/1", "torch-cpu"), ("lmr-mini/welford/1", "numpy")],
)
def test_the_first_pattern_that_matches_decides(folder: Path, task: str, environment: str) -> None:
    assert read(folder, WHOLE.format(folder=folder)).environment_for(task) == environment


def test_without_a_file_only_the_shipped_lists_and_papers_are_known() -> None:
    found = read_environment_list(None)
    assert found == SHIPPED
    assert found.entry("numpy") == EnvironmentEntry("numpy", requirements=REQUIREMENTS / "box-numpy.txt")
    assert found.entry("paper-0123456789ab") == EnvironmentEntry("paper-0123456789ab")
    assert found.environment_for("lmr-bench/dpo/1") is None


def test_an_unknown_environment_says_what_there_is_and_what_to_do() -> None:
    with pytest.raises(SandboxError) as refused:
        SHIPPED.entry("fortran")
    assert str(refused.value) == (
        f"environment 'fortran': {REQUIREMENTS / 'box-fortran.txt'} does not exist; known environments: ['numpy']. "
        "Name it under [environments.fortran] in the file that ENVIRONMENTS_FILE names (docs/operating.md)"
    )


def test_images_have_our_names_unless_another_is_named(folder: Path) -> None:
    found = read(folder, WHOLE.format(folder=folder)).with_numpy_image("registry.example/numpy:1")
    names = ("torch-cpu", "conda", "numpy", "paper-0123456789ab")
    assert [found.image(name) for name in names] == [
        "lmr-board-box-torch-cpu",
        "registry.example/conda@sha256:0123",
        "registry.example/numpy:1",
        "lmr-board-box-paper-0123456789ab",
    ]
    assert SHIPPED.image("numpy") == "lmr-board-box-numpy"


def test_the_operators_entry_comes_before_the_shipped_one(folder: Path) -> None:
    found = read(folder, '[environments.numpy]\nimage = "mine"\n').with_numpy_image("other")
    assert found.entry("numpy") == EnvironmentEntry("numpy", image="mine")
    assert found.image("numpy") == "mine"


def test_equal_files_make_equal_lists_that_can_be_keys(folder: Path) -> None:
    first, second = (read(folder, WHOLE.format(folder=folder)) for _ in range(2))
    assert len({first, second}) == 1
    assert first != read(folder, WHOLE.format(folder=folder).replace("4096", "4097"))


def test_a_byte_order_mark_does_no_harm(folder: Path) -> None:
    file = folder / "environments.toml"
    file.write_bytes(b"\xef\xbb\xbf[tasks]\r\n'*' = 'numpy'\r\n")
    assert read_environment_list(file).tasks == (("*", "numpy"),)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[environment.a]\n", 1, "the file has the unknown key 'environment': is 'environments' meant?"),
        ("a = 1\n", 1, "the file has the unknown key 'a': there are environments, tasks"),
        ("environments = 1\n", 1, "environments must be a table: [environments]"),
        ("[environments]\na = 1\n", 2, "a must be a table: [environments.a]"),
        ("\n[environments.A]\nimage='x'\n", 2, "environment 'A': a name has only lower-case letters"),
        ("[environments.a]\n", 1, "[environments.a] says nothing of what it is made from"),
        ("[environments.a]\nimages = 'x'\n", 2, "[environments.a] has the unknown key 'images': is 'image' meant?"),
        ("[environments.a]\nimage = ' '\n", 2, "image must be an image's name in quotes, not ' '"),
        ("[environments.a]\nimage = 3\n", 2, "image must be an image's name in quotes, not 3"),
        ("[environments.a]\npackages = []\n", 2, "packages must be a path in quotes, not []"),
        ("[environments.a]\n\npackages = 'no'\n", 3, "the folder {folder}/no does not exist: make it, or correct"),
        ("[environments.a]\nrequirements = 'torch'\n", 2, "the file {folder}/torch does not exist"),
        ("[environments.a]\nrootfs = 'text.txt'\n", 2, "the folder {folder}/text.txt does not exist"),
        (
            "[environments.a]\nrootfs = 'conda'\npackages = 'torch'\n",
            2,
            "[environments.a] has packages and rootfs: keep one of them",
        ),
        (
            "[environments.a]\nimage = 'x'\nmemory_mb = '4 GB'\n",
            3,
            "memory_mb must be a whole number of megabytes from 64 to",
        ),
        ("[environments.a]\nimage = 'x'\nmemory_mb = true\n", 3, "memory_mb must be a whole number"),
        ("[environments.a]\nimage = 'x'\nwall_seconds = 0\n", 3, "wall_seconds must be a whole number of seconds"),
        ("[environments.paper-0123456789ab]\nimage = 'x'\n", 1, "is the name of a paper's own environment"),
        ("[tasks]\n'*' = 1\n", 2, "the environment of '*' must be a name in quotes, not 1"),
        ("[tasks]\n# one\n'*' = 'nunpy'\n", 3, "'*' asks for the unknown environment 'nunpy': is 'numpy' meant?"),
    ],
)
def test_a_mistake_is_told_with_its_line(folder: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(SandboxError) as refused:
        read(folder, text)
    start = f"{folder}/environments.toml, line {line}: "
    assert str(refused.value).startswith(start)
    assert message.format(folder=folder) in str(refused.value)


def test_a_file_that_is_no_toml_is_told_with_its_place(folder: Path) -> None:
    with pytest.raises(SandboxError, match=r"environments\.toml is not TOML: .*at line 2, column 6"):
        read(folder, "[tasks]\nno = \n")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\0"])
def test_a_file_that_cannot_be_read_is_named(folder: Path, content: bytes | None) -> None:
    file = folder / "environments.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SandboxError, match=r"ENVIRONMENTS_FILE: .*environments\.toml cannot be read as text"):
        read_environment_list(file)
