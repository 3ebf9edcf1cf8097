"""The first program of an agent's box: carries out its actions on a private copy of the masked repository.

``agent_driver.py NONCE``, mounted at ``/box/agent_driver.py``. Hello leaves first, as in ``driver.py``. Stdin begins
with one frame, the job ``{"output_bytes", "text_characters", "process_bytes"}``: how much of a command's output and of
a file is kept, and how much data one process may have in memory. ``/box/repository`` and, where it is there,
``/box/paper`` are copied into the box's own tmpfs, ``{"kind": "ready"}`` leaves, and every further frame is a request
``{"id", "do", …}`` that is answered by one frame ``{"id", …}``:

``run``      ``command``, ``limit`` (seconds): ``code``, ``signal``, ``output``, ``timed_out``, ``killed`` (processes)
``read``     ``path``, ``first``, ``last`` (lines from 1; 0 and 0: all of them): ``text``
``edit``     ``path``, ``old``, ``new``: ``text``
``collect``  nothing: see ``agent_changes.py``

``{"id", "error"}`` answers what could not be done. A command has a session of its own and a limit on its time; what it
leaves running is killed, for orphans become this process's children. This process is not dumpable: the agent, who is
the same user, can kill it (which ends the run), but can neither read its memory nor open its pipes. Nothing here keeps
a secret from the agent, and nothing needs to: there are no tests in its box. Python 3.8 or newer, standard library;
the frames need NumPy.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import resource
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
    from evaluator.testing.box import agent_changes, agent_files, frames

BOX = Path(__file__).resolve().parent
HOME = Path(os.environ.get("TMPDIR", "/tmp"))  # noqa: S108 - the box's own tmpfs
WORKSPACE = HOME / "workspace"
REPOSITORY = WORKSPACE / "repository"
KILL_SECONDS = 10.0
_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36
_CHUNK = 64 * 1024
_POLL_SECONDS = 0.02


def main(nonce: str) -> None:
    """Serve requests until there are no more."""
    answers = os.dup(1)
    os.dup2(2, 1)
    library = ctypes.CDLL(None)
    library.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    variables = child_variables()
    shell = shutil.which("sh", path=variables["PATH"]) or ""
    hello = {"kind": "hello", "nonce": nonce, "python": platform.python_version(), "shell": bool(shell)}
    _emit(answers, hello)
    job: Any = frames.decode(_next_frame() or b"")
    copy_tree(BOX / "repository", REPOSITORY)
    if (BOX / "paper").is_dir():
        copy_tree(BOX / "paper", WORKSPACE / "paper")
    (HOME / "bin").mkdir(exist_ok=True)
    for name in ("python", "python3"):
        (HOME / "bin" / name).symlink_to(sys.executable)
    server = Server(job, shell, variables)
    _emit(answers, {"kind": "ready"})
    while True:
        raw = _next_frame()
        if raw is None:
            return
        request: Any = frames.decode(raw)
        _emit(answers, {"id": request["id"], **server.serve(request)})


class Server:
    """Carries out requests, one after the other."""

    def __init__(self, job: dict[str, Any], shell: str, variables: dict[str, str]) -> None:
        self._job = job
        self._shell = shell
        self._variables = variables
        self._changes = agent_changes.Changes(BOX / "repository", REPOSITORY)

    def serve(self, request: dict[str, Any]) -> dict[str, object]:
        """The answer to one request, without its number."""
        try:
            return self._answer(request)
        except agent_files.RefusedError as error:
            return {"error": plain(str(error))}
        except OSError as error:
            return {"error": plain(f"{error.strerror or type(error).__name__}: {error.filename or ''}".rstrip(": "))}
        except (ValueError, MemoryError, RecursionError) as error:
            return {"error": plain(f"{type(error).__name__}: {error}")}

    def _answer(self, request: dict[str, Any]) -> dict[str, object]:
        if request["do"] == "run":
            return self._run(request["command"], request["limit"])
        if request["do"] == "read":
            limit = self._job["text_characters"]
            path = REPOSITORY / request["path"]
            return {"text": plain(agent_files.read(path, request["first"], request["last"], limit))}
        if request["do"] == "edit":
            return {"text": plain(agent_files.edit(REPOSITORY / request["path"], request["old"], request["new"]))}
        return dict(self._changes.news())

    def _run(self, command: str, seconds: float) -> dict[str, object]:
        """Run one command in the repository's folder; nothing that it starts outlives it."""
        REPOSITORY.mkdir(parents=True, exist_ok=True)
        reader, writer = os.pipe()
        output = Kept(self._job["output_bytes"])
        try:
            try:
                process = subprocess.Popen(
                    [self._shell, "-c", command],
                    stdin=subprocess.DEVNULL,
                    stdout=writer,
                    stderr=writer,
                    cwd=str(REPOSITORY),
                    env=self._variables,
                    start_new_session=True,
                    preexec_fn=self._limit,
                )
            finally:
                os.close(writer)
            timed_out = listen(process, reader, output, time.monotonic() + seconds)
            killed = kill_descendants(process)
            while drain(reader, output):
                pass
        finally:
            os.close(reader)
        code = process.returncode
        return {
            "code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "output": plain(output.text()),
            "timed_out": timed_out,
            "killed": killed,
        }

    def _limit(self) -> None:
        """Let one process run out of memory before the whole box does, which would end the agent's work."""
        resource.setrlimit(resource.RLIMIT_DATA, (self._job["process_bytes"],) * 2)


class Kept:
    """The beginning and the end of a long output; ``left_out`` counts the bytes in between."""

    def __init__(self, limit: int) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._most_head = limit - limit // 2
        self._most_tail = limit // 2
        self.left_out = 0

    def add(self, data: bytes) -> None:
        """Take in the next bytes."""
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        surplus = len(self._tail) - self._most_tail
        if surplus > 0:
            del self._tail[:surplus]
            self.left_out += surplus

    def text(self) -> str:
        """What was kept, with a line of its own where something is missing."""
        if not self.left_out:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        head, tail = bytes(self._head).decode("utf-8", "replace"), bytes(self._tail).decode("utf-8", "replace")
        return f"{head}\n[... {self.left_out} bytes left out ...]\n{tail}"


def listen(process: subprocess.Popen[bytes], reader: int, output: Kept, deadline: float) -> bool:
    """Take in what the command prints until its own process has ended; whether it met the deadline instead."""
    os.set_blocking(reader, False)
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        while process.poll() is None:
            if time.monotonic() >= deadline:
                return True
            if not selector.get_map():
                time.sleep(_POLL_SECONDS)
            elif selector.select(_POLL_SECONDS) and not drain(reader, output):
                selector.unregister(reader)
    return False


def drain(reader: int, output: Kept) -> bool:
    """Take in one piece; whether there may be more."""
    try:
        data = os.read(reader, _CHUNK)
    except BlockingIOError:
        return False
    output.add(data)
    return bool(data)


def kill_descendants(process: subprocess.Popen[bytes]) -> int:
    """Kill ``process`` and everything that was started by it, and say how many there were.

    The dead are waited for only when nobody lives any more: until then they count against the box's limit of processes,
    so that whoever forks all the time finds no room for more. Raises ``TimeoutError`` when that does not help.
    """
    deadline = time.monotonic() + KILL_SECONDS
    killed = set()
    while True:
        living = [pid for pid, state in descendants(os.getpid()) if state not in "ZX"]
        if not living:
            break
        if time.monotonic() > deadline:
            raise TimeoutError("processes of the command could not be killed")
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.add(pid)
    process.wait()
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.001)
        except ChildProcessError:
            break
    return len(killed)


def descendants(root: int) -> list[tuple[int, str]]:
    """Number and state of every process below ``root``, as /proc shows them at about the same time."""
    parents, states = {}, {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names are all that is wanted
        if not entry.isdigit():
            continue
        try:
            text = Path(f"/proc/{entry}/stat").read_text(errors="replace")
        except OSError:
            continue
        state, parent = text.rpartition(")")[2].split()[:2]
        parents[int(entry)], states[int(entry)] = int(parent), state
    found = {root}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= more
        grown = bool(more)
    return [(pid, states[pid]) for pid in sorted(found - {root})]


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree, everything in it writable, links as links."""
    for folder, names, files in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        inside.mkdir(parents=True)
        links = [name for name in (*names, *files) if (Path(folder) / name).is_symlink()]
        for name in links:
            (inside / name).symlink_to(os.readlink(Path(folder) / name))  # noqa: PTH115 - Path's needs 3.9
        names[:] = [name for name in names if name not in links]
        for name in files:
            if name not in links:
                shutil.copyfile(Path(folder) / name, inside / name)
                mode = stat.S_IMODE((Path(folder) / name).stat().st_mode)
                (inside / name).chmod(0o600 | (mode & 0o111))


def child_variables() -> dict[str, str]:
    """The variables of commands: ours and a home; where the environment has no shell, with the tools the host lends.

    The environment's own programs come first, and its own libraries are never mixed with the host's: two C libraries
    would not fit each other.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = kept.get("PATH", os.defpath)
    places = [path, str(HOME / "bin")]
    if shutil.which("sh", path=path) is None:
        places.append(str(BOX / "tools" / "bin"))
        libraries = [kept.get("LD_LIBRARY_PATH", ""), str(BOX / "tools" / "lib")]
        kept["LD_LIBRARY_PATH"] = os.pathsep.join(place for place in libraries if place)
    kept["PATH"] = os.pathsep.join(places)
    return {**kept, "HOME": str(HOME), "TMPDIR": str(HOME), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def plain(text: str) -> str:
    """``text`` without lone surrogates, which no frame carries."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _next_frame() -> bytes | None:
    return frames.read_frame(lambda count: os.read(0, count))


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
    agent_changes = _load_module("agent_changes")
    agent_files = _load_module("agent_files")
    main(sys.argv[1])
