"""How large an upload may be, also of what a request writes to disk before any view runs."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler

from submissions.answers.archives import TREE_LIMITS, ArchiveLimits

_MEGABYTE = 1024 * 1024


def tree_limits() -> ArchiveLimits:
    """What reading one output tree may cost, by the operator's settings."""
    environment = settings.ENVIRONMENT
    return replace(
        TREE_LIMITS,
        upload=environment.output_tree_upload_mb * _MEGABYTE,
        total=environment.output_tree_unpacked_mb * _MEGABYTE,
        members=environment.output_tree_files,
        entries=environment.output_tree_files,
    )


def largest_upload() -> int:
    """The bytes of the largest file that is taken from somebody who is known."""
    return max(ArchiveLimits().upload, tree_limits().upload)


class BoundedUploadHandler(FileUploadHandler):
    """Hands on only so much of a file that the form sees that it is too large; the rest never reaches the disk.

    Django parses a request's body when the CSRF token is looked for, so this holds for strangers as well.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """The chunk for the next handler, or nothing once the limit was passed. ``start`` is its offset in bytes."""
        return raw_data if start <= self._limit() else None

    def _limit(self) -> int:
        """Output trees are taken from people who are signed in only."""
        user = getattr(self.request, "user", None)
        return largest_upload() if user is not None and user.is_authenticated else ArchiveLimits().upload

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""
