"""What was sent, and by whom."""

from submissions.models.endpoints import Endpoint
from submissions.models.people import AuditEvent, User
from submissions.models.submission import Implementation, Submission, System, Upload

__all__ = ["AuditEvent", "Endpoint", "Implementation", "Submission", "System", "Upload", "User"]
