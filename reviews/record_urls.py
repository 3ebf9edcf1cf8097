"""Addresses of the record: dashboards, export, import, practice."""

from __future__ import annotations

from django.urls import path

from reviews.views import practice, record

urlpatterns = [
    path("dashboard/", record.review_dashboard, name="review_dashboard"),
    path("labels/export/", record.labels_export, name="labels_export"),
    path("practice/<int:pk>/", practice.practice_answer, name="practice_answer"),
]
