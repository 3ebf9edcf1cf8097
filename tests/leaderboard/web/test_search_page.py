"""The search page: words in documentation, systems, tasks and cases, and what it hides from annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leaderboard.web import documentation
from leaderboard.web.views.search import excerpt
from reviews.enums import CaseState
from tests.leaderboard.factories import measured
from tests.leaderboard.showing import words_of
from tests.reviews.factories import answers, assigned, case_of, ready
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client

pytestmark = pytest.mark.django_db

GUIDE = """# The guide

Zebras first.

## Stripes of `zebras`

None <here>.

## Lions

Stripes are rare. A [zebra](other.md) has them.

### Manes

| who | has |
|---|---|
| male | one |
"""
OTHER = "# Zebras and stripes\n\nNothing.\n\n## Food\n\nGrass.\n"


@pytest.fixture
def two_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A documentation of two pages."""
    (tmp_path / "guide.md").write_text(GUIDE, encoding="utf-8")
    (tmp_path / "other.md").write_text(OTHER, encoding="utf-8")
    (tmp_path / "design").mkdir()
    (tmp_path / "design" / "rules.md").write_text("# Zebra stripes\n", encoding="utf-8")
    monkeypatch.setattr(documentation, "FOLDER", tmp_path)


@pytest.mark.usefixtures("two_pages")
def test_sections_are_found_by_heading_first_then_by_title_then_by_text() -> None:
    found = [(each.heading, each.address) for each in documentation.search(["ZEBRA", "stripes"])]
    assert found == [
        ("Stripes of zebras", "/docs/guide/#stripes-of-zebras"),
        ("Zebras and stripes", "/docs/other/"),
        ("Food", "/docs/other/#food"),
        ("Lions", "/docs/guide/#lions"),
    ]
    assert documentation.search(["zebra", "elephant"]) == []
    assert documentation.search(["ripes"]) == []
    texts = {each.heading: each.text for each in documentation.search(["guide"])}
    assert texts == {
        "The guide": "Zebras first.",
        "Stripes of zebras": "None <here>.",
        "Lions": "Stripes are rare. A zebra has them.",
        "Manes": "who · has male · one",
    }


@pytest.mark.usefixtures("two_pages")
def test_the_page_marks_words_and_escapes_text(client: Client) -> None:
    page = client.get("/search/", {"q": "<here> none"}).content.decode()
    assert '<a href="/docs/guide/#stripes-of-zebras">Stripes of zebras</a>' in page
    assert "<mark>None</mark> <mark>&lt;here&gt;</mark>." in page
    assert 'value="&lt;here&gt; none"' in page


def test_an_excerpt_begins_and_ends_with_whole_words() -> None:
    text = f"{'before ' * 20}zebra{' after' * 60}"
    shown = "".join(part for part, _ in excerpt(text, ["zebra"]))
    assert shown == f"… {'before ' * 8}zebra{' after' * 23} …"
    assert excerpt("No such word.", ["zebra"]) == [("No such word.", False)]
    assert excerpt("a zebra", ["ZEBRA"]) == [("a ", False), ("zebra", True)]
    assert excerpt("", ["zebra"]) == []
    assert excerpt("no_dpo endpoint", ["dpo"]) == [("no_", False), ("dpo", True), (" endpoint", False)]


def test_systems_link_to_their_pages(client: Client) -> None:
    measured(system=SystemFactory(slug="striped", name="Striped Solver"))
    page = client.get("/search/", {"q": "striped solver"}).content.decode()
    assert '<a href="/systems/striped/">Striped Solver</a>' in page


def test_a_case_is_not_found_by_the_annotator_who_labels_an_answer_of_its_submission(client: Client) -> None:
    first, second = answers(2, system=SystemFactory(name="Quagga"))
    case = case_of(first, state=CaseState.AGREED, label="CC", source="agreed")
    annotator = ready(user=UserFactory())
    assert f"Case {case.pk}:" in words_of(client.get("/search/", {"q": "quagga"}))
    assigned(case_of(second), annotator)
    assert annotator.user is not None
    client.force_login(annotator.user)
    shown = client.get("/search/", {"q": "quagga"})
    assert f"Case {case.pk}:" not in words_of(shown)
    assert "no-store" in shown["Cache-Control"]


def test_nothing_searched_and_nothing_found_say_what_to_do(client: Client) -> None:
    assert "A page is found if it has every word" in words_of(client.get("/search/"))
    page = words_of(client.get("/search/", {"q": "xyzzy plugh"}))
    assert "Nothing has all these words. Try fewer or shorter words" in page


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x" * 101, "Ensure this value has at most 100 characters (it has 101)."),
        ("zebra\0", "Null characters are not allowed."),
    ],
)
def test_an_invalid_search_is_kept_with_its_error(client: Client, text: str, error: str) -> None:
    response = client.get("/search/", {"q": text})
    assert response.status_code == 200
    assert error in words_of(response)
    assert text[:5] in response.content.decode()
