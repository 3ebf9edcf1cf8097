"""Models of registered organisations, and of the accounts that may use their names."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from submissions.enums import Confirmed


class Organisation(models.Model):
    """A registered name, which only accounts with a right to it may declare.

    ``folded`` is the name as it is compared (``submissions/domain/organisation_names.py``). ``domains`` are e-mail
    domains in ASCII; ``*.example.org`` includes every subdomain of example.org.
    """

    name = models.CharField(max_length=100)
    folded = models.CharField(max_length=200, unique=True)
    homepage = models.URLField(max_length=300, blank=True)
    domains = models.JSONField(default=list, blank=True)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="organisations_added")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class OrganisationGrant(models.Model):
    """An account's right to an organisation's name, by an e-mail ``domain`` or granted by hand.

    ``granted_by`` is null for a grant that the site made because of a verified address. A grant is never changed,
    only ended.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="grants")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="organisation_grants")
    how = models.CharField(max_length=6, choices=Confirmed)
    domain = models.CharField(max_length=255, blank=True)
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="names_granted"
    )
    reason = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="names_ended"
    )
    end_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "account", "how", "domain"],
                condition=models.Q(ended__isnull=True),
                name="one_live_grant_of_a_kind",
            ),
            models.CheckConstraint(
                condition=models.Q(how=Confirmed.HAND, domain="", granted_by__isnull=False)
                | models.Q(~models.Q(domain=""), how=Confirmed.DOMAIN, granted_by__isnull=True),
                name="granted_by_domain_or_by_hand",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.organisation} for account {self.account_id}"
