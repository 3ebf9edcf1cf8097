"""From the files of an archive, or the rows of a JSONL file, to answers: one for each task and trial."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import defaultdict
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from submissions.answers.archives import Archive, ArchiveKind, is_packed, read_archive
from submissions.answers.foreign_json import ForeignJsonError
from submissions.answers.intake import TRAJECTORY_FOLDER, ArchiveLimits, Member, ProblemList, readable, refuse
from submissions.answers.manifest import MANIFEST_FILE, check_manifest, nearest, parse_usage, read_manifest
from submissions.answers.predictions import read_predictions
from submissions.answers.task_names import LARGEST_TRIAL, paper_slug
from submissions.answers.tree_reader import TREE_LIMITS, TreeFolder, TreeReading, read_trees
from submissions.answers.types import AnswerKind, BundleError, Manifest, Problem, RawAnswer, Severity
from submissions.trajectories.reading import MAX_BYTES, folder_as_lines, read_trajectory
from submissions.trajectories.steps import TrajectoryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from submissions.answers.tree_index import TreeIndex

_ANSWERS = "answers"
_ANSWER_FILES = {"answer.diff": AnswerKind.DIFF, "answer.patch": AnswerKind.DIFF, "answer.py": AnswerKind.SOURCE}
_USAGE = "usage.json"
_TRAJECTORY_SUFFIXES = (".json", ".jsonl", ".txt", ".log")
_INDEX = re.compile(r"0*([1-9][0-9]{0,2})")
_TRIAL = re.compile(r"trial-0*([1-9][0-9]{0,2})")
_LAYOUT = "answers/<paper>/<index>[/trial-N]/answer.diff or answer.py"
_NO_DEFAULTS = (
    "This looks like an output tree, which has no submission.json; give its suite, system and the other fields in the "
    "form or on the command line."
)
_NOT_TEXT = "Left out of the trajectory: only JSON and text files are kept."
_SESSION = re.compile(rf"(?P<folder>answers/(?:[^/]+/){{1,2}}?[^/]+)/{TRAJECTORY_FOLDER}/(?P<file>.+)", re.IGNORECASE)
_TOP_FILES = ("readme.md", "readme.txt", "license.txt", "license.md")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that reads: what was run, and its answers sorted by task and trial.

    ``digest`` (SHA-256, hexadecimal) is made of the content, so that packing the same files again gives the same.
    """

    manifest: Manifest
    answers: tuple[RawAnswer, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class BundleReading:
    """As much of a bundle as could be read, and what is wrong with the rest of it.

    Fields of ``manifest`` that are wrong are empty; it is None where there is none that reads. ``problems`` are
    bounded; ``left_out`` is how many more there were. ``trees`` are the papers of an output tree, from which
    :mod:`submissions.answers.check` makes answers. ``remarks`` say what was passed over in an output tree, and what of
    trajectories is not understood.
    """

    manifest: Manifest | None
    answers: tuple[RawAnswer, ...]
    problems: tuple[Problem, ...] = ()
    left_out: int = 0
    trees: tuple[TreeFolder, ...] = ()
    remarks: tuple[Problem, ...] = ()
    is_tree: bool = False

    def bundle(self) -> Bundle:
        """The bundle, where nothing is wrong with it. Raises BundleError with the problems."""
        if self.manifest is None or self.problems:
            raise BundleError(list(self.problems))
        return Bundle(manifest=self.manifest, answers=self.answers, digest=_digest(self.manifest, self.answers))


def read_bundle(
    stream: BinaryIO,
    *,
    defaults: Manifest | None = None,
    limits: ArchiveLimits | None = None,
    index: TreeIndex | None = None,
    tree_limits: ArchiveLimits | None = None,
) -> BundleReading:
    """Read what can be read of a bundle from an open file; what is wrong with one file does not stop the others.

    ``defaults`` stands in for ``submission.json``, which JSONL does not have; empty ``system`` and ``backbone`` are
    then filled from ``model_name_or_path``. A bundle in a zip or tar.gz ignores it; an output tree needs it, and is
    compared with the ``index`` of the suite that it names.

    Whether the answers parse and apply is not looked at here (see :mod:`submissions.answers.check`).

    Raises BundleError, with every problem found until then, for a file that cannot be read to its end.
    """
    limits = limits or ArchiveLimits()
    tree_limits = tree_limits or TREE_LIMITS
    problems = ProblemList(limits.problems)
    data = stream.read(max(limits.upload, tree_limits.upload) + 1)
    if is_packed(data) and len(data) <= tree_limits.upload:
        trees = read_trees(data, index, limits=tree_limits, plain=limits, problems=problems)
        if trees is not None:
            return _from_trees(trees, defaults, problems)
    if index is not None and len(data) > tree_limits.upload:
        message = f"The file is larger than {readable(tree_limits.upload)}; leave out data, checkpoints and caches."
        raise BundleError([refuse(message)])
    archive = read_archive(io.BytesIO(data), limits, problems)
    if archive.kind is ArchiveKind.JSONL:
        manifest, answers = read_predictions(archive.members[0].content, defaults, limits, problems)
    else:
        manifest, answers = _from_archive(archive, problems)
    answers.sort(key=lambda answer: (answer.task, answer.trial))
    return BundleReading(
        manifest=manifest,
        answers=tuple(answers),
        problems=tuple(problems.kept),
        left_out=problems.left_out,
        remarks=(
            *(Problem(Severity.REMARK, _NOT_TEXT, file=name) for name in archive.passed_over[: limits.problems]),
            *islice(_trajectory_remarks(answers), limits.members),
        ),
    )


def _from_trees(trees: TreeReading, defaults: Manifest | None, problems: ProblemList) -> BundleReading:
    manifest = None
    if defaults is None:
        problems.add(refuse(_NO_DEFAULTS))
    else:
        manifest, found = check_manifest(defaults)
        problems.extend(found)
    return BundleReading(
        manifest=manifest,
        answers=(),
        problems=tuple(problems.kept),
        left_out=problems.left_out,
        trees=trees.folders,
        remarks=trees.remarks,
        is_tree=True,
    )


def _from_archive(archive: Archive, problems: ProblemList) -> tuple[Manifest | None, list[RawAnswer]]:
    manifest: Manifest | None = None
    # What was refused for its own sake is not called missing as well.
    has_manifest = any(name.lower().rpartition("/")[2] == MANIFEST_FILE for name in archive.refused)
    holds_answers = any(_ANSWERS in name.lower().split("/") for name in archive.refused)
    folders: defaultdict[str, dict[str, Member]] = defaultdict(dict)
    sessions: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for member in archive.members:
        folder, _, name = member.name.rpartition("/")
        if not folder and name.lower() == MANIFEST_FILE:
            has_manifest = True
            manifest, found = read_manifest(member.content, file=member.name)
            problems.extend(found)
        elif session := _SESSION.match(member.name):
            sessions[session["folder"]][session["file"]] = member.content
        elif folder.lower() == _ANSWERS or folder.lower().startswith(_ANSWERS + "/"):
            folders[folder][name] = member
        elif folder or name.lower() not in _TOP_FILES:
            holds_answers = True
            problems.add(refuse(f"Unknown file; answers lie at {_LAYOUT}.", file=member.name))
    if not has_manifest:
        problems.add(refuse(f"{MANIFEST_FILE} is missing; add it at the top of the archive.", file=MANIFEST_FILE))
    if not folders and not holds_answers:
        problems.add(refuse(f"The bundle holds no answer; answers lie at {_LAYOUT}."))
    for folder, files in sessions.items():
        name = f"{folder}/{TRAJECTORY_FOLDER}"
        folders[folder][f"{TRAJECTORY_FOLDER}/"] = Member(name=name, content=folder_as_lines(files))
    return manifest, _from_folders(folders, archive.refused, problems)


def _from_folders(
    folders: Mapping[str, Mapping[str, Member]], refused: frozenset[str], problems: ProblemList
) -> list[RawAnswer]:
    answers: dict[tuple[str, int], RawAnswer] = {}
    for folder, files in folders.items():
        place = _place(folder)
        if place is None:
            for member in files.values():
                problems.add(refuse(f"Unknown place; answers lie at {_LAYOUT}.", file=member.name))
            continue
        task, trial = place
        if trial > LARGEST_TRIAL:
            problems.add(refuse(f"Trials are numbered 1 to {LARGEST_TRIAL}.", task=task, file=folder))
            continue
        refused_here = any(name.lower().startswith(f"{folder}/answer.".lower()) for name in refused)
        answer = _from_folder(task, trial, files, problems, refused_here=refused_here)
        earlier = answers.get(place)
        if earlier and answer:
            message = f"Trial {trial} is answered twice (also in {earlier.file}); keep one."
            problems.add(refuse(message, task=task, file=answer.file))
        elif answer:
            answers[place] = answer
    return list(answers.values())


def _place(folder: str) -> tuple[str, int] | None:
    """Task and trial of ``answers/<paper>/<index>[/trial-N]``; None for any other folder."""
    parts = folder.lower().split("/")[1:]
    if len(parts) not in (2, 3):
        return None
    paper, index = paper_slug(parts[0]), _INDEX.fullmatch(parts[1])
    trial = _TRIAL.fullmatch(parts[2]) if len(parts) == 3 else _TRIAL.fullmatch("trial-1")
    if not paper or index is None or trial is None:
        return None
    return f"{paper}/{index[1]}", int(trial[1])


def _from_folder(
    task: str, trial: int, files: Mapping[str, Member], problems: ProblemList, *, refused_here: bool
) -> RawAnswer | None:
    """The answer in one folder, of several the first; None after noting why (unless it was refused before)."""
    found: list[tuple[AnswerKind, Member]] = []
    usage: dict[str, float] = {}
    trajectory: Member | None = None
    for name, member in files.items():
        if name.lower() in _ANSWER_FILES:
            found.append((_ANSWER_FILES[name.lower()], member))
        elif name.lower() == _USAGE:
            usage = _usage(task, member, problems)
        elif _is_trajectory(name) and trajectory is None:
            trajectory = member
        else:
            problems.add(refuse(_unknown_file(name, trajectory), task=task, file=member.name))
    if trajectory is not None and len(trajectory.content) > MAX_BYTES:
        problems.add(refuse(f"The trajectory is larger than {readable(MAX_BYTES)}.", task=task, file=trajectory.name))
    if not found and refused_here:
        return None
    if len(found) != 1:
        where = next(iter(files.values())).name.rpartition("/")[0]
        names = " and ".join(member.name.rpartition("/")[2] for _, member in found)
        message = f"Both {names} are here; keep one." if found else "There is no answer.diff or answer.py here."
        problems.add(refuse(message, task=task, file=where))
    if not found:
        return None
    kind, member = found[0]
    return RawAnswer(
        task=task,
        trial=trial,
        kind=kind,
        content=member.content,
        file=member.name,
        usage=usage,
        trajectory=trajectory.content if trajectory else None,
        trajectory_name=trajectory.name.rpartition("/")[2] if trajectory else "",
    )


def _is_trajectory(name: str) -> bool:
    """Whether this is a trajectory's file, or all that lies in the folder of one."""
    return name.lower().endswith((*_TRAJECTORY_SUFFIXES, "/"))


def _trajectory_remarks(answers: Iterable[RawAnswer]) -> Iterator[Problem]:
    """What of the trajectories is not understood. They are kept as they are in every case."""
    for answer in answers:
        if answer.trajectory is None:
            continue
        try:
            said = read_trajectory(answer.trajectory).remarks
        except TrajectoryError as error:
            said = (str(error),)
        name = answer.trajectory_name or TRAJECTORY_FOLDER
        file = f"{answer.file.rpartition('/')[0]}/{name}"
        yield from (Problem(Severity.REMARK, message, task=answer.task, file=file) for message in said)


def _unknown_file(name: str, trajectory: Member | None) -> str:
    if trajectory is not None and _is_trajectory(name):
        return f"A second trajectory beside {trajectory.name.rpartition('/')[2]}; keep one."
    return f"Unknown file {name[:60]!r}; {nearest(name, (*_ANSWER_FILES, _USAGE))}"


def _usage(task: str, member: Member, problems: ProblemList) -> dict[str, float]:
    try:
        return parse_usage(member.content)
    except ForeignJsonError as error:
        problems.add(refuse(error.sentence("Not usable"), task=task, file=member.name, line=error.line))
        return {}


def _digest(manifest: Manifest, answers: Sequence[RawAnswer]) -> str:
    described = {
        "manifest": asdict(manifest),
        "answers": [
            {
                "task": answer.task,
                "trial": answer.trial,
                "kind": answer.kind,
                "content": hashlib.sha256(answer.content).hexdigest(),
                "usage": answer.usage,
                "trajectory": hashlib.sha256(answer.trajectory or b"").hexdigest(),
            }
            for answer in answers
        ],
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
