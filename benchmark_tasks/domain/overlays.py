"""Read overlays: sealed probes, environments and corrections that LMR-Board adds to an operator's copy of a suite.

``overlays/<suite>/<paper's folder>/`` holds ``overlay.json`` and, for each task in it, ``cases_<index>.py`` and
``run_<index>.py`` (docs/authoring-tasks.md, "Overlays"). No Django here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints, model_validator

from benchmark_tasks.domain.info import INFO_FILE, CheckInfo, InfoFile, StrictInfo, TaskInfo
from benchmark_tasks.domain.problems import ImportProblem
from benchmark_tasks.facts.lmr_bench import paper_slug

if TYPE_CHECKING:
    from benchmark_tasks.domain.info import PaperInfo

OVERLAYS_FOLDER: Final = Path(__file__).resolve().parents[1] / "overlays"
OVERLAY_FILE: Final = "overlay.json"

_NOTE: Final = "Note by LMR-Board, which is no part of the benchmark's own instruction:"
_Sentence = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class Correction(StrictInfo):
    """A correction of a fact that the paper's own info.json has wrong or leaves out, and the evidence for it."""

    key: Literal["category", "goal_file", "goal_function", "class_name", "golden_file", "unit_test_file"]
    value: Annotated[str, StringConstraints(max_length=300)]
    reason: _Sentence


class TaskOverlay(StrictInfo):
    """The additions to one task.

    ``goal_function`` is the function that the probe calls, so that it is not applied to another task. ``tests``
    describes what the test cases vary and what is compared, ``left_open`` what is not, on purpose or because the
    instruction leaves it open: parts of a sentence, separated by semicolons. ``note`` is added to the instruction if
    the instruction, the docstring and the paper leave open or contradict what the test cases need.
    ``upstream_cannot_run`` is the reason why upstream's own unit test cannot run in a box, if its files alone do not
    show it. ``upstream_path`` are folders of the repository whose packages that test expects to be installed.
    """

    index: Annotated[int, Field(ge=1, le=999)]
    goal_function: Annotated[str, StringConstraints(min_length=1, max_length=120)]
    environment: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    tests: _Sentence
    left_open: Annotated[str, StringConstraints(max_length=1000)] = ""
    note: Annotated[str, StringConstraints(max_length=1000)] = ""
    upstream_cannot_run: Annotated[str, StringConstraints(max_length=1000)] = ""
    upstream_path: list[Annotated[str, StringConstraints(min_length=1, max_length=300)]] = []
    corrections: list[Correction] = []
    check: CheckInfo

    @model_validator(mode="before")
    @classmethod
    def _name_cases(cls, value: Any) -> Any:
        """Add the name of the file with the test cases, which is fixed, to the check."""
        if isinstance(value, dict) and isinstance(value.get("check"), dict):
            return {**value, "check": {"cases_file": f"cases_{value.get('index')}.py", **value["check"]}}
        return value


class Lines(StrictInfo):
    """The lines of a file from ``first`` to ``last``, with their digest, so that no other lines are cut."""

    first: Annotated[int, Field(ge=1)]
    last: Annotated[int, Field(ge=1)]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

    def cut(self, content: bytes) -> bytes | None:
        """Return ``content`` without these lines, or None if its lines are others. Line endings do not matter."""
        lines = content.splitlines(keepends=True)
        ours = b"".join(line.rstrip(b"\r\n") + b"\n" for line in lines[self.first - 1 : self.last])
        if hashlib.sha256(ours).hexdigest() != self.sha256:
            return None
        return b"".join([*lines[: self.first - 1], *lines[self.last :]])


class LeftOut(StrictInfo):
    """A file of the masked repository, or ``lines`` of it, that gives an answer away; ``reason`` explains how."""

    file: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    lines: Lines | None = None
    reason: _Sentence

    def as_data(self) -> dict[str, Any]:
        """Return plain data for the task's page."""
        lines = {"lines": [self.lines.first, self.lines.last]} if self.lines else {}
        return {"file": self.file, "reason": self.reason, **lines}


class PaperOverlay(StrictInfo):
    """The additions to the tasks of one paper, and what is left out of its repository."""

    tasks: list[TaskOverlay]
    leave_out: list[LeftOut] = []


@dataclass(frozen=True, slots=True)
class Overlay:
    """The overlay of one task, with the probe's two files."""

    task: TaskOverlay
    cases: Path
    run: Path
    corrections: tuple[dict[str, str], ...] = ()
    """The corrections that changed something: ``key``, ``was``, ``value``, ``reason``."""
    left_out: tuple[LeftOut, ...] = ()

    def as_data(self, upstream_reasons: tuple[str, ...]) -> dict[str, Any]:
        """Return plain data for the task's page."""
        return {
            "tests": self.task.tests,
            "left_open": self.task.left_open,
            "corrections": list(self.corrections),
            "left_out": [each.as_data() for each in self.left_out],
            "upstream_path": self.task.upstream_path,
            "upstream_reasons": [*filter(None, [self.task.upstream_cannot_run]), *upstream_reasons],
        }


@dataclass(frozen=True, slots=True)
class Overlays:
    """All overlays of a suite, by the slugs of its papers."""

    folders: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, suite: str) -> Overlays:
        """Return the overlays shipped for ``suite``; most suites have none."""
        files = (OVERLAYS_FOLDER / suite).glob(f"*/{OVERLAY_FILE}")
        return cls({paper_slug(file.parent.name): file.parent for file in files})

    def applied(self, info: PaperInfo, problems: list[ImportProblem]) -> tuple[PaperInfo, dict[int, Overlay]]:
        """Return the paper with the overlays applied to its tasks, and the overlays by task index.

        An overlay for another function than the task's, or for no task, is left out and reported.
        """
        folder = self.folders.get(info.slug)
        if folder is None:
            return info, {}
        tasks = {task.index: task for task in info.implementations}
        found: dict[int, Overlay] = {}
        paper = read_overlay(folder, problems)
        for ours in paper.tasks:
            task = tasks.get(ours.index)
            merged = _merged(task, ours) if task else None
            if task and merged and merged.goal_function == ours.goal_function:
                tasks[ours.index], found[ours.index] = merged, _overlay(folder, paper, ours, task, merged)
                continue
            why = f", but the task's is {merged.goal_function!r}" if merged else ", and there is no such task"
            message = f"the overlay of {info.slug}/{ours.index} is left out: it is for {ours.goal_function!r}{why}"
            line = task.line if task else None
            problems.append(ImportProblem(f"{info.folder_name}/{INFO_FILE}", message, line, fatal=False))
        return info.model_copy(update={"implementations": list(tasks.values())}), found


NO_OVERLAYS: Final = Overlays()


def read_overlay(folder: Path, problems: list[ImportProblem]) -> PaperOverlay:
    """Read the overlay in ``folder``. Overlays are the project's own: a format error refuses the whole import."""
    shown = f"overlays/{folder.parent.name}/{folder.name}/{OVERLAY_FILE}"
    file = InfoFile(folder, OVERLAY_FILE, shown=shown, problems=problems, whole=True)
    return file.validated(PaperOverlay, {}) or PaperOverlay(tasks=[])


def _overlay(folder: Path, paper: PaperOverlay, ours: TaskOverlay, before: TaskInfo, after: TaskInfo) -> Overlay:
    corrections = tuple(
        {"was": getattr(before, each.key), **each.model_dump()}
        for each in ours.corrections
        if getattr(before, each.key) != getattr(after, each.key)
    )
    cases, run = folder / ours.check.cases_file, folder / f"run_{ours.index}.py"
    return Overlay(ours, cases, run, corrections, tuple(paper.leave_out))


def _merged(task: TaskInfo, overlay: TaskOverlay) -> TaskInfo:
    """Return the task with the overlay's corrections, environment and check."""
    corrected: dict[str, str] = {each.key: each.value for each in overlay.corrections}
    if "category" in corrected:
        corrected["category_source"] = "ours"
    if overlay.note:
        corrected["instruction"] = f"{task.instruction}\n\n{_NOTE} {overlay.note}"
    ours = {"protocol": "sealed", "environment": overlay.environment, "check": overlay.check}
    return TaskInfo.model_validate({**dict(task), **corrected, **ours})
