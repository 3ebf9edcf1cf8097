"""Serve the one-file command line client with this site's address filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.http import HttpResponse
from django.views.decorators.http import conditional_page, require_safe

from leaderboard.settings.environment import PROJECT_ROOT

if TYPE_CHECKING:
    from django.http import HttpRequest

FILE: Final = PROJECT_ROOT / "leaderboard" / "sharing" / "client" / "lmr_board.py"
EMPTY_SITE: Final = 'SITE = ""\n'


@require_safe
@conditional_page
def client(request: HttpRequest) -> HttpResponse:
    """Return the client as text."""
    source = FILE.read_text(encoding="utf-8")
    filled = source.replace(EMPTY_SITE, f'SITE = "{request.scheme}://{request.get_host()}"\n', 1)
    response = HttpResponse(filled, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response
