"""Checking foreign files and answers in a child process with hard limits: a hostile one costs one child, nothing else.

Reading, applying, parsing and compiling all happen there, within one deadline. The child gets what it is asked as a
pickle from this process and the file as its standard input; it writes into a scratch folder that this process removes.
What it found comes back as one JSON header and raw bytes, never as pickled objects.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import pickle
import resource
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from submissions.answers.bundle import BundleReading
from submissions.answers.check import BundleRequest, CheckedAnswers, check_answers, check_bundle
from submissions.answers.intake import ArchiveLimits, refuse
from submissions.answers.tree_reader import TREE_LIMITS
from submissions.answers.trees import scratch_folder
from submissions.answers.types import (
    AnswerError,
    AnswerKind,
    AppliedAnswer,
    BundleError,
    Manifest,
    Problem,
    ProtectedPathError,
    RawAnswer,
    SetAside,
    Severity,
)

if TYPE_CHECKING:
    from submissions.answers.protection import TaskFiles

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from submissions.answers.limited import serve; serve(*sys.argv[2:])"
)
_MEGABYTE = 1024 * 1024
_LENGTH = struct.Struct("<Q")
_LONGEST_HEADER = 64 * _MEGABYTE
_MOST_BYTES = 256 * _MEGABYTE
_LONGEST_COMPLAINT = 16 * 1024
_CHUNK = 256 * 1024
_LONGEST_FILE = 16 * _MEGABYTE
_OPEN_FILES = 64
_AT = "at: "
_SHOWN_PLACE = 200


@dataclasses.dataclass(frozen=True, slots=True)
class ChildLimits:
    """What the child may use: bytes of address space, seconds of processor time, seconds by the clock."""

    memory_bytes: int = 1024 * _MEGABYTE
    cpu_seconds: int = 90
    wall_seconds: float = 120.0


ONE_ANSWER = ChildLimits(cpu_seconds=20, wall_seconds=60.0)


def _tree_limits(limits: ArchiveLimits) -> ChildLimits:
    """What the child may use on an output tree, which is larger than a bundle and is read twice."""
    return ChildLimits(memory_bytes=1024 * _MEGABYTE + 3 * limits.upload, cpu_seconds=120, wall_seconds=180.0)


def check_limited(
    path: Path,
    request: BundleRequest | None = None,
    *,
    child: ChildLimits | None = None,
    scratch: Path | None = None,
) -> tuple[BundleReading, CheckedAnswers]:
    """:func:`submissions.answers.check.check_bundle` on the file at ``path``, in a limited child process.

    Only with the ``index`` of a suite may the file be as large as ``tree_limits`` say. Scratch files lie below
    ``scratch``.

    Raises BundleError with the problems of a file that does not read to its end, or with one that says that checking
    took too much.
    """
    return unpack(check_packed(path, request, child=child, scratch=scratch))


def check_packed(
    path: Path,
    request: BundleRequest | None = None,
    *,
    child: ChildLimits | None = None,
    scratch: Path | None = None,
) -> bytes:
    """What :func:`check_limited` returns, in the form in which it can be kept; :func:`unpack` reads it."""
    request = request or BundleRequest()
    limits = request.limits or ArchiveLimits()
    tree_limits = (request.tree_limits or TREE_LIMITS) if request.index else limits
    request = dataclasses.replace(request, limits=limits, tree_limits=tree_limits)
    child = child or (_tree_limits(tree_limits) if request.index else ChildLimits())
    with path.open("rb") as upload:
        return _run(request, child, upload=upload, scratch=scratch)


def apply_limited(answer: RawAnswer, task: TaskFiles, *, child: ChildLimits = ONE_ANSWER) -> AppliedAnswer:
    """:func:`submissions.answers.check.apply_answer` in a limited child process. Raises AnswerError as it does."""
    try:
        _, checked = unpack(_run((answer, task), child))
    except BundleError as error:
        raise AnswerError(error.problems[-1].message) from None
    if checked.problems:
        problem = checked.problems[0]
        kind = ProtectedPathError if problem.severity is Severity.REFUSE else AnswerError
        raise kind(problem.message, line=problem.line)
    return checked.applied[answer.task, answer.trial]


def _run(
    request: BundleRequest | tuple[RawAnswer, TaskFiles],
    limits: ChildLimits,
    *,
    upload: BinaryIO | None = None,
    scratch: Path | None = None,
) -> bytes:
    with scratch_folder(scratch, prefix="lmr-check-") as folder, tempfile.TemporaryFile() as request_file:
        pickle.dump((request, limits), request_file)
        request_file.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, str(_ROOT), str(request_file.fileno()), str(folder)],
            stdin=upload or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            cwd="/",
            pass_fds=[request_file.fileno()],
            start_new_session=True,
        )
        with process:
            try:
                return _collect(process, limits)
            finally:
                if process.returncode is None:
                    # The whole group: git may be at work below it.
                    os.killpg(process.pid, signal.SIGKILL)


def _collect(process: subprocess.Popen[bytes], limits: ChildLimits) -> bytes:
    """Everything the child wrote, once it ended well; raises BundleError when it did not."""
    deadline = time.monotonic() + limits.wall_seconds
    answer, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for kept, pipe in ((answer, process.stdout), (complaint, process.stderr)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise BundleError([_took_too_long(complaint, f"{limits.wall_seconds:g} seconds")])
            for key, _ in selector.select(left):
                piece = os.read(key.fd, _CHUNK)
                if not piece:
                    selector.unregister(key.fileobj)
                key.data.extend(piece)
            del complaint[:-_LONGEST_COMPLAINT]
            if len(answer) > _MOST_BYTES:
                raise BundleError([refuse("The answers in the file are too large together; send fewer in one file.")])
    _require_good_end(process, limits, complaint)
    return bytes(answer)


def _require_good_end(process: subprocess.Popen[bytes], limits: ChildLimits, complaint: bytearray) -> None:
    code = process.wait()  # it has closed its output, and has nothing left to do
    if code == -signal.SIGXCPU:
        raise BundleError([_took_too_long(complaint, f"{limits.cpu_seconds} seconds of processor time")])
    if code != 0:
        logger.warning("The checking process ended with %s: %s", code, complaint[-2000:].decode("utf-8", "replace"))
        message = (
            f"Checking the file used too much memory, or failed{_place_in(complaint)}; send a smaller or plainer one."
        )
        raise BundleError([refuse(message)])


def _took_too_long(complaint: bytearray, limit: str) -> Problem:
    message = f"Checking the file took more than {limit}{_place_in(complaint)}; send a smaller or plainer one."
    return refuse(message)


def _place_in(complaint: bytearray) -> str:
    """Which answer the child was at, as far as it said so."""
    lines = complaint.decode("utf-8", "replace").splitlines()
    place = next((line.removeprefix(_AT) for line in reversed(lines) if line.startswith(_AT)), "")
    shown = "".join(c if c.isprintable() else "?" for c in place)[:_SHOWN_PLACE]
    return f" (it was at {shown})" if shown else ""


def serve(request_descriptor: str, scratch: str) -> None:
    """The child: limit itself, check what it is asked to, write what was found to standard output."""
    with os.fdopen(int(request_descriptor), "rb") as request_file:
        request, limits = pickle.load(request_file)  # noqa: S301 - written by the process that started this one
    tempfile.tempdir = scratch
    os.nice(10)  # whoever looks at pages meanwhile comes first
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    # The hard limit is a second later: at it the kernel kills without saying why.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LONGEST_FILE, _LONGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    out = sys.stdout.buffer
    try:
        if isinstance(request, BundleRequest):
            _write(*check_bundle(sys.stdin.buffer, request, _say_place), out)
        else:
            answer, task = request
            _write(BundleReading(manifest=None, answers=()), check_answers([answer], {answer.task: task}), out)
    except BundleError as error:
        _send({"unreadable": [dataclasses.asdict(problem) for problem in error.problems]}, [], out)


def _say_place(answer: RawAnswer) -> None:
    sys.stderr.write(f"{_AT}{answer.file}\n")
    sys.stderr.flush()


def _write(reading: BundleReading, checked: CheckedAnswers, out: BinaryIO) -> None:
    blobs: list[bytes] = []

    def put(data: bytes | str | None) -> int | None:
        if data is None:
            return None
        blobs.append(data.encode() if isinstance(data, str) else data)
        return len(blobs[-1])

    header = {
        "manifest": dataclasses.asdict(reading.manifest) if reading.manifest else None,
        "answers": [
            {
                "task": answer.task,
                "trial": answer.trial,
                "kind": answer.kind,
                "file": answer.file,
                "usage": answer.usage,
                "trajectory_name": answer.trajectory_name,
                "aside": [dataclasses.asdict(aside) for aside in answer.aside],
                "content": put(answer.content),
                "trajectory": put(answer.trajectory),
            }
            for answer in reading.answers
        ],
        "problems": [dataclasses.asdict(problem) for problem in reading.problems],
        "left_out": reading.left_out,
        "is_tree": reading.is_tree,
        "remarks": [dataclasses.asdict(remark) for remark in reading.remarks],
        "applied": [
            {
                "task": task,
                "trial": trial,
                "files": {path: put(text) for path, text in applied.files.items()},
                "deleted": applied.deleted,
                "diff": put(applied.diff),
                "goal_source": put(applied.goal_source),
                "goal_alone": applied.goal_alone,
                "identical": applied.identical,
            }
            for (task, trial), applied in checked.applied.items()
        ],
        "wrong": [dataclasses.asdict(problem) for problem in checked.problems],
    }
    _send(header, blobs, out)


def _send(header: dict[str, Any], blobs: list[bytes], out: BinaryIO) -> None:
    encoded = json.dumps(header).encode()
    if len(encoded) > _LONGEST_HEADER:
        header, blobs = {"unreadable": [dataclasses.asdict(refuse("The file holds too many names; send less."))]}, []
        encoded = json.dumps(header).encode()
    out.write(_LENGTH.pack(len(encoded)) + encoded)
    out.writelines(blobs)
    out.flush()


def unpack(packed: bytes) -> tuple[BundleReading, CheckedAnswers]:
    """What was found, from the form in which the child sent it. Raises BundleError as :func:`check_limited` does."""
    (length,) = _LENGTH.unpack_from(packed)
    position = _LENGTH.size + length
    header = json.loads(packed[_LENGTH.size : position])
    if "unreadable" in header:
        raise BundleError(_problems(header["unreadable"]))

    def take(size: int | None) -> bytes:
        nonlocal position
        position += size or 0
        return packed[position - (size or 0) : position]

    answers = tuple(
        RawAnswer(
            **{
                **described,
                "kind": AnswerKind(described["kind"]),
                "aside": tuple(SetAside(**aside) for aside in described["aside"]),
                "content": take(described["content"]),
                "trajectory": None if described["trajectory"] is None else take(described["trajectory"]),
            }
        )
        for described in header["answers"]
    )
    applied = {
        (described["task"], described["trial"]): AppliedAnswer(
            files={path: take(size).decode() for path, size in described["files"].items()},
            deleted=tuple(described["deleted"]),
            diff=take(described["diff"]).decode(),
            goal_source=take(described["goal_source"]).decode(),
            goal_alone=described["goal_alone"],
            identical=described["identical"],
        )
        for described in header["applied"]
    }
    manifest = header["manifest"]
    reading = BundleReading(
        manifest=Manifest(**{**manifest, "links": tuple(manifest["links"])}) if manifest else None,
        answers=answers,
        problems=tuple(_problems(header["problems"])),
        left_out=header["left_out"],
        is_tree=header["is_tree"],
        remarks=tuple(_problems(header["remarks"])),
    )
    return reading, CheckedAnswers(applied=applied, problems=tuple(_problems(header["wrong"])))


def _problems(described: list[dict[str, Any]]) -> list[Problem]:
    return [Problem(**{**each, "severity": Severity(each["severity"])}) for each in described]
