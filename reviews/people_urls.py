"""Addresses of reviewers themselves: roles, profiles, guidelines."""

from __future__ import annotations

from django.urls import path

from reviews.views import guidelines, home, people, profile

urlpatterns = [
    path("", home.reviews, name="reviews"),
    path("join/<slug:secret>/", home.join, name="review_join"),
    path("profile/", profile.profile, name="review_profile"),
    path("profile/conflicts/", profile.conflict_add, name="review_conflict_add"),
    path("profile/conflicts/<int:pk>/remove/", profile.conflict_remove, name="review_conflict_remove"),
    path("profile/keys/", profile.keys, name="review_keys"),
    path("guidelines/", guidelines.guidelines, name="review_guidelines"),
    path("guidelines/edit/", guidelines.edit, name="review_guidelines_edit"),
    path("guidelines/<int:number>/", guidelines.revision, name="review_guideline"),
    path("guidelines/<int:number>/read/", guidelines.read, name="review_guidelines_read"),
    path("people/", people.people, name="review_people"),
    path("people/<int:pk>/", people.person, name="review_person"),
    path("people/invite/", people.invite, name="review_invite"),
    path("people/invitations/<int:pk>/revoke/", people.revoke, name="review_invitation_revoke"),
]
