"""Attacks by a diff: change what an answer may not change, or be read in two ways. No box is needed to refuse them."""

from __future__ import annotations

from typing import Final

from tests.attacks.corpus.kinds import BAD_PATCH, REFUSED, Attack, Group, PatchAttack, Way, ends


def edit(path: str, old: str, new: str, line: int = 1) -> str:
    """A diff that replaces one line of a file."""
    return f"--- a/{path}\n+++ b/{path}\n@@ -{line} +{line} @@\n-{old}\n+{new}\n"


def add(path: str, text: str = "x = 1", mode: str = "100644") -> str:
    """A diff that adds a file of one line."""
    return f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{text}\n"


def rename(old: str, new: str) -> str:
    """A diff that renames a file as it is."""
    return f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n"


def _attack(name: str, diff: str | bytes, *outcomes: str, says: str = "") -> PatchAttack:
    expected = ends(*(outcomes or (REFUSED,)), says=says)
    content = diff.encode() if isinstance(diff, str) else diff
    return PatchAttack(name, Group.PATCH, {Way.CHECKER: expected}, diff=content)


_TEST = "tests/test_goal.py"
_TEST_EDIT = edit(_TEST, "assert True", "assert 1")
_GOAL_EDIT = edit("weighing/goal.py", "    raise NotImplementedError", "    return scores, names", line=9)
_LINK = add("weighing/link", "/etc/passwd", "120000") + "\\ No newline at end of file\n"
_OCTAL = _TEST_EDIT.replace(f"a/{_TEST}", r'"a/tests/t\145st_goal.py"').replace(
    f"b/{_TEST}", r'"b/tests/t\145st_goal.py"'
)

PATCH: Final[tuple[Attack, ...]] = (
    _attack("test file", _TEST_EDIT, says="is protected"),
    _attack("conftest.py", add("conftest.py"), says="is protected"),
    _attack("sitecustomize.py", add("sitecustomize.py"), says="is protected"),
    _attack(".pth file", add("x.pth"), says="is protected"),
    _attack("ini file", add("pytest.ini"), says="is protected"),
    _attack("setup.cfg", edit("setup.cfg", "[tool]", "[x]"), says="is protected"),
    _attack("numpy.py", add("numpy.py"), says="would hide"),
    _attack("..", add("../evil.py"), says="leaves the repository"),
    _attack("absolute path", add("/opt/evil.py"), REFUSED, BAD_PATCH),
    _attack("symbolic link", _LINK, says="link or special file"),
    _attack("write through a link", _LINK + add("weighing/link/x.py"), says="leaves the repository"),
    _attack("submodule", add("weighing/sub", f"Subproject commit {'1' * 40}", "160000"), says="submodule"),
    _attack("executable", add("weighing/x.sh", "#!/bin/sh", "100755"), says="file mode"),
    _attack(
        "mode alone",
        "diff --git a/weighing/helpers.py b/weighing/helpers.py\nold mode 100644\nnew mode 100755\n",
        says="file mode",
    ),
    _attack(".git", add(".git/hooks/post-checkout"), says="leaves the repository"),
    _attack(".gitattributes", add(".gitattributes"), says="is protected"),
    _attack("rename", rename(_TEST, "weighing/other.py"), says="is protected"),
    _attack("rename to numpy.py", rename("weighing/helpers.py", "numpy.py"), says="would hide"),
    _attack("lying header", "diff --git a/weighing/one.py b/weighing/two.py\n" + _TEST_EDIT, says="is protected"),
    _attack("octal name", _OCTAL, says="is protected"),
    _attack(
        "delete",
        f"diff --git a/{_TEST} b/{_TEST}\ndeleted file mode 100644\n"
        f"--- a/{_TEST}\n+++ /dev/null\n@@ -1 +0,0 @@\n-assert True\n",
        says="is protected",
    ),
    _attack("homoglyph", add("weighing/g\u043eal.py"), says="printable ASCII"),
    _attack("RTL", add("weighing/\u202eyp.x"), says="printable ASCII"),
    _attack(
        "CRLF", edit("weighing/helpers.py", "def shift(scores):", "def shift(scores):\r"), BAD_PATCH, says="line ends"
    ),
    _attack("NUL", edit("weighing/helpers.py", "x", "\0"), BAD_PATCH, says="NUL"),
    _attack(
        "binary",
        "diff --git a/weighing/x.bin b/weighing/x.bin\nnew file mode 100644\nindex 0000000..1111111\n"
        "GIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n",
        REFUSED,
        BAD_PATCH,
    ),
    _attack(
        "no effect",
        edit("weighing/helpers.py", "def shift(scores):", "def shift(scores):"),
        BAD_PATCH,
        says="changes nothing",
    ),
    _attack("very deep path", add("weighing/" + "a/" * 1500 + "x.py"), says="200 characters"),
    _attack("deep path", add("weighing/" + "a/" * 10 + "x.py"), says="8 parts"),
    _attack("long path", add(f"weighing/{'a' * 195}.py"), says="200 characters"),
    _attack("long path of short names", add(f"weighing/{'a' * 100}/{'b' * 100}.py"), says="200 characters"),
    _attack("goal removed", rename("weighing/goal.py", "weighing/x.py"), BAD_PATCH),
    _attack("beside a good change", _GOAL_EDIT + _TEST_EDIT, says="is protected"),
)
