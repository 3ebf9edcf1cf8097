"""JSONL predictions: one row an answer, as SWE-bench's tools write them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchmark_tasks.domain.foreign_json import JsonError, given, read_json, wrongs
from submissions.answers.archives import ArchiveLimits, readable
from submissions.answers.manifest import Usage
from submissions.answers.types import LARGEST_TRIAL, AnswerKind, RawAnswer, refuse, task_slug

if TYPE_CHECKING:
    from submissions.answers.types import ProblemList


def _one_task(written: str) -> str:
    slug = task_slug(written)
    if not slug:
        raise ValueError('must name a task, like "dpo/1"')
    return slug


class Prediction(BaseModel):
    """One row of a JSONL file, as SWE-bench's tools write them; they add keys of their own."""

    model_config = ConfigDict(strict=True, protected_namespaces=())

    instance_id: Annotated[str, AfterValidator(_one_task)]
    model_name_or_path: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    model_patch: str | None = None
    function: str | None = None
    trial: Annotated[int, Field(ge=1, le=LARGEST_TRIAL)] = 1
    usage: Usage = Usage()


def read_predictions(data: bytes, limits: ArchiveLimits, problems: ProblemList) -> tuple[str, list[RawAnswer]]:
    """The model that the rows name, and their answers. Rows are bounded as members of an archive are."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n", limits.members * 2)
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if len(rows) > limits.members:
        problems.add(refuse(f"The file has more than {limits.members} rows."))
        return "", []
    answers: list[RawAnswer] = []
    models: dict[str, int] = {}
    for number, line in rows:
        try:
            model, answer = _from_row(line, number, limits)
        except ValueError as error:
            problems.add(refuse(str(error), file=f"line {number}"))
            continue
        answers.append(answer)
        models.setdefault(model, number)
    if len(models) > 1:
        first, second = list(models)[:2]
        message = (
            f"Rows disagree on 'model_name_or_path': {first[:60]!r} and {second[:60]!r}; send one file for each system."
        )
        problems.add(refuse(message, file=f"line {models[second]}"))
    return next(iter(models), ""), answers


def _from_row(line: bytes, number: int, limits: ArchiveLimits) -> tuple[str, RawAnswer]:
    """The model and the answer of one row. Raises ValueError."""
    if len(line) > limits.member:
        raise ValueError(f"The row is longer than {readable(limits.member)}.")
    row = read_row(line)
    if (row.model_patch is None) == (row.function is None):
        raise ValueError("Give either 'model_patch' (a diff) or 'function' (the source), and only one.")
    is_diff = row.model_patch is not None
    return row.model_name_or_path, RawAnswer(
        task=row.instance_id,
        trial=row.trial,
        kind=AnswerKind.DIFF if is_diff else AnswerKind.SOURCE,
        content=(row.model_patch if row.model_patch is not None else row.function or "").encode(),
        # With the key, since problems of the answer give its own line beside this.
        file=f"line {number}, {'model_patch' if is_diff else 'function'}",
        usage=row.usage.declared(),
    )


def read_row(line: bytes) -> Prediction:
    """One row of predictions. Raises ValueError, with everything that is wrong."""
    try:
        value = given(read_json(line))
    except JsonError as error:
        where = f" at column {error.column}" if error.column else ""
        raise ValueError(f"The row is not usable{where}: it {error.message}.") from None
    if not isinstance(value, dict):
        raise ValueError("A row must be one JSON object, like {...}.")  # noqa: TRY004 - as whatever else is wrong
    known = tuple(Prediction.model_fields)
    for key in value:
        # One that nearly is a known key is a misspelling that must not be lost.
        close = get_close_matches(key.lower()[:100], known, n=1, cutoff=0.8)
        if key not in known and close:
            raise ValueError(f"Unknown key {key[:60]!r}; did you mean {close[0]!r}?")
    try:
        return Prediction.model_validate(value)
    except ValidationError as error:
        raise ValueError(" ".join(each.sentence for each in wrongs(error, tuple(Usage.model_fields)))) from None
