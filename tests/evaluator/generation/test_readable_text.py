"""Papers whose text is not readable are recognised, and those that are unusual but good are read."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.known_answers import SHIPPED_SUITES_FOLDER
from evaluator.generation.papers import UNREADABLE, PaperError, read_paper
from evaluator.generation.readable_text import is_readable
from tests.conftest import examples
from tests.evaluator.generation.pdfs import PROSE, pdf_of, pdf_without_readable_text, scan, shifted

PAPERS = sorted((SHIPPED_SUITES_FOLDER / "lmr-mini").glob("*/paper.pdf"))
FORMULAS = "L(x_i, y_j) = -sum_{i=1}^{N} log p_theta(y_i | x_i) + 0.5 * ||w||^2  (3)\n"
TABLE = "Model-A 12.3 45.6 78.9 10.1 | Model-B 11.0 44.1 79.2 10.0 | avg 11.6 44.8 79.0 10.0\n"
LANGUAGES = {
    "German": "Wir zeigen, dass der Verlust des Modells für lange Folgen kleiner ist und nicht von der Zahl abhängt. ",
    "French": "Nous montrons que la perte du modèle est plus petite pour les longues suites et ne dépend pas du pas. ",
    "Spanish": "Mostramos que la pérdida del modelo es menor para las secuencias largas y no depende de los pasos. ",
    "Polish": "Pokazujemy, że strata modelu jest mniejsza dla długich ciągów i nie zależy od liczby kroków. ",
    "Turkish": "Modelin kaybının uzun diziler için daha az olduğu ve bu adım sayısı ile ilgili olmadığı görülür. ",
    "Indonesian": "Makalah ini menunjukkan bahwa model yang besar dan data untuk pelatihan adalah penting. ",
    "Chinese": "我们证明该模型的损失对于较长的序列更低，并且不取决于步数。",
    "Russian": "Мы показываем, что потери модели меньше для длинных последовательностей. ",
}
GOOD = {
    "formulas": (PROSE + FORMULAS * 4) * 4,
    "tables in the appendix": PROSE * 60 + TABLE * 120,
    "code": PROSE * 4 + "for i in range(n):\n    x[i] = f(x[i - 1]) + b[i]\n" * 12,
    **{name: text * 10 for name, text in LANGUAGES.items()},
}
BAD = {
    "a shifted font": shifted(PROSE * 20),
    "a shifted font that keeps spaces": " ".join(map(shifted, (PROSE * 20).split())),
    "private characters": "".join(chr(0xE000 + ord(each)) for each in PROSE * 20),
    "replacement characters": "\ufffd" * 500,
    "control characters": "\x01\x02\x03 " * 300,
    "numbers": "12.5 34 (7) " * 100,
    "two pages of five": PROSE * 60 + shifted(PROSE * 240),
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_good_text_is_readable(text: str) -> None:
    assert is_readable(text)


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_text_of_no_language_is_not_readable(text: str) -> None:
    assert not is_readable(text)


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.parent.name)
def test_the_shipped_papers_are_read(file: Path) -> None:
    assert read_paper(file.read_bytes()).sections


def test_a_pdf_is_refused_with_the_reason() -> None:
    with pytest.raises(PaperError) as unreadable:
        read_paper(pdf_without_readable_text())
    assert str(unreadable.value) == UNREADABLE.format("PDF")
    with pytest.raises(PaperError) as unreadable:
        read_paper(json.dumps({"1": shifted(PROSE * 20)}).encode())
    assert str(unreadable.value) == UNREADABLE.format("JSON")
    with pytest.raises(PaperError, match="holds no text; it may be a scan"):
        read_paper(scan())
    assert read_paper(pdf_of(PROSE * 12)).pages == 1


@cache
def undamaged_pdf() -> bytes:
    return pdf_of(*[PROSE * 6] * 6)


@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (rb"/Kids", b"/Kxds"),
        (rb"/Kids\s*\[[^\]]*\]", b"/Kids[1 0 R 1 0 R]"),
        (rb"/Kids\s*\[[^\]]*\]", b"/Kids[9999 0 R]"),
    ],
)
def test_a_damaged_page_tree_is_an_error_of_the_file(pattern: bytes, by: bytes) -> None:
    damaged = re.sub(pattern, by, undamaged_pdf())
    assert damaged != undamaged_pdf()
    with pytest.raises(PaperError, match=r"The PDF is damaged and cannot be read \(FzErrorFormat\)\."):
        read_paper(damaged)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(st.integers(min_value=0), st.integers(0, 255)), min_size=1, max_size=60))
def test_a_pdf_with_any_damage_is_read_or_refused(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(undamaged_pdf())
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    with suppress(PaperError):
        assert read_paper(bytes(damaged)).pages


@settings(deadline=None)
@given(st.text(max_size=4000))
def test_any_text_can_be_checked(text: str) -> None:
    assert is_readable(text) in {True, False}
