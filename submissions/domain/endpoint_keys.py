"""Seal and open endpoints' keys and second factors with the configured secrets, or the one in the data folder."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from submissions.endpoints.addresses import AddressError, origin
from submissions.endpoints.sealing import SealError, seal, sealed_with_first, unseal
from submissions.models import Endpoint

_FILE: Final = "endpoint_key"


@dataclass(frozen=True, slots=True)
class Rotated:
    """Result of re-sealing all keys. ``lost`` are the endpoints whose key no configured secret opens."""

    resealed: int
    current: int
    lost: tuple[Endpoint, ...]


def sealed_for(endpoint: Endpoint, key: str) -> str:
    """Seal ``key`` for this row and this origin, so that it cannot be used with another address."""
    return sealed(key, context=_context(endpoint))


def opened(endpoint: Endpoint) -> str:
    """Return the key of ``endpoint``, empty if it has none. Raises :class:`SealError`."""
    if not endpoint.sealed_key:
        return ""
    return unsealed(endpoint.sealed_key, context=_context(endpoint))


def sealed(text: str, *, context: bytes) -> str:
    """Seal ``text`` with the first secret, which is made on first use."""
    return seal(text, secrets=_secrets(make=True), context=context)


def unsealed(text: str, *, context: bytes) -> str:
    """Return the sealed text. Raises :class:`SealError`."""
    return unseal(text, secrets=_secrets(make=False), context=context)


def is_current(text: str) -> bool:
    """Return whether the first secret sealed this text."""
    known = _secrets(make=False)
    return bool(known) and sealed_with_first(text, secrets=known)


def rotate() -> Rotated:
    """Re-seal all keys that an older secret sealed with the first secret."""
    known = _secrets(make=False)
    resealed, current, lost = 0, 0, []
    for endpoint in Endpoint.objects.exclude(sealed_key="").select_related("owner").order_by("pk"):
        old = endpoint.sealed_key
        try:
            key = unseal(old, secrets=known, context=_context(endpoint))
        except SealError:
            lost.append(endpoint)
            continue
        if sealed_with_first(old, secrets=known):
            current += 1
            continue
        sealed = seal(key, secrets=known, context=_context(endpoint))
        # Its owner may have stored another key or address since it was read.
        mine = Endpoint.objects.filter(pk=endpoint.pk, sealed_key=old, base_url=endpoint.base_url)
        resealed += mine.update(sealed_key=sealed)
    return Rotated(resealed, current, tuple(lost))


def unreadable() -> list[Endpoint]:
    """Return the endpoints whose key no secret of this instance opens."""
    lost = []
    for endpoint in Endpoint.objects.exclude(sealed_key="").select_related("owner").order_by("pk"):
        try:
            opened(endpoint)
        except SealError:
            lost.append(endpoint)
    return lost


def lines_for_env() -> list[str]:
    """Return the instance's keys as lines of ``.env``; a missing one is made."""
    return [f"SECRET_KEY={settings.SECRET_KEY}", f"ENDPOINT_KEYS={','.join(_secrets(make=True))}"]


def _context(endpoint: Endpoint) -> bytes:
    try:
        return f"{endpoint.pk} {origin(endpoint.base_url)}".encode()
    except AddressError as error:
        # An address stored by an older version that accepted it; it could never be called.
        raise SealError(str(error)) from None


def _secrets(*, make: bool) -> list[str]:
    """Return the configured secrets, then the one in the data folder, which opens keys from before any was configured.

    ``SECRET_KEY`` is not used, since it is changed for other reasons and known in more places.
    """
    configured = [secret.strip() for secret in settings.ENVIRONMENT.endpoint_keys]
    file = Path(settings.DATA_DIR) / _FILE
    stored = _secret_in(file, make=make and not configured)
    return [*configured, *([stored] if stored else [])]


def _secret_in(file: Path, *, make: bool) -> str:
    """Return the secret in ``file``, created on first use if ``make``; empty without one."""
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        if not make:
            return ""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(48), encoding="ascii")
    try:
        # The link fails if another process was first; then both read the same secret.
        file.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return file.read_text(encoding="ascii").strip()
