"""The receipt of an answer: everything needed to repeat its test run. Pages write it; a command reads it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

FORMAT: Final = 1
LARGEST: Final = 32 * 1024 * 1024


class ReceiptError(Exception):
    """A receipt cannot be read, or cannot be repeated here. The message gives the reason and a remedy."""


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """The answer and its system. ``diff`` (to the masked repository) and ``digest`` are null unless published."""

    address: str
    submission: int
    system: str
    inputs: str
    trial: int
    attempted: bool
    licence: str
    digest: str | None
    diff: str | None


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """The task, with digests of statement, masked repository, and grading content (golden file, cases, check)."""

    suite: str
    suite_version: int
    suite_digest: str
    task: str
    revision: int
    statement_digest: str
    repository_digest: str
    grading_digest: str


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """A public case, or one of upstream's tests, which has a ``name`` and no seed."""

    seed: int | None
    number: int
    name: str
    outcome: str


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The unit test's result and conditions. ``outcome`` is empty while it is undecided."""

    outcome: str
    protocol: str
    cases: tuple[CaseFacts, ...]
    private_passed: int
    private_total: int
    evaluator: str
    sandbox: str
    environment: str
    environment_digest: str
    seed_epoch: int
    seconds: float | None
    measured: datetime | None


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """One judge's label, with digests of the judge, its prompt, its answer format, and its input.

    ``paper_digest`` is that of the paper's file, empty where the judge did not see it.
    """

    judge: str
    model: str
    label: str
    digest: str
    prompt_version: str
    prompt_digest: str
    schema_digest: str
    input_digest: str
    judged: datetime | None
    paper_digest: str = ""


@dataclass(frozen=True, slots=True)
class FinalFacts:
    """The final label, its source, and the versions of the guidelines that the annotators used."""

    label: str
    source: str
    guidelines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The whole receipt. ``command`` repeats the test run."""

    answer: AnswerFacts
    task: TaskFacts
    run: RunFacts | None
    judges: tuple[JudgeFacts, ...]
    final: FinalFacts | None
    sent: datetime
    scored: datetime | None
    published: datetime | None
    command: str
    receipt: int = FORMAT


def read_receipt(content: bytes) -> Receipt:
    """Read a receipt from its JSON. Raises ReceiptError for anything else."""
    # Imported here: web processes import this module and do not need pydantic for it.
    from pydantic import TypeAdapter, ValidationError

    if len(content) > LARGEST:
        raise ReceiptError(f"A receipt has at most {LARGEST // 2**20} MB.")
    try:
        receipt = TypeAdapter(Receipt).validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ReceiptError(f"This is not a receipt of an answer: {place}: {first['msg']}.") from None
    if receipt.receipt != FORMAT:
        raise ReceiptError(f"The receipt has format {receipt.receipt}; this version reads format {FORMAT}.")
    return receipt
