"""Models of accounts, uploads, submissions, endpoints and API tokens."""

from submissions.models.endpoints import Endpoint
from submissions.models.people import AuditEvent, User
from submissions.models.submission import Implementation, Submission, System, Upload
from submissions.models.tokens import ApiToken

__all__ = ["ApiToken", "AuditEvent", "Endpoint", "Implementation", "Submission", "System", "Upload", "User"]
