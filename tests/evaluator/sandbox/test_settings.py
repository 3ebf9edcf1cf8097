"""The rules of a box's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox.box import check_spec
from evaluator.sandbox.environment_list import check_environment_name
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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        *(({"label": label}, "box label") for label in ("", "a-", "A", "a/b", "a" * 64)),
        *(({"argv": argv}, "argv must begin with 'python'") for argv in ((), ("/usr/bin/python",))),
        ({"argv": ("python", "a\0b")}, "an argument holds a NUL byte"),
        *(
            ({"targets": (target,)}, "not a plain path below /box/")
            for target in ("/box", "box/a", "/usr/a", "/box/../usr", "/box//a", "/box/a/")
        ),
        ({"targets": ("/box/a", "/box/a")}, "same target"),
        *(({"variables": ((name, "x"),)}, "has only capital letters") for name in ("", "1A", "a", "A=B", "Ä", "A\n")),
        *(
            ({"variables": ((name, "x"),)}, f"variable {name} is the sandbox's own")
            for name in ("PATH", "LD_PRELOAD", "PYTHONPATH")
        ),
        ({"variables": (("A", "b\0c"),)}, "variable A holds a NUL byte"),
        ({"variables": (("A", "1"), ("A", "2"))}, "a variable is set twice"),
    ],
)
def test_what_an_order_may_not_say(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        check_spec(spec(**changed))


@pytest.mark.parametrize("name", ["", "../x", "Numpy", "a b", "-a"])
def test_environment_names_are_plain(name: str) -> None:
    with pytest.raises(SandboxError, match="environment"):
        check_environment_name(name)
