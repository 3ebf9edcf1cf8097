"""Statistics that are kept: an answer is current as long as it was computed from the very labels there are now."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.core.cache import cache
from django.utils import timezone

from leaderboard import agreement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

# Long, since a key names everything that its value was computed from: what is cached cannot become wrong.
KEPT_SECONDS: Final = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Question:
    """``name`` says what is asked (of which raters, on which answers), ``data`` names all that the answer is computed
    from (:func:`digest`), and ``compute`` does so.
    """

    name: str
    data: str
    compute: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Known:
    """An answer, when it was computed, and whether from the labels that there are now."""

    value: Any
    at: datetime
    current: bool


def digest(parts: Iterable[object]) -> str:
    """A name for data (anything whose ``repr`` tells it apart) and for the statistics' code."""
    text = hashlib.sha256(_code_digest())
    for part in parts:
        text.update(repr(part).encode())
    return text.hexdigest()


def known(questions: Sequence[Question]) -> list[Known | None]:
    """For each question the current answer, else the newest one that was ever computed, else None. One query."""
    current, newest = [_data_key(each) for each in questions], [_name_key(each) for each in questions]
    kept: dict[str, tuple[Any, datetime]] = cache.get_many([*current, *newest])
    return [
        Known(*kept[now], current=True) if now in kept else Known(*kept[ever], current=False) if ever in kept else None
        for now, ever in zip(current, newest, strict=True)
    ]


def answered(questions: Sequence[Question], *, seconds: float | None = None) -> list[Known | None]:
    """As :func:`known`, and what is not current is computed.

    With ``seconds`` no new computation starts after that time, but always at least one is made.
    """
    found = known(questions)
    begun = time.monotonic()
    made = 0
    for number, (question, before) in enumerate(zip(questions, found, strict=True)):
        if (before is not None and before.current) or (
            made and seconds is not None and time.monotonic() - begun > seconds
        ):
            continue
        value, at = question.compute(), timezone.now()
        made += 1
        found[number] = Known(value, at, current=True)
        cache.set_many(dict.fromkeys((_data_key(question), _name_key(question)), (value, at)), KEPT_SECONDS)
    return found


def _data_key(question: Question) -> str:
    return f"agreement:{question.data}"


def _name_key(question: Question) -> str:
    return f"agreement-newest:{hashlib.sha256(question.name.encode()).hexdigest()}"


@lru_cache(maxsize=1)
def _code_digest() -> bytes:
    whole = hashlib.sha256()
    for path in sorted(Path(str(agreement.__file__)).parent.glob("*.py")):
        whole.update(path.read_bytes())
    return whole.digest()
