"""Register the app with Django."""

from __future__ import annotations

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    """The app of reviewing: cases, labels and decisions; see docs/architecture.md."""

    name = "reviews"

    def ready(self) -> None:
        """Connect the receivers of other apps' signals, and define who is an annotator."""
        from reviews import receivers  # noqa: F401 - importing it connects the receivers
        from reviews.annotators.reviewers import reviewer_of
        from submissions.domain import second_factor

        second_factor.define_role(second_factor.ANNOTATORS, lambda user: reviewer_of(user) is not None)
