"""The driver of an agent's box: what it keeps of an output, whom it kills, what it copies."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.generation import agent_box
from evaluator.testing.box import agent_driver
from evaluator.testing.box.agent_driver import Kept, child_variables, copy_tree, descendants, plain


def test_a_short_output_is_kept_whole() -> None:
    kept = Kept(10)
    for piece in (b"01234", b"56789"):
        kept.add(piece)
    assert (kept.text(), kept.left_out) == ("0123456789", 0)


def test_a_long_output_loses_its_middle() -> None:
    kept = Kept(11)
    for number in range(100):
        kept.add(b"%02d" % number)
    assert kept.text() == "000102\n[... 189 bytes left out ...]\n79899"
    assert kept.left_out == 189


def test_what_is_no_text_stays_printable() -> None:
    kept = Kept(10)
    kept.add(b"\xff\x00a")
    assert kept.text() == "\ufffd\x00a"
    assert plain("\ud800a") == "?a"


def test_the_copy_is_writable_and_keeps_links_and_programs(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "a.py").write_text("a")
    (source / "run.sh").write_text("b")
    (source / "folder").symlink_to("deep")
    (source / "dangling").symlink_to("/nowhere")
    (source / "deep" / "a.py").chmod(0o444)
    (source / "run.sh").chmod(0o555)
    copy_tree(source, tmp_path / "copy")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert modes == {"a.py": 0o600, "run.sh": 0o711}
    assert (tmp_path / "copy" / "folder").readlink() == Path("deep")
    assert (tmp_path / "copy" / "dangling").readlink() == Path("/nowhere")


def test_descendants_are_found_however_deep() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        deadline = time.monotonic() + 20
        while len(found := descendants(process.pid)) < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        (grandchild,) = [pid for pid, _ in found]
        assert grandchild in [pid for pid, _ in descendants(os.getpid())]
        assert process.pid not in [pid for pid, _ in found]
        os.kill(grandchild, 9)
    finally:
        process.kill()
        process.wait()


def test_an_environment_with_a_shell_is_lent_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_driver, "BOX", Path("/box"))
    monkeypatch.setattr(agent_driver, "HOME", Path("/home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/own")
    monkeypatch.setenv("PYTHONPATH", "/ours")
    lent = child_variables()
    assert (lent["PATH"], lent["LD_LIBRARY_PATH"]) == (f"{tmp_path}:/home/bin:/box/tools/bin", "/own:/box/tools/lib")
    assert (lent["HOME"], "PYTHONPATH" in lent) == ("/home", False)
    (tmp_path / "sh").touch(mode=0o755)
    own = child_variables()
    assert (own["PATH"], own["LD_LIBRARY_PATH"]) == (f"{tmp_path}:/home/bin", "/own")


@pytest.mark.parametrize("name", agent_box._DRIVER)
def test_what_is_mounted_is_python_3_8(name: str) -> None:
    path = Path(agent_driver.__file__).parent / name
    ast.parse(path.read_text(), feature_version=(3, 8))
