"""Bounding what a request may write to disk before any of our code has looked at it."""

from __future__ import annotations

from django.core.files.uploadhandler import FileUploadHandler

from submissions.answers.intake import ArchiveLimits


class BoundedUploadHandler(FileUploadHandler):
    """Hands on only so much of a file that the form sees that it is too large; the rest never reaches the disk.

    Django parses a request's body when the CSRF token is looked for, so this holds for strangers as well.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """The chunk for the next handler, or nothing once the limit was passed. ``start`` is its offset in bytes."""
        return raw_data if start <= ArchiveLimits().upload else None

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""
