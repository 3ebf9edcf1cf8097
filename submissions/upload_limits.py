"""Bounding what a request may write to disk before any of our code has looked at it."""

from __future__ import annotations

from django.core.files.uploadhandler import FileUploadHandler

from submissions.answers.intake import ArchiveLimits
from submissions.domain.masked import tree_limits


class BoundedUploadHandler(FileUploadHandler):
    """Hands on only so much of a file that the form sees that it is too large; the rest never reaches the disk.

    Django parses a request's body when the CSRF token is looked for, so this holds for strangers as well.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """The chunk for the next handler, or nothing once the limit was passed. ``start`` is its offset in bytes."""
        return raw_data if start <= self._limit() else None

    def _limit(self) -> int:
        """Output trees are taken from people who are signed in only."""
        bundle = ArchiveLimits().upload
        user = getattr(self.request, "user", None)
        return max(bundle, tree_limits().upload) if user is not None and user.is_authenticated else bundle

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""
