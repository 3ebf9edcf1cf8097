"""Addresses of uploading. Pages about what became of an upload are the leaderboard's."""

from __future__ import annotations

from django.urls import path

from submissions.views import uploading

urlpatterns = [
    path("submit/", uploading.upload, name="upload"),
    path("submit/<int:pk>/", uploading.upload_check, name="upload_check"),
    path("submit/<int:pk>/progress/", uploading.upload_progress, name="upload_progress"),
    path("submit/<int:pk>/discard/", uploading.upload_discard, name="upload_discard"),
]
