"""Looking for an installed copy of the reference in an environment."""

from __future__ import annotations

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
    return {"name": "score", "reference": GOLDEN, "packages": [], **changed}


def searched(folder: Path, **changed: Any) -> tuple[list[str], bool]:
    """The paths that the search sends, and whether it is complete."""
    sent: list[dict[str, Any]] = []
    complete = scan.search(order(**changed), [folder], sent.append)
    assert {message["kind"] for message in sent} <= {"copy"}
    return [message["path"] for message in sent], complete


INDENTED = "".join(f"    {line}\n" for line in GOLDEN.splitlines())


@pytest.mark.parametrize("reference", [GOLDEN, INDENTED], ids=["function", "method"])
def test_the_same_tree_is_a_copy_wherever_it_is(installed: Path, reference: str) -> None:
    other_value = GOLDEN.replace("scale: float = 2.0", "scale: float = 3.0")
    files = {"pkg__a": COPY, "pkg__b": OTHER, "c": "score = 1\nscores = 2\n", "d": "def score(:\n", "e": other_value}
    write(installed, **files, f=GOLDEN.replace("score(self", "scores(self"))
    assert searched(installed, reference=reference) == (["pkg/a.py"], True)


def test_a_definition_that_may_be_equal_by_chance_is_none(installed: Path) -> None:
    write(installed, a=OTHER)
    assert searched(installed, reference=OTHER) == ([], True)
    assert searched(installed, reference="x = 1\n") == ([], True)


def test_any_definition_of_the_name_in_a_package_of_the_repositorys_name_is_a_copy(installed: Path) -> None:
    write(installed, pkg__a=COPY, pkg__b=OTHER, c=OTHER, d="class score:\n    x = 1\n", pkgs__a=OTHER)
    assert searched(installed, packages=["pkg", "d"]) == (["d.py", "pkg/a.py", "pkg/b.py"], True)


def test_the_search_ends_in_bounded_time(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(installed, a=COPY, b=COPY, c=COPY)
    with monkeypatch.context() as patch:
        patch.setattr(scan, "MAX_COPIES", 2)
        assert searched(installed) == (["a.py", "b.py"], False)
    with monkeypatch.context() as patch:
        patch.setattr(scan, "MAX_FILES", 2)
        assert searched(installed) == (["a.py", "b.py"], False)
    with monkeypatch.context() as patch:
        patch.setattr(scan, "MAX_SECONDS", -1.0)
        assert searched(installed) == ([], False)
    monkeypatch.setattr(scan, "MAX_FILE_BYTES", 10)
    assert searched(installed) == ([], True)


class ScriptedSandbox(UnconfinedSandbox):
    """A box in which the search sends ``messages``."""

    messages: tuple[dict[str, Any], ...] = ()

    def run(self, spec: BoxSpec, **_: Any) -> BoxResult:
        self.ran.append(spec)
        hello = {"kind": "hello", "nonce": spec.argv[2], "cpu_family": ""}
        output = b"".join(frames.encode(message) for message in (hello, *self.messages))
        return BoxResult(Ending.EXITED, 0, None, output, b"", False, 0.1, None)


def scanned(repository: Path, *messages: dict[str, Any], sandbox: ScriptedSandbox | None = None) -> ImageScan:
    if sandbox is None:
        sandbox = ScriptedSandbox()
        sandbox.messages = messages
    return scan_image(
        sandbox=sandbox,
        environment="numpy",
        repository=write(repository, scoring__core=""),
        goal_name="score",
        golden=GOLDEN,
        label="audit",
    )


DONE = {"kind": "done", "complete": True}


def test_what_the_box_is_sent_and_what_it_finds(tmp_path: Path) -> None:
    write(tmp_path, single="", src__inner__a="", tests__a="", setup="")
    sandbox = ScriptedSandbox()
    sandbox.messages = ({"kind": "copy", "path": "far/away.py"}, {"kind": "copy", "path": "a.py"}, DONE)
    found = scanned(tmp_path, sandbox=sandbox)
    assert found.copies == ("a.py", "far/away.py")
    assert found.reasons[1] == (
        "the environment has a copy of the reference installed, in far/away.py: an answer could import it; "
        "take it out of the environment"
    )
    assert frames.decode(sandbox.ran[0].stdin) == order(packages=["inner", "scoring", "single"])


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
