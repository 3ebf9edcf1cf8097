"""Random draws that come out the same whenever and wherever they are asked again."""

from __future__ import annotations

from typing import Final

from django.utils.crypto import salted_hmac

_BYTES: Final = 8
_RANGE: Final = 2**64


def drawn(purpose: str, pk: int, share: float) -> bool:
    """Whether the row ``pk`` belongs to the random ``share`` (0 to 1) that ``purpose`` looks at.

    The draw is a hash of ``purpose`` and ``pk`` under this site's secret key: nobody outside can foresee it, no state
    is kept, and nothing that is known of the row has a part in it. A larger share includes what a smaller one did.
    """
    digest: bytes = salted_hmac(f"reviews.sampling.{purpose}", str(pk), algorithm="sha256").digest()
    return int.from_bytes(digest[:_BYTES]) < share * _RANGE
