"""Requests and answers, independent of the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """One part of a conversation. ``role`` is ``user``, ``assistant`` or ``tool``; ``calls`` counts tool calls."""

    role: str
    text: str
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """One request. ``tools`` are names, ``schema`` is the schema of strict structured output."""

    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The whole text of the conversation."""
        return "\n".join([self.system, *(turn.text for turn in self.turns)])

    @property
    def digest(self) -> str:
        """A hash of the prompt: equal for equal conversations, whatever the protocol."""
        conversation = [self.system, [[turn.role, turn.text, turn.calls] for turn in self.turns]]
        return hashlib.sha256(json.dumps(conversation).encode()).hexdigest()

    @property
    def tokens(self) -> int:
        """A count in the right order of magnitude: four characters are one token."""
        return max(1, len(self.text) // 4)

    @property
    def steps(self) -> int:
        """How many turns the model has had in which it called a tool."""
        return sum(turn.role == "assistant" and turn.calls > 0 for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model; ``arguments`` is text, since models may send invalid JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply. ``finish`` is ``stop``, ``length``, ``refusal`` or ``filter``; with ``calls``, it ends with tool calls.

    Without ``usage`` no tokens are reported. ``spread`` puts each tool call into a choice of its own, after the text's.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    thinking: str = ""
    seconds: float = 0.0
    usage: bool = True
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that the provider reports in its own form. ``kind`` is one of the keys of a protocol's ``ERRORS``.

    ``written`` is the model's text so far: its half answer, or the tool call that the provider cannot parse.
    ``detail`` lists faulty fields, as validators do. Without ``usage`` no tokens are reported for a half answer.
    """

    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    param: str | None = None
    written: str = ""
    detail: tuple[Mapping[str, Any], ...] = ()
    usage: bool = True


@dataclass(frozen=True, slots=True)
class Wire:
    """Bytes that no provider would send; ``how`` is a key of ``tests.provider_server.wire.MISCHIEF``."""

    how: str


Outcome = Answer | Failure | Wire


@dataclass(slots=True)
class Received:
    """One request, numbered from 1. ``answered`` is the status or the kind of ``Wire`` with which it was answered.

    ``at`` is in seconds since the epoch. ``prompt`` is :attr:`Question.digest`, ``key`` the API key that was sent,
    ``every_header`` the names of all headers, in lower case.
    """

    number: int
    at: float
    method: str
    path: str
    headers: dict[str, str]
    every_header: set[str] = field(default_factory=set)
    model: str = ""
    key: str = ""
    body: Any = None
    prompt: str = ""
    answered: str = ""

    def as_data(self) -> dict[str, Any]:
        """Plain data without the key."""
        shown = ("number", "at", "method", "path", "model", "prompt", "answered", "body")
        return {name: getattr(self, name) for name in shown}
