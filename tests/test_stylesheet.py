"""The stylesheet defines each colour, text size and width once, and its texts have enough contrast."""

from __future__ import annotations

import re

import pytest

from tests.conftest import PROJECT_ROOT

CSS = (PROJECT_ROOT / "static" / "css" / "site.css").read_text(encoding="utf-8")
WIDTHS = {
    "screen and (max-width: 40rem)",
    "screen and (max-width: 50rem)",
    "screen and (max-width: 72rem)",
    "screen and (min-width: 72.01rem)",
    "print",
}
"""Paper is narrow, but a table on it stays a table."""
SIZES = [f"--size-{number}" for number in range(1, 7)]
PDF_JS = "calc(var(--text-scale-factor) * var(--font-height))"
"""pdf.js scales its invisible text with the page below it."""
GROUNDS = ("paper", "surface")
PAIRS = [
    *((text, ground) for text in ("ink", "muted", "accent", "good-text", "bad-text") for ground in GROUNDS),
    *(("ink", ground) for ground in ("note", "chosen", "removed", "removed-word", "added", "added-word")),
    ("accent-ink", "accent"),
]
ENOUGH = 4.5
"""WCAG's minimum contrast of text, level AA."""


def colours(value: str) -> tuple[str, str]:
    """The light and the dark colour of a declaration."""
    match = re.fullmatch(r"light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\)", value)
    assert match, value
    return match[1], match[2]


TOKENS = {
    name: colours(value) for name, value in re.findall(r"^  --([\w-]+): (light-dark\([^;]*\));", CSS, re.MULTILINE)
}
CODE = dict(re.findall(r"^\.code( \.\w+)? \{[^}]*?(?<!-)\bcolor: (light-dark\([^;]*\));", CSS, re.MULTILINE))


def luminance(colour: str) -> float:
    """WCAG's relative luminance of #rgb or #rrggbb, from 0 to 1."""
    digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG's contrast of two colours, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_there_is_one_stylesheet() -> None:
    assert [path.name for path in (PROJECT_ROOT / "static" / "css").iterdir()] == ["site.css"]
    linked = {
        name
        for template in (PROJECT_ROOT / "templates").rglob("*.html")
        for name in re.findall(r"static 'css/([^']+)'", template.read_text(encoding="utf-8"))
    }
    assert linked == {"site.css"}


def test_text_has_six_sizes() -> None:
    assert re.findall(r"^  (--size-\d+):", CSS, re.MULTILINE)[: len(SIZES)] == SIZES
    used = set(re.findall(r"(?:--pico-|[\s;{])font-size: ([^;}]+)", CSS))
    # Code and keys are relative to the text around them; the root has the browser's own size, 100 %.
    assert used - {f"var({size})" for size in SIZES} == {"0.85em", "100%", "inherit", PDF_JS}


def test_media_queries_use_the_known_widths() -> None:
    assert set(re.findall(r"@media ([^{]*?) \{", CSS)) == WIDTHS


def test_each_colour_is_defined_once() -> None:
    assert "prefers-color-scheme" not in CSS
    names = re.findall(r"^  --([\w-]+): light-dark", CSS, re.MULTILINE)
    assert len(names) == len(TOKENS)
    # A theme only chooses which of the two colours is used.
    for theme in ("light", "dark"):
        (rule,) = re.findall(rf'^\[data-theme="{theme}"\] \{{ ([^}}]*) \}}$', CSS, re.MULTILINE)
        assert rule == f"color-scheme: {theme};"


def test_three_rules_hide_text_for_screen_readers() -> None:
    assert CSS.count("clip-path: inset(50%)") == 3


@pytest.mark.parametrize(("text", "ground"), PAIRS)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast_of_text(text: str, ground: str, theme: int) -> None:
    assert contrast(TOKENS[text][theme], TOKENS[ground][theme]) >= ENOUGH


@pytest.mark.parametrize("ground", ["surface", "removed", "added", "chosen"])
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast_of_code(ground: str, theme: int) -> None:
    assert len(CODE) == 13
    low = {name: contrast(colours(value)[theme], TOKENS[ground][theme]) for name, value in CODE.items()}
    assert {name: found for name, found in low.items() if found < ENOUGH} == {}
