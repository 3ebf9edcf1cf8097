"""Addresses of what was decided about disputed answers, and of appeals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path

from leaderboard.views import cases

if TYPE_CHECKING:
    from django.urls import URLPattern

urlpatterns: list[URLPattern] = [
    path("cases/", cases.cases, name="cases"),
    path("cases/<int:pk>/", cases.case, name="case"),
    path("cases/reported/<str:run>/<slug:paper>/<int:index>/", cases.reported_case, name="reported_case"),
    path(
        "submissions/<int:pk>/answers/<slug:paper>/<int:index>/<int:trial>/appeal/",
        cases.appeal,
        name="appeal",
    ),
]
