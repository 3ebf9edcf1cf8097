"""Search documentation, systems, tasks and cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from django import forms
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.board.filters import LONGEST_SEARCH
from leaderboard.board.visibility import closed_submissions
from leaderboard.evidence.search import MOST_HITS, word_start
from leaderboard.evidence.search import search as search_rows
from leaderboard.web import documentation
from leaderboard.web.documentation import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest, HttpResponse

_BEFORE, _EXCERPT = 60, 200
"""Characters of an excerpt before its first word, and in all."""


class SearchForm(forms.Form):
    """Search by words: ``?q=``."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=LONGEST_SEARCH,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )


class DocHit(NamedTuple):
    """A section that was found. ``excerpt`` has parts of its text, and whether each is a word of the search."""

    section: Section
    excerpt: list[tuple[str, bool]]


@never_cache
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Show the pages with words that begin like each of ``?q=``. What is hidden from the viewer is not found."""
    form = SearchForm(request.GET)
    words = list(dict.fromkeys(form.cleaned_data["q"].split())) if form.is_valid() else []
    sections = documentation.search(words) if words else []
    rows = search_rows(words, hidden=closed_submissions(request)) if words else {}
    context = {
        "form": form,
        "words": words,
        "kinds": [(kind, hits) for kind, hits in rows.items() if hits.found],
        "sections": [DocHit(each, excerpt(each.text, words)) for each in sections[:MOST_HITS]],
        "more_sections": len(sections) > MOST_HITS,
        "most": MOST_HITS,
    }
    return render(request, "leaderboard/search.html", context)


def excerpt(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Cut ``text`` around the first of ``words``, and split it into parts that are such a word and others."""
    pattern = re.compile("|".join(map(word_start, sorted(words, key=len, reverse=True))), re.IGNORECASE)
    first = pattern.search(text)
    place = first.start() if first else 0
    # Begin with a whole word.
    start = text.find(" ", place - _BEFORE, place) + 1 if place > _BEFORE else 0
    cut = text[start : start + _EXCERPT]
    if start + _EXCERPT < len(text):
        cut = f"{cut.rpartition(' ')[0] or cut} …"
    if start:
        cut = f"… {cut}"
    parts, end = [], 0
    for match in pattern.finditer(cut):
        parts += [(cut[end : match.start()], False), (match[0], True)]
        end = match.end()
    return [(part, is_word) for part, is_word in [*parts, (cut[end:], False)] if part]
