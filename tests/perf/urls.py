"""The site's addresses, and a bare view that returns a file's bytes, for ``boards``."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.urls import path

from leaderboard.urls import handler500, urlpatterns

if TYPE_CHECKING:
    from django.http import HttpRequest

__all__ = ["handler500", "urlpatterns"]


@cache
def _content(name: str) -> bytes:
    return (Path(os.environ["DATA_DIR"]) / name).read_bytes()


def bare(_request: HttpRequest, name: str) -> HttpResponse:
    """The bytes of a file of the data folder, read once in each process."""
    return HttpResponse(_content(name))


urlpatterns = [*urlpatterns, path("bare/<str:name>", bare)]
