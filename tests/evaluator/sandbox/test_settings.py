"""The rules of a box's order."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.sandbox.settings import check_environment_name, check_spec
from evaluator.sandbox.types import BoxSpec, Mount, SandboxError


def spec(
    label: str = "run-1",
    argv: tuple[str, ...] = ("python", "x.py"),
    targets: tuple[str, ...] = ("/box/task",),
    variables: tuple[tuple[str, str], ...] = (),
) -> BoxSpec:
    mounts = tuple(Mount(Path("/usr"), target) for target in targets)
    return BoxSpec(label=label, argv=argv, mounts=mounts, variables=variables)


def test_a_plain_order_is_accepted() -> None:
    check_spec(spec())
    check_spec(spec(label="a", targets=("/box/a", "/box/b/c.py")))
    check_spec(spec(variables=(("HF_HUB_OFFLINE", "1"), ("_X2", ""), ("LDAP", "x"), ("HOME", "/tmp/a b"))))


@pytest.mark.parametrize("label", ["", "-a", "a-", "A", "a.b", "a/b", "ä", "a" * 64])
def test_labels_are_plain(label: str) -> None:
    with pytest.raises(SandboxError, match="box label"):
        check_spec(spec(label=label))


@pytest.mark.parametrize("argv", [(), ("python3",), ("/usr/bin/python",)])
def test_only_python_is_started(argv: tuple[str, ...]) -> None:
    with pytest.raises(SandboxError, match="argv must begin with 'python'"):
        check_spec(spec(argv=argv))


def test_arguments_hold_no_nul() -> None:
    with pytest.raises(SandboxError, match="NUL"):
        check_spec(spec(argv=("python", "a\0b")))


@pytest.mark.parametrize(
    "target", ["/box", "/box/", "box/a", "/usr/a", "/box/../usr", "/box//a", "/box/a/", "/box/./a"]
)
def test_targets_are_plain_paths_below_box(target: str) -> None:
    with pytest.raises(SandboxError, match="not a plain path below /box/"):
        check_spec(spec(targets=(target,)))


def test_no_target_is_used_twice() -> None:
    with pytest.raises(SandboxError, match="same target"):
        check_spec(spec(targets=("/box/a", "/box/a")))


@pytest.mark.parametrize("name", ["", "1A", "a", "A B", "A=B", "A-B", "Ä", "A\n"])
def test_names_of_variables_are_plain(name: str) -> None:
    with pytest.raises(SandboxError, match="has only capital letters"):
        check_spec(spec(variables=((name, "x"),)))


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHASHSEED"])
def test_variables_that_decide_what_is_started_are_not_the_tasks(name: str) -> None:
    with pytest.raises(SandboxError, match=f"variable {name} is the sandbox's own"):
        check_spec(spec(variables=((name, "x"),)))


def test_values_of_variables_hold_no_nul() -> None:
    with pytest.raises(SandboxError, match="variable A holds a NUL byte"):
        check_spec(spec(variables=(("A", "b\0c"),)))


def test_no_variable_is_set_twice() -> None:
    with pytest.raises(SandboxError, match="a variable is set twice"):
        check_spec(spec(variables=(("A", "1"), ("A", "2"))))


@pytest.mark.parametrize("name", ["", "../x", "Numpy", "a b", "-a"])
def test_environment_names_are_plain(name: str) -> None:
    with pytest.raises(SandboxError, match="environment"):
        check_environment_name(name)
