"""Limit the size of uploads, including what a request writes to disk before any view runs."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler

from submissions.answers.archives import TREE_LIMITS, ArchiveLimits

_MEGABYTE = 1024 * 1024


def tree_limits() -> ArchiveLimits:
    """Return the limits for reading one output tree, from the operator's settings."""
    environment = settings.ENVIRONMENT
    return replace(
        TREE_LIMITS,
        upload=environment.output_tree_upload_mb * _MEGABYTE,
        total=environment.output_tree_unpacked_mb * _MEGABYTE,
        members=environment.output_tree_files,
        entries=environment.output_tree_files,
    )


def largest_upload() -> int:
    """Return the size in bytes of the largest file that is accepted from a signed-in user."""
    return max(ArchiveLimits().upload, tree_limits().upload)


class BoundedUploadHandler(FileUploadHandler):
    """Keep just enough of a file for the form to see that it is too large; the rest never reaches the disk.

    Django parses a request's body to find the CSRF token, so this also applies to visitors who are not signed in.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Pass the chunk to the next handler, or drop it beyond the limit. ``start`` is its offset in bytes."""
        # Only signed-in users may send output trees, which are larger.
        user = getattr(self.request, "user", None)
        limit = largest_upload() if user is not None and user.is_authenticated else ArchiveLimits().upload
        return raw_data if start <= limit else None

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""
