"""Addresses of reviewing. Public pages about what was decided are the leaderboard's."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("reviews/", include("reviews.people_urls")),
    path("reviews/", include("reviews.labelling_urls")),
    path("reviews/", include("reviews.deciding_urls")),
    path("reviews/", include("reviews.record_urls")),
]
