"""Find a paper's title and sections in its lines: detect headings and join the other lines into text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluator.generation.paper_layout import Line


class SectionKind(StrEnum):
    """Kind of a section; decides what a prompt leaves out first."""

    FRONT = "front"
    ABSTRACT = "abstract"
    BODY = "body"
    REFERENCES = "references"
    APPENDIX = "appendix"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, its depth (from 1), the text up to the next heading, and the page (from 1) where it begins.

    ``number`` is the number before the heading (``3.1``, ``A``). The text before the first heading has none.
    """

    heading: str
    level: int
    text: str
    page: int
    kind: SectionKind = SectionKind.BODY
    number: str = ""

    @property
    def name(self) -> str:
        """Return the name under which it is listed when it is left out."""
        return " ".join(part for part in (self.number, self.heading) if part) or "the text before its first heading"


LATER_PAGES: Final = "later pages of the paper"
"""Names the part that is left out where a paper was not read to its end."""

# Words in the headings of sections that describe the method.
_METHOD: Final = (
    *("method", "approach", "model", "algorithm", "objective", "definition", "formulation", "preliminar", "notation"),
)
_LONGEST_HEADING: Final = 120
_LARGER: Final = 0.4

_NUMBERED = re.compile(
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?:\.\d{1,2}){0,3}|[IVX]{1,4})\.?[ \u2003]+(?P<rest>\S.*)"
)
_NAMED = re.compile(
    r"(?:abstract|introduction|background|related works?|preliminaries|methods?|methodology|approach|experiments?|"
    r"experimental setup|evaluation|results?|analysis|discussion|conclusions?|limitations?|ethics statement|"
    r"ethical considerations|broader impacts?|acknowledge?ments?|references|bibliography|appendix|appendices|"
    r"supplementary materials?)",
    re.IGNORECASE,
)
_REFERENCES = re.compile(r"(?:references|bibliography|literature cited)", re.IGNORECASE)
_APPENDIX = re.compile(r"(?:appendix|appendices|supplementary|supplemental)\b", re.IGNORECASE)
_AFTER_BODY = re.compile(
    r"(?:acknowledge?ments?|limitations?|ethic|broader impact|reproducibility|author contributions)", re.IGNORECASE
)
_RUN_IN_ABSTRACT = re.compile(r"abstract\s*[-\u2013\u2014.:]\s*(?=\S)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")
_CUT_WORD = re.compile(r"([A-Za-z]+)-$")
_SPACE_OR_DOT = re.compile(r"[\s.]+")


@dataclass(slots=True)
class _Open:
    """A section whose lines are being collected."""

    heading: str
    level: int
    page: int
    number: str = ""
    lines: list[Line] = field(default_factory=list)


def title_of(lines: Sequence[Line], named: str) -> tuple[str, list[Line]]:
    """Return the title and its lines: the largest lines on the first page; else ``named`` and no line."""
    first = [line for line in lines if line.page == lines[0].page]
    body = _body_size(lines)
    largest = max((line.size for line in first), default=0.0)
    if largest < body + 1:
        return named.strip(), []
    start = next(index for index, line in enumerate(first) if line.size == largest)
    found = [first[start]]
    for line in first[start + 1 :]:
        if abs(line.size - largest) > 0.3 or line.y0 - found[-1].y1 > 1.5 * largest:
            break
        found.append(line)
    return " ".join(line.text for line in found), found


def cutting_order(sections: Sequence[Section]) -> tuple[list[Section], list[Section]]:
    """Return two lists in the order in which a prompt that is too long leaves sections out.

    The first holds the references, appendices, and other sections from the back; the second, dropped after everything
    else, the method's sections, the first page's head and the abstract.
    """

    def of_kind(kind: SectionKind) -> list[Section]:
        return [section for section in reversed(sections) if section.kind is kind]

    body = of_kind(SectionKind.BODY)
    method = [section for section in body if any(word in section.heading.lower() for word in _METHOD)]
    others = [section for section in body if section not in method]
    first = [*of_kind(SectionKind.REFERENCES), *of_kind(SectionKind.APPENDIX), *others]
    return first, [*method, *of_kind(SectionKind.FRONT), *of_kind(SectionKind.ABSTRACT)]


def sections_of(lines: Sequence[Line], titles: Sequence[tuple[int, str, int]]) -> tuple[Section, ...]:
    """Split ``lines`` (in reading order) into sections. ``titles`` is the PDF's outline: level, title, page."""
    body = _body_size(lines)
    outline = {(_key(title), page): level for level, title, page in titles}
    current = _Open(heading="", level=1, page=lines[0].page if lines else 1)
    found: list[_Open] = []
    for line in lines:
        heading = _heading(line, body, outline)
        if heading is None:
            abstract = _RUN_IN_ABSTRACT.match(line.text) if not current.heading else None
            if abstract:
                found.append(current)
                current = _Open(heading="Abstract", level=1, page=line.page)
            current.lines.append(line)
        elif not current.lines and current.heading and not heading.number and _continues_heading(found, current, line):
            current.heading += f" {heading.heading}"
        else:
            found.append(current)
            current = heading
    found.append(current)
    words = _words(lines)
    kinds = _kinds(found)
    return tuple(
        Section(each.heading, each.level, _text(each.lines, words), each.page, kind, each.number)
        for each, kind in zip(found, kinds, strict=True)
        if each.heading or each.lines
    )


def _heading(line: Line, body: float, outline: dict[tuple[str, int], int]) -> _Open | None:
    """Return the section that ``line`` begins, or None for a line of text."""
    text = line.text.strip()
    if len(text) > _LONGEST_HEADING or not any(character.isalpha() for character in text):
        return None
    match = _NUMBERED.fullmatch(text)
    number, name = (match["number"], match["rest"].strip()) if match else ("", text)
    level = outline.get((_key(text), line.page)) or outline.get((_key(name), line.page))
    if level is not None:
        return _Open(name, max(1, level), line.page, number)
    is_larger, is_name = line.size > body + _LARGER, bool(_NAMED.fullmatch(name.rstrip(".:")))
    stands_out = line.bold or is_larger or (text.isupper() and is_name)
    if not stands_out or name.endswith((",", ";")) or not (name[0].isupper() or name[0].isdigit()):
        return None
    if number and len(name.split()) <= 14:
        return _Open(name, number.count(".") + 1, line.page, number)
    if is_name or (_APPENDIX.match(name) and len(name) < 60):
        return _Open(name.rstrip(".:"), 1, line.page, number)
    if line.bold and is_larger and len(name.split()) <= 12:
        return _Open(name, 2, line.page, number)
    return None


def _continues_heading(found: Sequence[_Open], current: _Open, line: Line) -> bool:
    """Return whether ``line`` is the second line of the heading above it."""
    return bool(current.number) and current.page == line.page and not _NAMED.fullmatch(line.text) and bool(found)


def _kinds(sections: Sequence[_Open]) -> list[SectionKind]:
    kinds: list[SectionKind] = []
    state = SectionKind.BODY
    for place, section in enumerate(sections):
        name = section.heading
        if _REFERENCES.fullmatch(name.rstrip(".:")):
            state = SectionKind.REFERENCES
        elif _APPENDIX.match(name):
            state = SectionKind.APPENDIX
        elif state is SectionKind.REFERENCES and name:
            state = SectionKind.BODY if _AFTER_BODY.match(name) else SectionKind.APPENDIX
        elif state is SectionKind.BODY and _starts_lettered_sections(sections, place):
            state = SectionKind.APPENDIX
        if not name:
            kinds.append(SectionKind.FRONT)
        elif name.lower() == "abstract":
            kinds.append(SectionKind.ABSTRACT)
        else:
            kinds.append(state)
    return kinds


def _starts_lettered_sections(sections: Sequence[_Open], place: int) -> bool:
    """Return whether sections named A, B, … follow numeric ones from here on. A lone ``A`` may be a bold article."""
    if sections[place].number != "A":
        return False
    numbered = any(each.number[:1].isdigit() for each in sections[:place])
    return numbered and any(each.number == "B" or each.number.startswith("A.") for each in sections[place + 1 :])


def _text(lines: Sequence[Line], words: Counter[str]) -> str:
    """Join the lines into paragraphs, and words that were hyphenated at a line's end."""
    text = ""
    last: Line | None = None
    for line in lines:
        if last is None:
            text = line.text
        elif (cut := _CUT_WORD.search(last.text)) and line.text[:1].islower():
            start = _WORD.match(line.text)
            whole = cut[1] + (start[0] if start else "")
            hyphenated = f"{cut[1]}-{start[0] if start else ''}"
            text = (text if _keeps_hyphen(cut[1], whole, hyphenated, words) else text[:-1]) + line.text
        elif line.block == last.block and line.page == last.page:
            text += _between(last, line) + line.text
        else:
            text += "\n" + line.text
        last = line
    return text


def _keeps_hyphen(first: str, whole: str, hyphenated: str, words: Counter[str]) -> bool:
    """Return whether the hyphen at a line's end belongs to the word, judging by the rest of the paper's spelling."""
    with_it, without = words[hyphenated.lower()], words[whole.lower()]
    if with_it or without:
        return with_it > without
    return len(first) > 3 and words[first.lower()] > 0


def _between(last: Line, line: Line) -> str:
    """Return a space, or a line break where a list item begins or the line above ends early."""
    is_item = bool(re.match(r"(?:[•▪◦‣*\u2013-]|\(?\d{1,2}[.)]) ", line.text))
    is_row = "  " in last.text or "  " in line.text
    return "\n" if is_item or is_row or last.x1 < line.x1 - 0.35 * (line.x1 - line.x0) else " "


def _words(lines: Sequence[Line]) -> Counter[str]:
    """Count every word that is not split at a line's end, with hyphens and without."""
    return Counter(word.lower() for line in lines for word in _WORD.findall(_CUT_WORD.sub("", line.text)))


def _body_size(lines: Sequence[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _key(title: str) -> str:
    return _SPACE_OR_DOT.sub(" ", title).strip()
