"""Addresses of model endpoints, and of what belongs to a run on one."""

from __future__ import annotations

from django.urls import path

from leaderboard.views import endpoints, generations

urlpatterns = [
    path("endpoints/", endpoints.endpoints, name="endpoints"),
    path("endpoints/new/", endpoints.endpoint_new, name="endpoint_new"),
    path("endpoints/<int:pk>/", endpoints.endpoint, name="endpoint"),
    path("endpoints/<int:pk>/progress/", endpoints.endpoint_progress, name="endpoint_progress"),
    path("endpoints/<int:pk>/change/", endpoints.endpoint_change, name="endpoint_change"),
    path("endpoints/<int:pk>/check/", endpoints.endpoint_check, name="endpoint_check"),
    path("endpoints/<int:pk>/forget-key/", endpoints.endpoint_forget, name="endpoint_forget"),
    path("endpoints/<int:pk>/delete/", endpoints.endpoint_delete, name="endpoint_delete"),
    path("endpoints/<int:pk>/run/", generations.run_new, name="run_new"),
    path("submissions/<int:pk>/asking/", generations.generation_progress, name="generation_progress"),
    path("submissions/<int:pk>/asking/pause/", generations.generation_pause, name="generation_pause"),
    path("submissions/<int:pk>/asking/resume/", generations.generation_resume, name="generation_resume"),
    path("submissions/<int:pk>/calls/<int:number>/", generations.model_call, name="model_call"),
    path(
        "submissions/<int:pk>/answers/<slug:paper>/<int:index>/<int:trial>/calls/",
        generations.answer_calls,
        name="answer_calls",
    ),
]
