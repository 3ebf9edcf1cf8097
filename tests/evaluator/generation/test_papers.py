"""Reading the sections of papers from PDF and JSON files, valid and invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pymupdf as untyped
import pytest

from evaluator.generation.paper_sections import SectionKind
from evaluator.generation.papers import PaperError, read_paper, read_paper_limited
from submissions.limited_child import ChildLimits
from tests.provider_server.knowledge import LMR_MINI

pymupdf: Any = untyped
DPO = LMR_MINI / "01-DPO" / "paper.pdf"
PROSE = "Words of the paper that fill one line or so"


def two_columns(pages: int = 4) -> bytes:
    """A paper of two columns with running heads, page numbers, a cut word, references and an appendix."""
    document = pymupdf.open()
    headings = {
        1: ("Abstract", "1 Introduction"),
        2: ("2 Method", "2.1 The Loss"),
        3: ("References", ""),
        4: ("A Proofs", "B Data"),
    }
    for number in range(1, pages + 1):
        page = document.new_page(width=600, height=800)
        page.insert_text((60, 40), f"A running head, {number}", fontsize=8)
        page.insert_text((300, 780), str(number), fontsize=8)
        if number == 1:
            page.insert_text((120, 90), "A Paper About Losses", fontsize=18)
        for x, heading in zip((50, 320), headings[number], strict=True):
            if heading:
                page.insert_text((x, 140), heading, fontsize=12, fontname="hebo")
            for line in range(12):
                text = f"{PROSE} {number}.{line}"
                if line == 4:
                    text = f"Left of {number} has an opti-" if x == 50 else f"Right of {number} has an opti-"
                elif line == 5:
                    text = "mal end."
                page.insert_text((x, 160 + 14 * line), text, fontsize=10)
    return bytes(document.tobytes())


def test_a_paper_in_two_columns_is_read_column_by_column() -> None:
    paper = read_paper(two_columns())
    assert (paper.title, paper.pages, paper.cut) == ("A Paper About Losses", 4, "")
    assert [(each.number, each.heading, each.level, each.page, each.kind.value) for each in paper.sections] == [
        ("", "Abstract", 1, 1, "abstract"),
        ("1", "Introduction", 1, 1, "body"),
        ("2", "Method", 1, 2, "body"),
        ("2.1", "The Loss", 2, 2, "body"),
        ("", "References", 1, 3, "references"),
        ("A", "Proofs", 1, 4, "appendix"),
        ("B", "Data", 1, 4, "appendix"),
    ]
    text = paper.sections[0].text
    assert "Left of 1 has an optimal end." in text
    assert "Right of 1" not in text
    everything = " ".join(each.text for each in paper.sections)
    assert "running head" not in everything


def test_a_shipped_paper_has_its_sections_and_formulas() -> None:
    paper = read_paper_limited(DPO)
    assert paper.title == "Direct Preference Optimisation"
    named = [each.heading for each in paper.sections]
    assert named[:4] == ["", "Problem", "Notation", "Method"]
    assert "(y_{w}| x)" in paper.sections[3].text
    assert "reference-free" in paper.sections[-1].text
    assert paper.sections[0].kind is SectionKind.FRONT


def test_a_paper_in_upstream_s_json_has_a_section_for_each_page(tmp_path: Path) -> None:
    """The file has a byte order mark, a lone surrogate, a byte that is not UTF-8, and pages in alphabetical order."""
    pages = {"1": f"A Paper\nof \ud83d{PROSE}", "10": "The last page.", "2": f"{PROSE} " * 5}
    file = tmp_path / "paper.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(pages).encode().replace(b"last", b"l\xe4st"))
    paper = read_paper_limited(file)
    assert (paper.title, paper.pages, paper.cut) == ("", 3, "")
    assert [(each.name, each.page, each.kind.value) for each in paper.sections] == [
        ("Page 1", 1, "front"),
        ("Page 2", 2, "body"),
        ("Page 10", 10, "body"),
    ]
    assert paper.sections[0].text == f"A Paper\nof {PROSE}"
    assert paper.sections[2].text == "The l\ufffdst page."


def encrypted() -> bytes:
    document = pymupdf.open()
    document.new_page().insert_text((50, 50), PROSE * 20)
    return bytes(document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="owner"))


def empty_pages() -> bytes:
    document = pymupdf.open()
    document.new_page()
    return bytes(document.tobytes())


@pytest.mark.parametrize(
    ("pdf", "message"),
    [
        (b"", "The file is not a PDF."),
        (b"PK\x03\x04", "The file is not a PDF."),
        (b"%PDF-1.7\n" + b"\0" * 5000, "The PDF"),
        (encrypted(), "The PDF is encrypted; remove its password."),
        (empty_pages(), "The PDF holds no text; it may be a scan."),
        (two_columns()[:600], "The PDF"),
        (b'{"1": "half a', "The JSON is not a paper"),
        (b'{"title": "A paper"}', "The JSON is not a paper"),
        (b'{"1": ["A page"]}', "The JSON is not a paper"),
        (b'{"1": ' * 100_000, "The JSON is not a paper"),
        (b'{"1": "A few words."}', "The JSON holds no text of a paper."),
    ],
)
def test_bad_files_are_refused_with_the_reason(pdf: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "paper.pdf"
    file.write_bytes(pdf)
    with pytest.raises(PaperError) as here:
        read_paper(pdf)
    with pytest.raises(PaperError) as in_a_child:
        read_paper_limited(file)
    assert str(here.value).startswith(message)
    assert str(in_a_child.value) == str(here.value)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (ChildLimits(wall_seconds=0.05), "Reading the paper took too long."),
        (ChildLimits(answer_bytes=10), "Reading the paper took too much memory or time, or failed."),
    ],
)
def test_reading_is_limited(limits: ChildLimits, message: str) -> None:
    with pytest.raises(PaperError, match=message) as caught:
        read_paper_limited(DPO, limits)
    assert caught.value.late is (limits.wall_seconds < 1)


def test_a_paper_that_is_too_long_is_cut_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.generation.papers.MAX_PAGES", 2)
    paper = read_paper(two_columns())
    assert (paper.pages, paper.cut) == (4, "Pages from 3 on were not read.")
    assert {each.page for each in paper.sections} == {1, 2}
    pages = read_paper(json.dumps({str(number): PROSE * 5 for number in (1, 2, 4, 8)}).encode())
    assert (pages.pages, len(pages.sections), pages.cut) == (4, 2, "Pages from 4 on were not read.")
    monkeypatch.setattr("evaluator.generation.papers.MAX_CHARACTERS", 300)
    pages = read_paper(json.dumps({str(number): PROSE * 5 for number in (1, 2, 4, 8)}).encode())
    assert (len(pages.sections), pages.cut) == (1, "Pages from 2 on were not read: the text is too long.")
