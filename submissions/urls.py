"""URLs of uploads, teams and API tokens. The leaderboard has the pages of submissions."""

from __future__ import annotations

from django.urls import path

from submissions.views import teams, tokens, uploading

urlpatterns = [
    path("submit/", uploading.upload, name="upload"),
    path("submit/<int:pk>/", uploading.upload_check, name="upload_check"),
    path("submit/<int:pk>/progress/", uploading.upload_progress, name="upload_progress"),
    path("submit/<int:pk>/discard/", uploading.upload_discard, name="upload_discard"),
    path("accounts/tokens/", tokens.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
    path("teams/", teams.teams, name="teams"),
    path("teams/<slug:slug>/", teams.team, name="team"),
    path("teams/<slug:slug>/rename/", teams.team_rename, name="team_rename"),
    path("teams/<slug:slug>/invite/", teams.team_invite, name="team_invite"),
    path("teams/<slug:slug>/invitations/<int:pk>/revoke/", teams.team_revoke, name="team_revoke"),
    path("teams/<slug:slug>/members/<int:pk>/role/", teams.team_role, name="team_role"),
    path("teams/<slug:slug>/members/<int:pk>/remove/", teams.team_remove, name="team_remove"),
    path("team-invitations/<str:secret>/", teams.team_join, name="team_join"),
    path("systems/<slug:slug>/hand-over/", teams.system_hand_over, name="system_hand_over"),
    path("endpoints/<int:pk>/hand-over/", teams.endpoint_hand_over, name="endpoint_hand_over"),
]
