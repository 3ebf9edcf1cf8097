"""Models of accounts, organisations, uploads, submissions, endpoints and API tokens."""

from submissions.models.endpoints import Endpoint
from submissions.models.organisations import Organisation, OrganisationGrant
from submissions.models.people import AuditEvent, User
from submissions.models.submission import Implementation, Submission, System, Upload
from submissions.models.tokens import ApiToken

__all__ = [
    "ApiToken",
    "AuditEvent",
    "Endpoint",
    "Implementation",
    "Organisation",
    "OrganisationGrant",
    "Submission",
    "System",
    "Upload",
    "User",
]
