"""Models of accounts, organisations, teams, uploads, submissions, endpoints and API tokens."""

from submissions.models.endpoints import Endpoint
from submissions.models.links import InvitationLink
from submissions.models.organisations import Organisation, OrganisationGrant
from submissions.models.people import AuditEvent, User
from submissions.models.submission import Implementation, Submission, System, Upload
from submissions.models.teams import Membership, Team, TeamInvitation
from submissions.models.tokens import ApiToken

__all__ = [
    "ApiToken",
    "AuditEvent",
    "Endpoint",
    "Implementation",
    "InvitationLink",
    "Membership",
    "Organisation",
    "OrganisationGrant",
    "Submission",
    "System",
    "Team",
    "TeamInvitation",
    "Upload",
    "User",
]
