"""Looking for an installed copy of the reference in an environment."""

from __future__ import annotations

import re
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.auditing.image_scan import ImageScan, scan_image
from evaluator.sandbox.interface import BoxResult, BoxSpec, Ending, SandboxError
from evaluator.testing.box import frames, scan
from tests.evaluator.testing.unconfined import UnconfinedSandbox

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.interface import Sandbox

GOLDEN = '''@cached
def score(self, scores: list[float], *, scale: float = 2.0) -> float:
    """What the golden file says of itself."""
    total = 0.0
    for place, value in enumerate(scores):
        total += scale * value / (place + 1)
    return total / max(1, len(scores))
'''
# The same code with other comments and annotations, in a class.
COPY = """
class Other:
    def score(self, scores, *, scale=2.0):
        # somebody else's comment
        total = 0.0
        for place, value in enumerate(scores):
            total += scale * value / (place + 1)
        return total / max(1, len(scores))
"""
OTHER = "def score(self, scores, *, scale=2.0):\n    return sum(scores)\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, the only one on the search path."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    library = sysconfig.get_path("stdlib")
    monkeypatch.setattr(sys, "path", [f"{library}.zip", library, f"{library}/lib-dynload", str(folder)])
    return folder


def write(folder: Path, **files: str) -> Path:
    """Write Python files; ``a__b`` is ``a/b.py``."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def order(**changed: Any) -> dict[str, Any]:
    """What is searched: the reference has its definition and four statements, or five with a docstring."""
    return {"name": "score", "statements": 5, "packages": [], **changed}


def test_definitions_as_large_as_the_reference_are_sent_as_source(installed: Path) -> None:
    write(
        installed,
        pkg__a=COPY,
        pkg__b=OTHER,
        c="score = 1\nscores = 2\n",
        d="def score(:\n",
        e="class score:\n    x = 1\n",
    )
    sent: list[dict[str, Any]] = []
    assert scan.search(order(), [installed], sent.append)
    assert [message["path"] for message in sent] == ["pkg/a.py"]
    assert sent[0]["source"].startswith("    def score(self, scores, *, scale=2.0):\n")
    assert sent[0]["source"].endswith("len(scores))\n")


def test_in_packages_named_like_the_repositorys_every_definition_of_the_name_is_sent(installed: Path) -> None:
    write(installed, pkg__a=COPY, pkg__b=OTHER, c=OTHER, d="class score:\n    x = 1\n")
    sent: list[dict[str, Any]] = []
    assert scan.search(order(packages=["pkg", "d"]), [installed], sent.append)
    assert [message["path"] for message in sent] == ["d.py", "pkg/a.py", "pkg/b.py"]


def test_the_search_ends_in_bounded_time(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(installed, a=OTHER, b=OTHER, c=OTHER)
    monkeypatch.setattr(scan, "MAX_DEFINITIONS", 2)
    sent: list[dict[str, object]] = []
    assert not scan.search(order(statements=2), [installed], sent.append)
    assert len(sent) == 2
    monkeypatch.setattr(scan, "MAX_FILE_BYTES", 10)
    assert scan.definitions(installed / "a.py", "score", re.compile(b"score"), None) == []


class ScriptedSandbox(UnconfinedSandbox):
    """A box in which the search sends ``messages``."""

    messages: tuple[dict[str, Any], ...] = ()

    def run(self, spec: BoxSpec, **_: Any) -> BoxResult:
        self.ran.append(spec)
        hello = {"kind": "hello", "nonce": spec.argv[2], "cpu_family": ""}
        output = b"".join(frames.encode(message) for message in (hello, *self.messages))
        return BoxResult(Ending.EXITED, 0, None, output, b"", False, 0.1, None)


def scanned(repository: Path, *messages: dict[str, Any], golden: str = GOLDEN) -> ImageScan:
    sandbox = ScriptedSandbox()
    sandbox.messages = messages
    return scan_image(
        sandbox=sandbox,
        environment="numpy",
        repository=write(repository, scoring__core=""),
        goal_name="score",
        golden=golden,
        label="audit",
    )


DONE = {"kind": "done", "complete": True}


def test_the_same_tree_is_a_copy_wherever_it_is(tmp_path: Path) -> None:
    found = scanned(
        tmp_path,
        {"kind": "definition", "path": "far/away.py", "source": COPY.split("\n", 2)[2]},
        {"kind": "definition", "path": "other.py", "source": OTHER},
        {"kind": "definition", "path": "broken.py", "source": "def score(:\n"},
        DONE,
    )
    assert found.copies == ("far/away.py",)
    assert found.reasons == (
        (
            "the environment has a copy of the reference installed, in far/away.py: an answer could import it; "
            "take it out of the environment"
        ),
    )


def test_any_definition_of_the_name_in_a_package_of_the_repository_s_name_is_a_copy(tmp_path: Path) -> None:
    write(tmp_path, single="", src__inner__a="", tests__a="", setup="")
    paths = ("scoring/core.py", "scoring_more/core.py", "single.py", "inner/a.py", "tests/a.py", "setup.py")
    found = scanned(tmp_path, *({"kind": "definition", "path": path, "source": OTHER} for path in paths), DONE)
    assert found.copies == ("inner/a.py", "scoring/core.py", "single.py")


def test_an_incomplete_search_leaves_a_remark(tmp_path: Path) -> None:
    found = scanned(tmp_path, {"kind": "done", "complete": False})
    (remark,) = found.remarks
    assert remark.startswith("the search for an installed copy of the reference ended before it had read the whole env")
    assert remark.endswith("because answers could import it: make an environment with fewer packages")
    with pytest.raises(SandboxError, match="search of the environment numpy ended"):
        scanned(tmp_path)


def test_numpy_s_own_function_is_found_in_a_real_box(each_sandbox: Sandbox, tmp_path: Path) -> None:
    import inspect

    import numpy as np

    golden = inspect.getsource(inspect.unwrap(np.trapezoid))
    write(tmp_path, scoring__core="")
    found = scan_image(
        sandbox=each_sandbox,
        environment="numpy",
        repository=tmp_path,
        goal_name="trapezoid",
        golden=golden,
        label="audit",
    )
    assert [path.rpartition("/")[2] for path in found.copies] == ["_function_base_impl.py"]
    assert found.complete
