"""Build sample bundles with known outcomes, with which operators and the site verify the evaluator.

Their kind is ``calibration``: evaluated like every other submission, shown separately, never ranked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from benchmark_tasks.domain.known_answers import known_source
from benchmark_tasks.domain.python_source import same_definition
from benchmark_tasks.domain.queries import golden_definition
from benchmark_tasks.domain.zips import zipped
from submissions.exceptions import SuiteNotOpenError

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion, TaskRevision


_Answer: TypeAlias = tuple[str | None, str]
"""The source of an answer (None if the task is left out) and its outcome."""


class SampleKind(StrEnum):
    """Which answers a sample bundle contains."""

    GOLDEN = "golden"
    STUB = "stub"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Sample:
    """A zip, and the expected outcome of every task."""

    content: bytes
    expected: dict[str, str]

    @property
    def digest(self) -> str:
        """Return the bundle's digest, which identifies its submissions."""
        # Imported here, since pages that never build samples import this module, and the parser loads much.
        from submissions.answers.bundle import read_bundle

        return read_bundle(self.content).digest()


def build_sample(kind: SampleKind | str, version: SuiteVersion) -> Sample:
    """Build a bundle for ``version`` with golden answers, masked stubs, or a mixture of right and wrong ones.

    Tasks that accept no answers are left out. The mixture uses the suite's ``samples/`` if it ships any. Raises
    :class:`SuiteNotOpenError` if the suite has no runnable task.
    """
    kind = SampleKind(kind)
    revisions = [
        revision
        for revision in version.revisions.select_related("task__paper", "task__suite").order_by(
            "task__paper__folder_name", "task__index"
        )
        if revision.runnable
    ]
    if not revisions:
        msg = f"The suite {version.suite.slug!r} has no runnable task, so no sample can be made."
        raise SuiteNotOpenError(msg)
    answers = {revision: _answer(kind, revision, number) for number, revision in enumerate(revisions)}
    expected = dict.fromkeys(version.revisions.values_list("task__slug", flat=True), "not_attempted")
    expected |= {revision.task.slug: outcome for revision, (_, outcome) in answers.items()}
    return Sample(content=_zip(kind, version, answers), expected=expected)


def _answer(kind: SampleKind, revision: TaskRevision, number: int) -> _Answer:
    if kind is SampleKind.GOLDEN:
        return (golden_definition(revision), "passed")
    if kind is SampleKind.STUB:
        return _stub(revision)
    return MIXTURE[number % len(MIXTURE)](revision)


def _stub(revision: TaskRevision) -> _Answer:
    """Return the masked definition with a message; unchanged, it would be refused for changing nothing."""
    source = revision.masked_source.replace("raise NotImplementedError", 'raise NotImplementedError("left unwritten")')
    return (source, "bad_patch" if same_definition(source, revision.masked_source) else "raised")


def _rewritten(revision: TaskRevision) -> _Answer:
    """Return a right answer that differs from the golden one."""
    return (known_source(revision, right=True) or golden_definition(revision), "passed")


def _mistaken(revision: TaskRevision) -> _Answer:
    """Return a plausible wrong answer that runs, or the stub if the suite ships none."""
    wrong = known_source(revision, right=False)
    return (wrong, "wrong_output") if wrong else _stub(revision)


def _undefined_name(revision: TaskRevision) -> _Answer:
    """Return an answer that parses, but raises when called since a helper is undefined."""
    return (revision.masked_source.replace("raise NotImplementedError", "return compute_as_in_the_paper()"), "raised")


def _cut_off(revision: TaskRevision) -> _Answer:
    """Return an answer cut off by a token limit, which does not parse."""
    return (f"{revision.masked_source.rstrip()}\n    result = compute(\n", "bad_patch")


def _left_out(revision: TaskRevision) -> _Answer:  # noqa: ARG001 - the others' signature
    return (None, "not_attempted")


MIXTURE = (
    _rewritten, _mistaken, _undefined_name, _rewritten, _mistaken, _mistaken, _cut_off, _left_out, _rewritten
)  # fmt: skip


def _zip(kind: SampleKind, version: SuiteVersion, answers: dict[TaskRevision, _Answer]) -> bytes:
    manifest = {
        "suite": version.suite.slug,
        "suite_version": version.number,
        "system": f"Sample: {kind.value} answers",
        "backbone": "none",
        "scaffold": "none",
        "inputs": "full",
        "kind": "calibration",
        "organisation": "LMR-Board",
        "notes": "Made by manage.py sample_bundle to show that the evaluator tells right from wrong.",
    }
    files = {"submission.json": json.dumps(manifest, indent=2) + "\n"}
    for revision, (source, _) in answers.items():
        if source is not None:
            files[f"answers/{revision.task.slug}/answer.py"] = source
    return zipped(files)
