"""URLs of reviewing. The leaderboard has the public pages of decided cases.

The numbers in the URLs of labelling and deciding are assignments, which identify no answer or submission.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.urls import include, path

from reviews.views import deciding, guidelines, home, labelling, profile, record, reviewers

if TYPE_CHECKING:
    from django.urls import URLPattern

_PAGES: Final[list[URLPattern]] = [
    path("", home.reviews, name="reviews"),
    path("join/<slug:secret>/", home.join, name="review_join"),
    path("profile/", profile.profile, name="review_profile"),
    path("profile/conflicts/", profile.conflict_add, name="review_conflict_add"),
    path("profile/conflicts/<int:pk>/remove/", profile.conflict_remove, name="review_conflict_remove"),
    path("guidelines/", guidelines.guidelines, name="review_guidelines"),
    path("guidelines/edit/", guidelines.edit, name="review_guidelines_edit"),
    path("guidelines/<int:number>/", guidelines.revision, name="review_guideline"),
    path("guidelines/<int:number>/read/", guidelines.read, name="review_guidelines_read"),
    path("people/", reviewers.listed, name="review_people"),
    path("people/<int:pk>/", reviewers.one, name="review_person"),
    path("people/invite/", reviewers.invite, name="review_invite"),
    path("people/invitations/<int:pk>/revoke/", reviewers.revoke, name="review_invitation_revoke"),
    path("next/", labelling.review_claim, name="review_claim"),
    path("label/<int:pk>/", labelling.label, name="label"),
    path("label/<int:pk>/paper/", labelling.label_paper, name="label_paper"),
    path("practice/<int:pk>/", home.practice_answer, name="practice_answer"),
    path("decide/<int:pk>/", deciding.adjudicate, name="adjudicate"),
    path("cases/<int:pk>/void/", deciding.case_void, name="case_void"),
    path("flags/<int:pk>/lift/", deciding.flag_lift, name="flag_lift"),
    path("dashboard/", record.review_dashboard, name="review_dashboard"),
    path("labels/export/", record.labels_export, name="labels_export"),
]
urlpatterns = [path("reviews/", include(_PAGES))]
