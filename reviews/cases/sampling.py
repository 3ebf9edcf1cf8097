"""Draw random samples reproducibly: the same draw always has the same result."""

from __future__ import annotations

from typing import Final

from django.utils.crypto import salted_hmac

_BYTES: Final = 8
_RANGE: Final = 2**64


def drawn(purpose: str, pk: int, share: float) -> bool:
    """Return whether row ``pk`` is in the random ``share`` (0 to 1) for ``purpose``.

    The draw is a hash of ``purpose`` and ``pk`` under the site's secret key: outsiders cannot predict it, no state is
    stored, and it does not depend on the row's content. A larger share includes every row of a smaller one.
    """
    digest: bytes = salted_hmac(f"reviews.sampling.{purpose}", str(pk), algorithm="sha256").digest()
    return int.from_bytes(digest[:_BYTES]) < share * _RANGE
