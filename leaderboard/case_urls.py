"""Addresses of what was decided about disputed answers, and of appeals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
