"""Addresses of labelling. Their numbers are assignments, which name no answer and no submission."""

from __future__ import annotations

from django.urls import path

from reviews.views import labelling, labelling_actions

urlpatterns = [
    path("next/", labelling_actions.review_claim, name="review_claim"),
    path("label/<int:pk>/", labelling.label, name="label"),
    path("label/<int:pk>/draft/", labelling_actions.label_draft, name="label_draft"),
    path("label/<int:pk>/lock/", labelling_actions.label_lock, name="label_lock"),
    path("label/<int:pk>/resume/", labelling_actions.label_resume, name="label_resume"),
    path("label/<int:pk>/return/", labelling_actions.label_return, name="label_return"),
    path("label/<int:pk>/skip/", labelling_actions.label_skip, name="label_skip"),
    path("label/<int:pk>/paper/", labelling.label_paper, name="label_paper"),
]
