"""The first program of an agent's box: run shell commands on a private copy of the masked repository.

``agent_driver.py NONCE``, mounted at ``/box/agent_driver.py``. Hello is sent first, as in ``driver.py``. Stdin begins
with one frame, the job ``{"output_bytes", "process_bytes", "programs"}``: the output limit per command, the data limit
per process, and names of programs to look for. ``/box/repository`` and ``/box/paper`` are copied into the box's own
tmpfs. Then ``{"kind": "ready", "python", "packages", "programs"}`` reports what commands find here (a version, pairs of
name and version, names). Every further frame is ``{"id", "command", "seconds"}``, answered by one frame
``{"id", "code", "output", "timed_out"}``. It includes the repository's changes if they differ from the last report:
``changed`` (paths and contents), ``deleted`` (paths) and ``refused`` (paths and reasons).

A command runs in its own session, which is killed when the command ends or its time is up. This process is not
dumpable: the agent, who is the same user, can kill it (which ends the run), but can neither read its memory nor open
its pipes. The box holds no secrets. Python 3.8 or newer, standard library; the frames need NumPy.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.testing.box import frames

BOX = Path(__file__).resolve().parent
HOME = Path(os.environ.get("TMPDIR", "/tmp"))  # noqa: S108 - the box's own tmpfs
WORKSPACE = HOME / "workspace"
REPOSITORY = WORKSPACE / "repository"
MAX_FILE_BYTES = 1024 * 1024
MAX_CHANGED_BYTES = 4 * 1024 * 1024
"""Limit of the total size of changed repository files."""
MAX_NEW_BYTES = 512 * 1024
MAX_NEW_FILES = 100
"""New files have separate limits, so that litter does not crowd out the answer."""
MAX_ENTRIES = 60_000
MAX_NAMED = 1000
MAX_NAME_CHARACTERS = 400
_PYTHON_FACTS = """
import json, sys
from importlib.metadata import distributions
found = {(each.metadata["Name"], each.version) for each in distributions()}
print(json.dumps({"python": sys.version.split()[0], "packages": sorted(pair for pair in found if all(pair))}))
"""
_PASSED_OVER = frozenset({".git", "__pycache__", ".pytest_cache"})
_SET_DUMPABLE = 4


def main(nonce: str) -> None:
    """Run commands until there are no more."""
    answers = os.dup(1)
    os.dup2(2, 1)
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    variables = command_variables()
    shell = shutil.which("bash", path=variables["PATH"]) or shutil.which("sh", path=variables["PATH"])
    _emit(answers, {"kind": "hello", "nonce": nonce, "shell": bool(shell)})
    requests = frames.Reader(0)
    job: Any = frames.decode(requests.line() or b"")
    copy_writable(BOX / "repository", REPOSITORY)
    copy_writable(BOX / "paper", WORKSPACE / "paper")
    (HOME / "bin").mkdir()
    for name in ("python", "python3"):
        (HOME / "bin" / name).symlink_to(sys.executable)
    changes = Changes(BOX / "repository", REPOSITORY)
    programs = [name for name in job["programs"] if shutil.which(name, path=variables["PATH"])]
    _emit(answers, {"kind": "ready", "programs": programs, **python_facts(variables)})
    while True:
        raw = requests.line()
        if raw is None:
            return
        request: Any = frames.decode(raw)
        ran = run(request["command"], request["seconds"], shell=str(shell), variables=variables, job=job)
        _emit(answers, {"id": request["id"], **ran, **changes.news()})


def run(command: str, seconds: float, *, shell: str, variables: dict[str, str], job: dict[str, Any]) -> dict[str, Any]:
    """Run one command in the repository's folder."""

    def limit() -> None:
        # One process hits its limit before the whole box runs out of memory, which would end the agent's work.
        resource.setrlimit(resource.RLIMIT_DATA, (job["process_bytes"],) * 2)

    timed_out = False
    try:
        REPOSITORY.mkdir(parents=True, exist_ok=True)
        # A file, not a pipe: a process left in the background could keep a pipe open for ever.
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [shell, "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=str(REPOSITORY),
                env=variables,
                start_new_session=True,
                preexec_fn=limit,
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                timed_out = True
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            return {"code": code, "timed_out": timed_out, "output": kept(output, job["output_bytes"])}
    except (OSError, ValueError) as error:
        return {"code": None, "timed_out": timed_out, "output": plain(str(error))}


def kept(output: Any, limit: int) -> str:
    """Return a long output's beginning and end, with a line that marks the omitted part."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    if size <= limit:
        return str(output.read().decode("utf-8", "replace"))
    head = output.read(limit // 2).decode("utf-8", "replace")
    output.seek(size - limit // 2)
    tail = output.read().decode("utf-8", "replace")
    return f"{head}\n[... {size - 2 * (limit // 2)} bytes left out ...]\n{tail}"


class Changes:
    """Differences of the copy ``place`` from the ``pristine`` tree."""

    def __init__(self, pristine: Path, place: Path) -> None:
        """Record the state of ``place``, which must be a fresh copy."""
        self._pristine = pristine
        self._place = place
        self._stamps = {path: _stamp(status) for path, status in entries(place)}
        self._reported: dict[str, Any] = {"changed": {}, "deleted": [], "refused": []}

    def news(self) -> dict[str, Any]:
        """Return the current differences, or an empty dict if they are the same as last time."""
        changed: dict[str, bytes] = {}
        refused: list[list[str]] = []
        room, count = {False: MAX_CHANGED_BYTES, True: MAX_NEW_BYTES}, 0
        found = dict(entries(self._place))
        for path, status in sorted(found.items()):
            is_new = path not in self._stamps
            if self._stamps.get(path) == _stamp(status):
                continue
            content, why = self._content(path, status)
            if content is None and not why:
                continue
            count += is_new
            if content is not None and (len(content) > room[is_new] or (is_new and count > MAX_NEW_FILES)):
                why = "comes after too many or too large other changes"
            if why:
                refused.append([plain(path)[:MAX_NAME_CHARACTERS], why])
            elif content is not None:
                room[is_new] -= len(content)
                changed[path] = content
        deleted = [path for path in sorted(self._stamps) if not os.path.lexists(self._place / path)]
        news = {
            "changed": changed,
            "deleted": [plain(path) for path in deleted[:MAX_NAMED]],
            "refused": refused[:MAX_NAMED],
        }
        if news == self._reported:
            return {}
        self._reported = news
        return {**news, "changed": [[path, np.frombuffer(text, dtype=np.uint8)] for path, text in changed.items()]}

    def _content(self, path: str, status: os.stat_result) -> tuple[bytes | None, str]:
        """Return a changed file's new content, or why it is refused; neither if it is the same."""
        if not stat.S_ISREG(status.st_mode):
            return None, "is a link or special file"
        if len(path) > MAX_NAME_CHARACTERS or plain(path) != path:
            return None, "has a name that is too long or not text"
        if status.st_size > MAX_FILE_BYTES:
            return None, f"is larger than {MAX_FILE_BYTES // 1024} KB"
        try:
            descriptor = os.open(str(self._place / path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(MAX_FILE_BYTES)
            original = self._pristine / path
            is_same = path in self._stamps and not original.is_symlink() and original.read_bytes() == content
        except OSError as error:
            return None, f"cannot be read: {error.strerror}"
        return (None if is_same else content), ""


def entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and status of everything but folders; links are not followed. At most ``MAX_ENTRIES``."""
    pending, count = [""], 0
    while pending and count < MAX_ENTRIES:
        relative = pending.pop()
        # The agent may have removed a folder or closed it to itself.
        with suppress(OSError), os.scandir(folder / relative) as found:
            for entry in found:
                count += 1
                path = f"{relative}/{entry.name}" if relative else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path, entry.stat(follow_symlinks=False)
                elif entry.name not in _PASSED_OVER:
                    pending.append(path)


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return values that change when the file is written or replaced: ``ctime`` cannot be set."""
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def copy_writable(source: Path, target: Path) -> None:
    """Copy a tree and make everything in it writable; links stay links."""
    shutil.copytree(source, target, symlinks=True)
    for folder, _, files in os.walk(target):
        os.chmod(folder, 0o700)  # noqa: PTH101 - os.walk gives strings
        for path in (Path(folder) / name for name in files):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o600)


def command_variables() -> dict[str, str]:
    """Return the commands' environment: this process's and a home; without a shell, also the host's tools.

    The environment's own programs come first, and its own libraries are never mixed with the host's: the two C
    libraries would be incompatible.
    """
    kept_ones = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = kept_ones.get("PATH", os.defpath)
    places = [path, str(HOME / "bin")]
    if shutil.which("sh", path=path) is None:
        # The host's bash reports missing locales in every output.
        kept_ones["LC_ALL"] = "C"
        places.append(str(BOX / "tools" / "bin"))
        libraries = [kept_ones.get("LD_LIBRARY_PATH", ""), str(BOX / "tools" / "lib")]
        kept_ones["LD_LIBRARY_PATH"] = os.pathsep.join(place for place in libraries if place)
    own = {"PATH": os.pathsep.join(places), "HOME": str(HOME), "TMPDIR": str(HOME)}
    return {**kept_ones, **own, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def python_facts(variables: dict[str, str]) -> dict[str, Any]:
    """Return version and packages of the Python that commands find; both empty if it fails to report them."""
    found: dict[str, Any] = {"python": "", "packages": []}
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        python = str(shutil.which("python", path=variables["PATH"]))
        output = subprocess.run(
            [python, "-c", _PYTHON_FACTS], env=variables, cwd=str(HOME), capture_output=True, timeout=30, check=True
        ).stdout
        found.update(json.loads(output))
    return found


def plain(text: str) -> str:
    """Replace lone surrogates in ``text``, which frames do not allow."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _emit(answers: int, message: dict[str, object]) -> None:
    view = memoryview(frames.encode(message))
    while view:
        view = view[os.write(answers, view) :]


def _load_module(name: str) -> Any:
    specification = importlib.util.spec_from_file_location(f"box_{name}", BOX / f"{name}.py")
    if specification is None or specification.loader is None:
        raise ImportError(f"{name} cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules[f"box_{name}"] = module
    specification.loader.exec_module(module)
    return module


if __name__ == "__main__":
    frames = _load_module("frames")
    main(sys.argv[1])
