"""Forms of the labelling page that arrive when the label is locked already: nothing is stored, nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reviews.models import Assignment, Review
from tests.reviews.labelling import held_by, sign_in, stored_task

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

FORM = {
    "label": "CC",
    "confidence": "3",
    "note": "A note.",
    "paper_page": "2",
    "version": "0",
    **{f"finding-0-{part}": "" for part in ("start", "end", "text", "error_class")},
    "finding-0-side": "candidate",
}


@pytest.fixture
def held(settings: Settings, tmp_path: Path, annotator: Reviewer, client: Client) -> Assignment:
    sign_in(client, annotator)
    return held_by(annotator, stored_task(settings, tmp_path))


@pytest.mark.parametrize(("action", "confidence"), [("lock", ""), ("lock", "1"), ("draft", "x"), ("draft", "1")])
def test_a_form_after_another_tab_has_locked_loses_nothing(
    client: Client, held: Assignment, action: str, confidence: str
) -> None:
    client.post(f"/reviews/label/{held.pk}/lock/", FORM)
    later = {**FORM, "confidence": confidence, "note": "typed <later>"}
    response = client.post(f"/reviews/label/{held.pk}/{action}/", later)
    page = response.content.decode()
    assert (response.status_code, "<textarea" in page, "typed &lt;later&gt;" in page) == (410, False, True)
    assert Review.objects.get().note == "A note."


@pytest.mark.parametrize("reason", ["", "I wrote this paper myself."])
def test_what_is_locked_is_not_skipped(client: Client, held: Assignment, reason: str) -> None:
    client.post(f"/reviews/label/{held.pk}/lock/", FORM)
    page = client.post(f"/reviews/label/{held.pk}/skip/", {"reason": reason}, follow=True).content.decode()
    assert "Your label of this item is locked" in page
