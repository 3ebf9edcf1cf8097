"""Addresses of adjudication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path

from reviews.views import deciding

if TYPE_CHECKING:
    from django.urls import URLPattern

urlpatterns: list[URLPattern] = [
    path("decide/<int:pk>/", deciding.adjudicate, name="adjudicate"),
    path("decide/<int:pk>/decision/", deciding.adjudicate_decide, name="adjudicate_decide"),
    path("decide/<int:pk>/beat/", deciding.adjudicate_beat, name="adjudicate_beat"),
    path("cases/<int:pk>/void/", deciding.case_void, name="case_void"),
    path("flags/<int:pk>/lift/", deciding.flag_lift, name="flag_lift"),
]
