"""The first program of an upstream task's box. Mounted at ``/box/upstream_driver.py``, with the files it uses.

``upstream_driver.py NONCE`` runs the unit test in a child process, in a writable copy of ``/box/repository``, and
reports. Stdin is one message, the job ``{"folder", "unit_test", "span", "path"}``: the copy's name, the test's path in
the repository, the goal's lines there or null, and folders of the repository whose packages count as installed. Hello
is sent first, as in ``driver.py``; the report is the last message::

    {"kind": "report", "exit_code", "signal", "events": [one JSON text each], "flooded",
     "logs": [[name, text]], "printed", "changed": [paths]}

This process only watches. It is not dumpable, so the test's process can neither read its memory nor open its
descriptors; it reads the logs after it has killed all processes that the test left running, and hashes all files of the
repository before and after. Python 3.8 or newer, standard library; messages need NumPy.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import os
import platform
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.testing.box import frames

BOX = Path(__file__).resolve().parent
REPOSITORY = BOX / "repository"
WORKSPACE = Path(os.environ.get("TMPDIR", "/tmp")) / "workspace"  # noqa: S108 - the box's own tmpfs
LOG_FOLDER = "logs"
MAX_EVENT_BYTES = 1024 * 1024
MAX_PRINTED_BYTES = 64 * 1024
MAX_LOG_BYTES = 256 * 1024
MAX_LOGS = 20
MAX_CHANGED = 20
_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36
_CHUNK = 64 * 1024


def main(nonce: str) -> None:
    """Run the test to its end and report."""
    answers = os.dup(1)
    os.dup2(2, 1)
    _emit(answers, {"kind": "hello", "nonce": nonce, "python": platform.python_version()})
    job: Any = frames.decode(frames.Reader(0).line() or b"")
    library = ctypes.CDLL(None)
    library.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    place = WORKSPACE / job["folder"]
    digests = copy_tree(REPOSITORY, place, leave_out=f"{Path(job['unit_test']).parent.as_posix()}/{LOG_FOLDER}")
    report = _watch(place, job)
    _kill_descendants()
    report["logs"] = read_logs(place / Path(job["unit_test"]).parent / LOG_FOLDER)
    report["changed"] = changed_files(place, digests)
    _emit(answers, {"kind": "report", **report})


def copy_tree(source: Path, target: Path, *, leave_out: str) -> dict[str, str]:
    """Copy a tree without the folder ``leave_out``; return the digest of every file in the copy, by its path."""
    digests: dict[str, str] = {}
    for folder, names, files in os.walk(source):
        inside = Path(folder).relative_to(source)
        names[:] = [name for name in names if (inside / name).as_posix() != leave_out]
        (target / inside).mkdir(parents=True)
        links = [name for name in (*names, *files) if (Path(folder) / name).is_symlink()]
        for name in links:
            (target / inside / name).symlink_to(os.readlink(Path(folder) / name))  # noqa: PTH115 - Path's needs 3.9
        names[:] = [name for name in names if name not in links]
        for name in files:
            if name not in links:
                shutil.copyfile(Path(folder) / name, target / inside / name)
                digests[(inside / name).as_posix()] = _digest(target / inside / name)
    return digests


def changed_files(place: Path, digests: dict[str, str]) -> list[str]:
    """Return the first files that no longer match ``digests``."""
    changed = []
    for name, digest in digests.items():
        try:
            same = stat.S_ISREG((place / name).lstat().st_mode) and _digest(place / name) == digest
        except OSError:
            same = False
        if not same:
            changed.append(name)
    return changed[:MAX_CHANGED]


def read_logs(folder: Path) -> list[list[str]]:
    """Return names and texts of the regular files in the test's log folder, bounded; links are not followed."""
    found = []
    names = sorted(os.listdir(folder))[:MAX_LOGS] if folder.is_dir() else []  # noqa: PTH208 - pathlib sorts no names
    for name in names:
        try:
            descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            continue
        with os.fdopen(descriptor, "rb") as file:
            found.append([_plain(name.encode("utf-8", "replace")), _plain(file.read(MAX_LOG_BYTES))])
    return found


def _watch(place: Path, job: dict[str, Any]) -> dict[str, object]:
    """Run the test, collect its output until its process ends, and return the first half of the report."""
    events, events_end = os.pipe()
    printed, printed_end = os.pipe()
    order = {
        "repository": str(place),
        "unit_test": str(place / job["unit_test"]),
        "argument": job["unit_test"],
        "span": job["span"],
        "path": [str(place / folder) for folder in job["path"]],
        "events": events_end,
    }
    process = subprocess.Popen(
        [sys.executable, "-s", "-B", str(BOX / "upstream_child.py"), json.dumps(order)],
        stdin=subprocess.DEVNULL,
        stdout=printed_end,
        pass_fds=[events_end],
        cwd=str(place),
        env=_child_environment(),
        start_new_session=True,
    )
    os.close(events_end)
    os.close(printed_end)
    output = _Output(events, printed)
    output.collect(process)
    code = process.returncode
    return {
        "exit_code": code if code >= 0 else None,
        "signal": -code if code < 0 else None,
        "events": output.lines(),
        "flooded": len(output.events) > MAX_EVENT_BYTES,
        "printed": _plain(bytes(output.printed[:MAX_PRINTED_BYTES])),
    }


class _Output:
    """Output of the test's process: its events, and its printed text, which is copied to the box's log."""

    def __init__(self, events: int, printed: int) -> None:
        self.events = bytearray()
        self.printed = bytearray()
        self._sources = {events: self._add_event, printed: self._add_printed}

    def lines(self) -> list[str]:
        """Return the complete events."""
        return [_plain(line) for line in bytes(self.events[:MAX_EVENT_BYTES]).split(b"\n")[:-1]]

    def collect(self, process: subprocess.Popen[bytes]) -> None:
        """Collect until the process has ended, without waiting for output of its children afterwards."""
        with selectors.DefaultSelector() as selector:
            for source in self._sources:
                os.set_blocking(source, False)
                selector.register(source, selectors.EVENT_READ)
            while selector.get_map():
                ended = process.poll() is not None
                ready = selector.select(0 if ended else 0.02)
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK)
                    if data:
                        self._sources[key.fd](data)
                    else:
                        selector.unregister(key.fd)
                if ended and not ready:
                    break
            process.wait()

    def _add_event(self, data: bytes) -> None:
        self.events += data[: max(0, MAX_EVENT_BYTES + 1 - len(self.events))]

    def _add_printed(self, data: bytes) -> None:
        self.printed += data[: max(0, MAX_PRINTED_BYTES - len(self.printed))]
        _write_all(2, data)


def _kill_descendants() -> None:
    """Kill what the test left running; orphans become children of this process, so that none escapes."""
    while True:
        children = _children()
        if not children:
            return
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for child in children:
            try:
                os.waitpid(child, 0)
            except ChildProcessError:
                time.sleep(0.001)


def _children() -> list[int]:
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names are all that is wanted
        if entry.isdigit():
            try:
                text = Path(f"/proc/{entry}/stat").read_text(errors="replace")
            except OSError:
                continue
            if text.rpartition(")")[2].split()[1] == str(os.getpid()):
                found.append(int(entry))
    return found


def _child_environment() -> dict[str, str]:
    """Return this process's environment without what affects how Python starts, and with a fixed hash seed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "HOME": str(WORKSPACE.parent), "PYTHONHASHSEED": "0"}


def _digest(path: Path) -> str:
    total = hashlib.sha256()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        while True:
            piece = file.read(1024 * 1024)
            if not piece:
                return total.hexdigest()
            total.update(piece)


def _emit(answers: int, message: dict[str, object]) -> None:
    _write_all(answers, frames.encode(message))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _plain(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _load_module(stem: str) -> Any:
    specification = importlib.util.spec_from_file_location(f"box_{stem}", BOX / f"{stem}.py")
    if specification is None or specification.loader is None:
        raise ImportError(f"{stem}.py cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


if __name__ == "__main__":
    frames = _load_module("frames")
    main(sys.argv[1])
