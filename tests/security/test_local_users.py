"""Other users of the machine cannot read an instance's files."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.interface import BoxSpec, Mount, RunCancelledError
from tests.conftest import PROJECT_ROOT
from tests.evaluator.conftest import bubblewrap, state_dir
from tests.evaluator.processes import wait_until
from tests.instances import Instance
from tests.leaderboard.supervision.test_serve import boxes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["boxes", "bubblewrap", "state_dir"]

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
AS_OTHER_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
LOOK = """
import os, socket, sys
for path in sys.stdin.read().splitlines():
    try:
        if path.endswith(".sock"):
            socket.socket(socket.AF_UNIX).connect(path)
        elif os.path.isdir(path):
            os.listdir(path)
        else:
            open(path, "rb").close()
    except OSError:
        continue
    print(path)
"""


@pytest.fixture
def open_folder(state_dir: Path) -> Iterator[Path]:
    """A folder that all users may enter."""
    folder = state_dir / f"users-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def read_by_others(paths: Iterable[Path]) -> list[str]:
    """Those of ``paths`` that another user can read, list or connect to."""
    command = [*AS_OTHER_USER, "/usr/bin/python3", "-I", "-c", LOOK]
    listed = "\n".join(map(str, paths))
    return subprocess.run(command, input=listed, capture_output=True, text=True, check=True).stdout.splitlines()


@AS_ROOT
@pytest.mark.redis
@pytest.mark.bubblewrap
def test_other_users_cannot_read_a_running_instance(boxes: None, prepared: Path, open_folder: Path) -> None:
    data = open_folder / "var"
    subprocess.run(["cp", "-r", str(prepared), str(data)], check=True)
    for path in (data, data / "db.sqlite3"):  # as older versions left them
        path.chmod(0o755)
    assert read_by_others([data / "db.sqlite3"]) == [str(data / "db.sqlite3")]
    instance = Instance(open_folder)
    instance.start()
    there = [data / "run" / "redis.sock", data / "logs" / "worker-1.log"]
    wait_until(lambda: all(path.exists() for path in there), "its files")
    found = [data, *data.rglob("*")]
    assert {"db.sqlite3", "secret_key", "redis.sock", "web.log"} <= {path.name for path in found}
    assert read_by_others(found) == []
    modes = {str(path.relative_to(data)): stat.S_IMODE(path.lstat().st_mode) for path in found}
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
    assert instance.stop(signal.SIGINT) == 0


@AS_ROOT
@pytest.mark.bubblewrap
def test_other_users_cannot_read_a_running_box_s_copies(
    bubblewrap: BubblewrapSandbox, state_dir: Path, open_folder: Path
) -> None:
    golden = open_folder / "golden.py"
    golden.write_text("secret")
    golden.chmod(0o600)
    seen: list[str] = []
    copies: list[Path] = []

    def look() -> bool:
        copies.extend(state_dir.glob("boxes/users-*/0"))
        seen.extend(read_by_others([golden, state_dir / "boxes", *copies]))
        return True

    code = "print(open('/box/golden.py').read(), flush=True); import time; time.sleep(60)"
    spec = BoxSpec(f"users-{os.getpid()}", ("python", "-c", code), (Mount(golden, "/box/golden.py"),))
    with pytest.raises(RunCancelledError):
        bubblewrap.run(spec, cancelled=look)
    assert len(copies) == 1
    assert seen == []


def test_files_that_the_site_writes_are_private(tmp_path: Path) -> None:
    code = "import django.conf; django.conf.settings.DEBUG; open('made', 'w'); import os; os.mkdir('folder')"
    environment = {"DJANGO_SETTINGS_MODULE": "leaderboard.settings", "DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull}
    environment["PYTHONPATH"] = str(PROJECT_ROOT)
    before = os.umask(0o022)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    os.umask(before)
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.iterdir()}
    assert modes == {"made": "0o600", "folder": "0o700", "secret_key": "0o600"}


def run_as_other_user(code: str, *modules: str, folder: Path) -> str:
    """Run ``code`` in ``folder``, with copies of our ``modules``: another user may not be able to read the checkout."""
    for module in modules:
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT_ROOT / module, folder / module)
    for path in folder.rglob("*"):
        path.chmod(0o755)
    command = [*AS_OTHER_USER, "/usr/bin/python3", "-B", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@AS_ROOT
def test_a_data_folder_of_another_user_gets_a_warning(open_folder: Path) -> None:
    code = "from leaderboard.supervision import data_folder as d; print(d.make_private(d.Path.cwd()))"
    modules = ("leaderboard/supervision/data_folder.py", "leaderboard/supervision/__init__.py")
    output = run_as_other_user(code, *modules, folder=open_folder)
    assert output.startswith(f"DATA_DIR is {open_folder}, which belongs to another user.")
