"""Template tags for times, bars and code."""

from __future__ import annotations

import sys
import unicodedata
from datetime import UTC, datetime

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from submissions.highlighting import highlighted, tokens_by_line, with_visible_marks
from submissions.templatetags import page_tags


def test_ago_is_relative_with_the_exact_time_in_its_title() -> None:
    with time_machine.travel(datetime(2026, 3, 2, 15, 0, tzinfo=UTC), tick=False):
        assert page_tags.ago(datetime(2026, 3, 2, 12, 0, 5, tzinfo=UTC)) == (
            '<time datetime="2026-03-02T12:00:05+00:00" title="2026-03-02 12:00:05 UTC">2\xa0hours ago</time>'
        )
        assert page_tags.ago(datetime(2026, 3, 2, 15, 0, tzinfo=UTC)) == (
            '<time datetime="2026-03-02T15:00:00+00:00" title="2026-03-02 15:00:00 UTC">just now</time>'
        )
    assert page_tags.ago(None) == "–"


def test_changes_are_shown_without_a_number_of_their_own() -> None:
    assert (
        page_tags.without_version("Version 2: mutants that change\nVersion 3: x.")
        == "Mutants that change\nVersion 3: x."
    )
    assert page_tags.without_version("Added dpo/1.") == "Added dpo/1."


def test_backticks_become_code_and_nothing_else_is_markup() -> None:
    assert page_tags.backticks("use `a < b` & *not* <b>") == ("use <code>a &lt; b</code> &amp; *not* &lt;b&gt;")


class TestCode:
    def test_escapes_and_colours(self) -> None:
        html = page_tags.code("x = '<script>'", "python")
        assert "<script>" not in html
        assert "&lt;script&gt;" in html

    def test_a_text_of_very_many_lines_is_complete_without_numbers(self) -> None:
        html = highlighted("x\n" * 20_000, "text", first_line=1)
        assert ("linenos" in html, html.count("x\n")) == (False, 20_000)

    @pytest.mark.parametrize(
        ("source", "pieces"),
        [
            (
                "@cached\ndef f(self, n=1e-3):  # why",
                "nd:@cached k:def nf:f nb:self m:1e-3 c:#_why",
            ),
            ("class A(B):\n    '''Doc\n    more'''", "k:class nf:A sd:'''Doc sd:____more'''"),
            ('x = rb\'a\\\'b\' + f"{y}" + """z"""', 's:rb\'a\\\'b\' s:f"{y}" s:"""z"""'),
            ("''''never closed\nx = 1", "sd:''''never_closed sd:x_=_1"),
        ],
    )
    def test_python(self, source: str, pieces: str) -> None:
        found = [(kind, text) for line in tokens_by_line(source, "python") for kind, text in line if kind]
        assert " ".join(f"{kind}:{text}".replace(" ", "_") for kind, text in found) == pieces

    @given(
        st.text(st.sampled_from("ab1 \t\n\\\"'#@._efr{}=\u00e9\u00b2"), max_size=60),
        st.sampled_from(["python", "diff", "text"]),
    )
    def test_the_pieces_of_any_text_are_the_text(self, source: str, language: str) -> None:
        lines = tokens_by_line(source, language)
        assert "\n".join("".join(text for _, text in line) for line in lines) == source
        assert all(text for line in lines for _, text in line)

    def test_exactly_the_format_characters_are_made_visible(self) -> None:
        for character in map(chr, range(sys.maxunicode + 1)):
            kind = unicodedata.category(character)
            if kind in {"Cf", "Zl", "Zp", "Cs"} or (kind == "Cc" and character not in "\t\r\n"):
                assert with_visible_marks(character) != character, hex(ord(character))
            elif kind in {"Lu", "Ll", "Nd", "Zs", "Sm", "Po", "Ps", "Pe"}:
                assert with_visible_marks(character) == character, hex(ord(character))

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("losses\ufe0f = 0", "losses\u2039U+FE0F\u203a = 0"),
            ("e\u0301\ufe0e", "e\u0301\u2039U+FE0E\u203a"),
            ("\u2714\ufe0f done", "\u2714\ufe0f done"),
        ],
    )
    def test_similar_names_are_distinguished_and_emoji_are_kept(self, text: str, shown: str) -> None:
        assert with_visible_marks(text) == shown
