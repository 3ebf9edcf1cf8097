"""Reading a bundle in a child process with hard limits, so that a reader's fault costs one child and nothing else.

The child gets the open file as its standard input, and the index of the masked repositories as a second open file;
it opens nothing itself; what it found comes back as one JSON
header and raw bytes, never as pickled objects. Its lines and files are checked in this process again by size only.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import resource
import selectors
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, BinaryIO

from submissions.answers.bundle import BundleReading, read_bundle
from submissions.answers.intake import ArchiveLimits, refuse
from submissions.answers.tree_index import TreeIndex, load_index
from submissions.answers.tree_reader import TREE_LIMITS, TreeFolder
from submissions.answers.types import AnswerKind, BundleError, Manifest, Problem, RawAnswer, Severity

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from submissions.answers.limited import serve; serve(*sys.argv[2:])"
)
_LENGTH = struct.Struct("<Q")
_LONGEST_HEADER = 8 * 1024 * 1024
_LONGEST_COMPLAINT = 16 * 1024
_CHUNK = 256 * 1024
_LONGEST_REQUEST = 64 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class ReaderLimits:
    """What the child may use: bytes of address space, seconds of processor time, seconds by the clock."""

    memory_bytes: int = 512 * 1024 * 1024
    cpu_seconds: int = 20
    wall_seconds: float = 30.0


def _tree_reader(limits: ArchiveLimits) -> ReaderLimits:
    """What the child may use on an output tree, which is larger than a bundle and is read twice."""
    return ReaderLimits(memory_bytes=512 * 1024 * 1024 + 3 * limits.upload, cpu_seconds=60, wall_seconds=90.0)


def read_bundle_limited(
    path: Path,
    *,
    defaults: Manifest | None = None,
    limits: ArchiveLimits | None = None,
    reader: ReaderLimits | None = None,
    index: TreeIndex | None = None,
    tree_limits: ArchiveLimits | None = None,
) -> BundleReading:
    """:func:`submissions.answers.bundle.read_bundle` on the file at ``path``, in a limited child process.

    Only with the ``index`` of a suite may the file be as large as ``tree_limits`` say.

    Raises BundleError with the problems of a file that does not read to its end, or with one that says that reading
    took too much.
    """
    limits, tree_limits = limits or ArchiveLimits(), (tree_limits or TREE_LIMITS) if index else None
    reader = reader or (_tree_reader(tree_limits) if tree_limits else ReaderLimits())
    request = {
        "defaults": dataclasses.asdict(defaults) if defaults else None,
        "limits": dataclasses.asdict(limits),
        "tree_limits": dataclasses.asdict(tree_limits or limits),
        "reader": dataclasses.asdict(reader),
    }
    request_text = json.dumps(request)
    if len(request_text) > _LONGEST_REQUEST:
        raise BundleError([refuse("The fields given with the file are too long; shorten the notes.")])
    with path.open("rb") as upload, tempfile.TemporaryFile() as index_file:
        index_file.write(index.dump() if index else b"")
        index_file.seek(0)
        command = [sys.executable, "-I", "-c", _START, str(_ROOT), request_text, str(index_file.fileno())]
        process = subprocess.Popen(
            command,
            stdin=upload,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            pass_fds=[index_file.fileno()],
        )
    with process:
        try:
            answer = _collect(process, deadline=time.monotonic() + reader.wall_seconds, most=_most_bytes(limits))
        finally:
            process.kill()
    return _unpack(answer)


def _most_bytes(limits: ArchiveLimits) -> int:
    return _LENGTH.size + _LONGEST_HEADER + max(limits.total, limits.upload)


def _collect(process: subprocess.Popen[bytes], *, deadline: float, most: int) -> bytes:
    """Everything the child wrote, once it ended well; raises BundleError when it did not."""
    pieces: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, name)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or len(pieces["stdout"]) > most:
                raise BundleError([refuse("Reading the bundle took too long; send a smaller or plainer archive.")])
            for key, _ in selector.select(left):
                piece = os.read(key.fd, _CHUNK)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data == "stdout" or len(pieces["stderr"]) < _LONGEST_COMPLAINT:
                    pieces[key.data] += piece
    try:
        code = process.wait(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        code = None
    if code != 0:
        complaint = bytes(pieces["stderr"][-2000:]).decode("utf-8", "replace")
        logger.warning("The bundle reader ended with %s: %s", code, complaint)
        raise BundleError(
            [refuse("Reading the bundle used too much memory or time, or failed; send a smaller or plainer archive.")]
        )
    return bytes(pieces["stdout"])


def serve(request_text: str, index_descriptor: str) -> None:
    """The child: limit itself, read the bundle from standard input, write what was found to standard output."""
    request = json.loads(request_text)
    with os.fdopen(int(index_descriptor), "rb") as index_file:
        index_text = index_file.read()
    reader = ReaderLimits(**request["reader"])
    resource.setrlimit(resource.RLIMIT_AS, (reader.memory_bytes, reader.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (reader.cpu_seconds, reader.cpu_seconds))
    for nothing in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(nothing, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    try:
        reading = read_bundle(
            sys.stdin.buffer,
            defaults=_manifest(request["defaults"]) if request["defaults"] else None,
            limits=ArchiveLimits(**request["limits"]),
            index=load_index(index_text) if index_text else None,
            tree_limits=ArchiveLimits(**request["tree_limits"]),
        )
    except BundleError as error:
        _write({"unreadable": [dataclasses.asdict(problem) for problem in error.problems]}, [], sys.stdout.buffer)
    else:
        _write_reading(reading, sys.stdout.buffer)


def _write_reading(reading: BundleReading, out: BinaryIO) -> None:
    described, blobs = [], []
    for answer in reading.answers:
        trajectory = answer.trajectory
        blobs += [answer.content, trajectory or b""]
        described.append(
            {
                "task": answer.task,
                "trial": answer.trial,
                "kind": answer.kind,
                "file": answer.file,
                "usage": answer.usage,
                "trajectory_name": answer.trajectory_name,
                "size": len(answer.content),
                "trajectory_size": None if trajectory is None else len(trajectory),
            }
        )
    header = {
        "manifest": dataclasses.asdict(reading.manifest) if reading.manifest else None,
        "answers": described,
        "problems": [dataclasses.asdict(problem) for problem in reading.problems],
        "left_out": reading.left_out,
        "trees": [_described_tree(tree, blobs) for tree in reading.trees],
        "remarks": [dataclasses.asdict(remark) for remark in reading.remarks],
    }
    _write(header, blobs, out)


def _described_tree(tree: TreeFolder, blobs: list[bytes]) -> dict[str, Any]:
    """``tree`` with sizes in place of contents, which are added to ``blobs`` in the same order."""
    files: dict[str, bytes | None] = {**tree.changed, **tree.protected}
    blobs += [content or b"" for content in files.values()]
    sizes = {path: None if content is None else len(content) for path, content in files.items()}
    return {
        "paper": tree.paper,
        "place": tree.place,
        "changed": {path: sizes[path] for path in tree.changed},
        "protected": {path: sizes[path] for path in tree.protected},
        "missing": tree.missing,
    }


def _write(header: dict[str, Any], blobs: list[bytes], out: BinaryIO) -> None:
    encoded = json.dumps(header).encode()
    out.write(_LENGTH.pack(len(encoded)) + encoded)
    out.writelines(blobs)
    out.flush()


def _unpack(answer: bytes) -> BundleReading:
    (length,) = _LENGTH.unpack_from(answer)
    position = _LENGTH.size + length
    header = json.loads(answer[_LENGTH.size : position])
    if "unreadable" in header:
        raise BundleError([_problem(described) for described in header["unreadable"]])
    blobs = _Blobs(answer, position)
    answers = []
    for described in header["answers"]:
        content, trajectory = blobs.take(described.pop("size")), blobs.take(described.pop("trajectory_size"))
        described["kind"] = AnswerKind(described["kind"])
        answers.append(RawAnswer(content=content or b"", trajectory=trajectory, **described))
    trees = tuple(_tree(described, blobs) for described in header["trees"])
    return BundleReading(
        manifest=_manifest(header["manifest"]) if header["manifest"] else None,
        answers=tuple(answers),
        problems=tuple(_problem(described) for described in header["problems"]),
        left_out=header["left_out"],
        trees=trees,
        remarks=tuple(_problem(described) for described in header["remarks"]),
    )


@dataclasses.dataclass(slots=True)
class _Blobs:
    """The raw bytes behind the header, taken one after the other."""

    answer: bytes
    position: int

    def take(self, size: int | None) -> bytes | None:
        """The next ``size`` bytes; None for none."""
        if size is None:
            return None
        self.position += size
        return self.answer[self.position - size : self.position]


def _tree(described: dict[str, Any], blobs: _Blobs) -> TreeFolder:
    return TreeFolder(
        paper=described["paper"],
        place=described["place"],
        changed={path: blobs.take(size) or b"" for path, size in described["changed"].items()},
        protected={path: blobs.take(size) for path, size in described["protected"].items()},
        missing=tuple(described["missing"]),
    )


def _manifest(described: dict[str, Any]) -> Manifest:
    return Manifest(**{**described, "links": tuple(described["links"])})


def _problem(described: dict[str, Any]) -> Problem:
    return Problem(**{**described, "severity": Severity(described["severity"])})
