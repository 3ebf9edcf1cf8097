"""A JSONL file of predictions, one row an answer, as SWE-bench's tools write them."""

from __future__ import annotations

import dataclasses
import difflib
from typing import TYPE_CHECKING

from submissions.answers.foreign_json import ForeignJsonError, JsonValue, read_json
from submissions.answers.intake import ArchiveLimits, ProblemList, readable, refuse
from submissions.answers.manifest import check_manifest, usage_from
from submissions.answers.task_names import LARGEST_TRIAL, task_slug
from submissions.answers.types import AnswerKind, Manifest, RawAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping

_KNOWN = ("instance_id", "model_patch", "function", "model_name_or_path", "trial", "usage")
_ANSWER_KEYS = {"model_patch": AnswerKind.DIFF, "function": AnswerKind.SOURCE}
_NO_DEFAULTS = (
    "A JSONL file has no submission.json; give suite, inputs and the other fields in the form or on the command line."
)


class _RowError(ValueError):
    """One row cannot be used; the message says why."""

    def __init__(self, message: str, *, task: str = "") -> None:
        super().__init__(message)
        self.task = task


def read_predictions(
    content: bytes, defaults: Manifest | None, limits: ArchiveLimits, problems: ProblemList
) -> tuple[Manifest | None, list[RawAnswer]]:
    """The manifest (``defaults`` completed from the rows) and the answers of a JSONL file.

    Rows are at most ``limits.member`` bytes long and at most ``limits.members`` in number. What is wrong is added to
    ``problems``.
    """
    answers: dict[tuple[str, int], RawAnswer] = {}
    models: dict[str, int] = {}
    for number, line in _lines(content, limits, problems):
        try:
            row = _row(line, limits)
            answer = _answer(row, number)
            model = _model(row, answer.task)
            _refuse_second(answer, answers)
        except _RowError as error:
            problems.add(refuse(str(error), task=error.task, file=f"line {number}"))
            continue
        answers[answer.task, answer.trial] = answer
        models.setdefault(model, number)
    return _manifest(defaults, models, problems), list(answers.values())


def _lines(content: bytes, limits: ArchiveLimits, problems: ProblemList) -> list[tuple[int, bytes]]:
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n", limits.members * 2)
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if len(numbered) > limits.members:
        problems.add(refuse(f"The file has more than {limits.members} rows."))
        return []
    return numbered


def _row(line: bytes, limits: ArchiveLimits) -> Mapping[str, JsonValue]:
    if len(line) > limits.member:
        raise _RowError(f"The row is longer than {readable(limits.member)}.")
    try:
        row = read_json(line)
    except ForeignJsonError as error:
        raise _RowError(error.sentence("Not usable")) from None
    if not isinstance(row, dict):
        raise _RowError("A row must be one JSON object, like {...}.")
    for key in row:
        # Tools add keys of their own; one that nearly is a known key is a misspelling that must not be lost.
        close = difflib.get_close_matches(key.lower()[:100], _KNOWN, n=1, cutoff=0.8)
        if key not in _KNOWN and close:
            raise _RowError(f"Unknown key {key[:60]!r}; did you mean {close[0]!r}?")
    return row


def _answer(row: Mapping[str, JsonValue], number: int) -> RawAnswer:
    instance = row.get("instance_id")
    task = task_slug(instance) if isinstance(instance, str) else ""
    if not task:
        raise _RowError("'instance_id' must name a task, like \"dpo/1\".")
    given = [key for key in _ANSWER_KEYS if row.get(key) is not None]
    if len(given) != 1:
        raise _RowError("Give either 'model_patch' (a diff) or 'function' (the source), and only one.", task=task)
    text = row[given[0]]
    if not isinstance(text, str):
        raise _RowError(f"{given[0]!r} must be a text in quotes.", task=task)
    trial = row.get("trial", 1)
    if isinstance(trial, bool) or not isinstance(trial, int) or not 1 <= trial <= LARGEST_TRIAL:
        raise _RowError(f"'trial' must be a whole number from 1 to {LARGEST_TRIAL}.", task=task)
    return RawAnswer(
        task=task,
        trial=trial,
        kind=_ANSWER_KEYS[given[0]],
        content=text.encode(),
        # With the key, since problems of the answer give its own line beside this.
        file=f"line {number}, {given[0]}",
        usage=_usage(row.get("usage"), task),
    )


def _refuse_second(answer: RawAnswer, answers: Mapping[tuple[str, int], RawAnswer]) -> None:
    earlier = answers.get((answer.task, answer.trial))
    if earlier is not None:
        raise _RowError(f"Trial {answer.trial} is answered twice (also in {earlier.file}).", task=answer.task)


def _usage(value: JsonValue, task: str) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _RowError("'usage' must be an object.", task=task)
    try:
        return usage_from(value)
    except ForeignJsonError as error:
        raise _RowError(f"'usage': {error}.", task=task) from None


def _model(row: Mapping[str, JsonValue], task: str) -> str:
    model = row.get("model_name_or_path")
    if not isinstance(model, str) or not model.strip():
        raise _RowError("'model_name_or_path' must name the model.", task=task)
    return model.strip()


def _manifest(defaults: Manifest | None, models: Mapping[str, int], problems: ProblemList) -> Manifest | None:
    if defaults is None:
        problems.add(refuse(_NO_DEFAULTS))
        return None
    if len(models) > 1:
        (first, _), (second, line) = list(models.items())[:2]
        problems.add(
            refuse(
                f"Rows disagree on 'model_name_or_path': {first[:60]!r} and {second[:60]!r}; "
                "send one file for each system.",
                file=f"line {line}",
            )
        )
    model = next(iter(models), "")
    manifest = dataclasses.replace(defaults, system=defaults.system or model, backbone=defaults.backbone or model)
    checked, found = check_manifest(manifest)
    problems.extend(found)
    return checked
