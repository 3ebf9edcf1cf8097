"""The operator's list of environments: what it may say, and what a mistake in it is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.sandbox.environment_list import (
    REQUIREMENTS,
    SHIPPED,
    EnvironmentEntry,
    EnvironmentList,
    read_environment_list,
)
from evaluator.sandbox.types import SandboxError

WHOLE = """\
# Ours.
[environments.torch-cpu]
requirements = "torch.txt"
memory_mb = 4096
wall_seconds = 600

[environments.conda]
image = "registry.example/conda@sha256:0123"

[tasks]
"lmr-bench/dpo/*" = "conda"
"lmr-bench/*" = "torch-cpu"
"*" = "numpy"
"""


def read(folder: Path, text: str) -> EnvironmentList:
    (folder / "torch.txt").touch()
    file = folder / "environments.toml"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())  # as an editor on Windows writes it
    return read_environment_list(file)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert found.entries == (
        EnvironmentEntry("torch-cpu", requirements=tmp_path / "torch.txt", memory_mb=4096, wall_seconds=600),
        EnvironmentEntry("conda", image="registry.example/conda@sha256:0123"),
    )
    assert found.names() == ["conda", "numpy", "torch-cpu"]
    tasks = ("lmr-bench/dpo/1", "lmr-bench/simpo/1", "lmr-mini/welford/1")
    assert [found.environment_for(task) for task in tasks] == ["conda", "torch-cpu", "numpy"]
    assert len({found, read(tmp_path, WHOLE)}) == 1, "equal files make equal lists, which can be keys"


def test_without_a_file_only_the_shipped_lists_and_papers_are_known() -> None:
    found = read_environment_list(None)
    assert found == SHIPPED
    assert found.entry("numpy") == EnvironmentEntry("numpy", requirements=REQUIREMENTS / "box-numpy.txt")
    assert found.entry("paper-0123456789ab") == EnvironmentEntry("paper-0123456789ab")
    assert found.environment_for("lmr-bench/dpo/1") is None
    with pytest.raises(SandboxError) as refused:
        found.entry("fortran")
    assert str(refused.value) == (
        f"environment 'fortran': {REQUIREMENTS / 'box-fortran.txt'} does not exist; known environments: ['numpy']. "
        "Name it under [environments.fortran] in the file that ENVIRONMENTS_FILE names (docs/operating.md)"
    )


def test_images_have_our_names_unless_another_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE).with_numpy_image("registry.example/numpy:1")
    names = ("torch-cpu", "conda", "numpy", "paper-0123456789ab")
    assert [found.image(name) for name in names] == [
        "lmr-board-box-torch-cpu",
        "registry.example/conda@sha256:0123",
        "registry.example/numpy:1",
        "lmr-board-box-paper-0123456789ab",
    ]
    own = read(tmp_path, '[environments.numpy]\nimage = "mine"\n').with_numpy_image("other")
    assert (own.image("numpy"), SHIPPED.image("numpy")) == ("mine", "lmr-board-box-numpy")


NUMBER = "must be a whole number from"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[environment.a]\n", "the file has the unknown key 'environment': is 'environments' meant?"),
        ("environments = 1\n", "[environments] must be a table"),
        ("\n[environments.A]\nimage='x'\n", "environment 'A': a name has only lower-case letters, digits and hyphens"),
        ("[environments.a]\n", "[environments.a] does not say what it is made from: give requirements or image"),
        ("[environments.a]\nimage = '-x'\n", "[environments.a] image must be a name or path in quotes, not '-x'"),
        (
            "[environments.a]\nrequirements = 'no'\n",
            "[environments.a] the file {folder}/no does not exist: make it, or correct requirements",
        ),
        (
            "[environments.a]\nimage = 'x'\nmemory_mb = true\n",
            f"[environments.a] memory_mb {NUMBER} 64 to 2147483648, not True",
        ),
        (
            "[environments.a]\nimage = 'x'\nwall_seconds = 0\n",
            f"[environments.a] wall_seconds {NUMBER} 1 to 86400, not 0",
        ),
        (
            "[environments.paper-0123456789ab]\nimage = 'x'\n",
            "[environments.paper-0123456789ab]: this is the name of a paper's own environment: choose another name",
        ),
        ("[tasks]\n'*' = 'nunpy'\n", "[tasks] '*' asks for the unknown environment 'nunpy'"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SandboxError) as refused:
        read(tmp_path, text)
    assert str(refused.value) == f"{tmp_path}/environments.toml: {message.format(folder=tmp_path)}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tasks]\nno = \n", r"environments\.toml is not TOML: .*at line 2, column 6"),
        (b"\xff\xfe\0", r"ENVIRONMENTS_FILE: .*environments\.toml cannot be read as text"),
        (None, r"ENVIRONMENTS_FILE: .*environments\.toml cannot be read as text"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "environments.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SandboxError, match=message):
        read_environment_list(file)
