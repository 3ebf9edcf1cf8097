"""The documentation's pages, and how Markdown becomes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard import documentation

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client


def body(markdown: str) -> str:
    return documentation.render(markdown, slug="page").body


class TestRendering:
    def test_headings_have_anchors_as_on_github(self) -> None:
        page = documentation.render("# The `title`\n\n## One & two\n\n## One & two\n", slug="page")
        assert page.title == "The title"
        assert re.findall(r'id="([^"]+)"', page.body) == ["one--two", "one--two-1"]
        assert 'href="#one--two-1"' in page.body

    @pytest.mark.parametrize(
        ("target", "expected"),
        [
            ("configuration.md", 'href="/docs/configuration/"'),
            ("./configuration.md#table", 'href="/docs/configuration/#table"'),
            ("index.md", 'href="/docs/"'),
            ("about.md", 'href="/about/"'),
            ("#here", 'href="#here"'),
            ("https://example.org/x.md", 'href="https://example.org/x.md"'),
        ],
    )
    def test_links_lead_to_pages(self, target: str, expected: str) -> None:
        assert expected in body(f"[words]({target})")

    @pytest.mark.parametrize("target", ["../README.md", "no-such-page.md", "examples/bundle/", "javascript:alert(1)"])
    def test_what_the_site_does_not_serve_stays_text(self, target: str) -> None:
        rendered = body(f"[words]({target})")
        assert "words" in rendered
        assert "href" not in rendered

    @given(st.text(max_size=300) | st.text(alphabet="<>\"'=[]()!`#|-\\& \nascript:onload", max_size=300))
    def test_nothing_active_survives(self, markdown: str) -> None:
        rendered = body(markdown)
        assert not re.search(
            r"<(?!/?(?:a|b|blockquote|br|code|d|em|h[1-5]|hr|img|li|ol|p|pre|s|t|ul)[\s\w>/])", rendered
        )
        assert not re.search(r"<[^>]*\s(?:on\w+|style)\s*=", rendered)
        assert "<script" not in rendered


@pytest.mark.django_db
class TestPages:
    def test_every_file_is_a_page_with_its_title(self, client: Client) -> None:
        for slug in documentation.page_slugs():
            response = client.get(f"/docs/{slug}/")
            assert response.status_code == 200
            page = documentation.page(slug)
            assert page is not None
            assert f"<title>{page.title} · LMR-Board</title>" in response.content.decode()
            assert f'<a href="/docs/{slug}/" aria-current="page">{page.title}</a>' in response.content.decode()

    def test_images_are_served_from_their_folder_only(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "images").mkdir()
        (tmp_path / "images" / "board.png").write_bytes(b"png")
        (tmp_path / "images" / "notes.txt").write_bytes(b"text")
        (tmp_path / "secret.png").write_bytes(b"secret")
        monkeypatch.setattr(documentation, "FOLDER", tmp_path)
        response = client.get("/docs/images/board.png")
        assert (response.getvalue(), response["Content-Type"]) == (b"png", "image/png")
        for name in ("notes.txt", "..%2Fsecret.png", "../secret.png"):
            assert client.get(f"/docs/images/{name}").status_code == 404
