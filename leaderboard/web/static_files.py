"""Store static files under names with their digest, compressed."""

from __future__ import annotations

from typing import Any

from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Compress with gzip only.

    WhiteNoise also compresses with Brotli where that is installed, which no requirement of the site asks for: set-up
    would take a minute of processor time longer.
    """

    def create_compressor(self, **kwargs: Any) -> Compressor:
        """Return the compressor of the files."""
        return Compressor(use_brotli=False, **kwargs)
