"""The pieces of code in what a model wrote, in their order: fenced blocks, or what looks like code among the words."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evaluator.generation.code_cleaning import mended, picked
from evaluator.generation.diff_answers import is_diff, without_diff_marks

if TYPE_CHECKING:
    from evaluator.generation.code_cleaning import Code, Parser

MAX_BLOCKS: Final = 100
_DEEPEST: Final = 3
_MOST_CLOSERS: Final = 6
_LONGEST_INLINE: Final = 1000

_FENCE = re.compile(r"^[ \t>]*(?P<mark>`{3,}+|~{3,}+)(?P<info>[^`\n]*+)$")
_INLINE = re.compile(r"`{3,}(?:python|py)?[ \t]*(?P<code>[^`\n]*\b(?:def|class)\b[^`\n]*)`{3,}")
_THOUGHT = re.compile(r"<(?P<end>/?)(?P<name>think|thinking|reasoning)>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:pre|code|answer|solution|python|implementation|function|result|output)(?:[ \t][^<>\n]{0,200})?>",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its place among the fences (from 1), its info string and its lines."""

    place: int
    info: str
    text: str


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a text holds: code that parses, in its order, and unified diffs. ``fences`` is how many blocks it has.

    ``loose`` are fenced blocks that are not code by themselves.
    """

    codes: tuple[Code, ...]
    diffs: tuple[str, ...]
    loose: tuple[str, ...]
    fences: int


def pieces_of(text: str, parser: Parser, *, depth: int = 0) -> Pieces:
    """Take ``text`` (``\\n`` line ends) apart. Raises TooInvolvedError."""
    text = _without_thoughts(text) if depth == 0 else text
    inside_json = _from_json(text)
    if inside_json is not None and depth < _DEEPEST:
        return pieces_of(inside_json, parser, depth=depth + 1)
    fences, outside = _split(text, parser)
    codes: list[Code] = []
    diffs: list[str] = []
    loose: list[str] = []
    for fence in fences:
        if is_diff(fence.text, fence.info):
            diffs.append(fence.text)
            continue
        found = _in_fence(fence, parser, depth)
        codes += found.codes
        diffs += found.diffs
        loose += found.loose
    if is_diff(outside, "") and not fences:
        diffs.append(outside)
    else:
        around = picked(_TAG.sub("\n", outside), parser)
        codes = [*([around] if around else []), *codes]
    return Pieces(codes=tuple(codes), diffs=tuple(diffs), loose=tuple(loose), fences=len(fences))


def _in_fence(fence: Fence, parser: Parser, depth: int) -> Pieces:
    code = mended(fence.text, parser)
    if code is not None:
        return Pieces((replace(code, place=fence.place),), (), (), 1)
    if depth < _DEEPEST and any(_FENCE.match(line) for line in fence.text.split("\n")):
        inner = pieces_of(fence.text, parser, depth=depth + 1)
        return replace(inner, codes=tuple(replace(code, place=fence.place) for code in inner.codes))
    unmarked = without_diff_marks(fence.text)
    code = picked(fence.text, parser) or (picked(unmarked, parser) if unmarked else None)
    return Pieces((replace(code, place=fence.place),) if code else (), (), (fence.text,), 1)


def _split(text: str, parser: Parser) -> tuple[list[Fence], str]:
    """The fenced blocks, and what is outside of them. The last one may be open to the end."""
    lines = "\n".join(_opened(line) for line in text.split("\n")).split("\n")
    marks = {number: match for number, line in enumerate(lines) if (match := _FENCE.match(line))}
    fences: list[Fence] = []
    outside: list[str] = []
    number = 0
    while number < len(lines):
        opening = marks.get(number)
        if opening is None or len(fences) >= MAX_BLOCKS:
            outside.append(lines[number])
            number += 1
            continue
        end = _closing(lines, number, marks, parser)
        # What is cut out of the text ends a paragraph there.
        outside.append("")
        content = "\n".join(lines[number + 1 : end])
        fences.append(Fence(place=len(fences) + 1, info=opening["info"].strip(), text=content))
        number = end + 1
    return fences, "\n".join(outside)


def _opened(line: str) -> str:
    """A block that stands within one line, on lines of its own. Long lines are no such thing, and costly to search."""
    if len(line) > _LONGEST_INLINE or "```" not in line:
        return line
    return _INLINE.sub(lambda match: f"\n```\n{match['code']}\n```\n", line)


def _closing(lines: list[str], opening: int, marks: dict[int, re.Match[str]], parser: Parser) -> int:
    """The line that closes the fence. A docstring may hold fences too: then it is the one where the code is whole."""
    mark = marks[opening]["mark"]
    closers: list[int] = []
    for number in range(opening + 1, len(lines)):
        match = marks.get(number)
        if match is None or match["info"].strip() or match["mark"][0] != mark[0] or len(match["mark"]) < len(mark):
            continue
        closers.append(number)
        if len(closers) == _MOST_CLOSERS:
            break
    if len(closers) > 1:
        for closer in closers:
            if parser.code("\n".join(lines[opening + 1 : closer])) is not None:
                return closer
    return closers[0] if closers else len(lines)


def _without_thoughts(text: str) -> str:
    """``text`` without what reasoning models leave of their thoughts, unless it is all there is."""
    kept: list[str] = []
    position = 0
    opened: re.Match[str] | None = None
    for tag in _THOUGHT.finditer(text):
        if opened is None and not tag["end"]:
            opened = tag
        elif opened is not None and tag["end"] and tag["name"].lower() == opened["name"].lower():
            kept.append(text[position : opened.start()])
            position, opened = tag.end(), None
    rest = "\n".join([*kept, text[position:]])
    return rest if rest.strip() else text


def _from_json(text: str) -> str | None:
    """The code in an answer that is a JSON object with one text that defines something."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError, MemoryError):
        return None
    texts = [item for item in value.values() if isinstance(item, str)] if isinstance(value, dict) else []
    defining = [item for item in texts if re.search(r"\b(?:def|class)\b", item)]
    return defining[0].replace("\r\n", "\n") if len(defining) == 1 else None
