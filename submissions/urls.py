"""URLs of uploads and API tokens. The leaderboard has the pages of submissions."""

from __future__ import annotations

from django.urls import path

from submissions.views import tokens, uploading

urlpatterns = [
    path("submit/", uploading.upload, name="upload"),
    path("submit/<int:pk>/", uploading.upload_check, name="upload_check"),
    path("submit/<int:pk>/progress/", uploading.upload_progress, name="upload_progress"),
    path("submit/<int:pk>/discard/", uploading.upload_discard, name="upload_discard"),
    path("accounts/tokens/", tokens.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
]
