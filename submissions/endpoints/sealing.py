"""Encrypt model endpoints' keys with AES-GCM under the operator's secrets, bound to each key's context.

A sealed text is ``1.<id of the secret>.<base64 of nonce and ciphertext>``. The first secret seals and every one opens,
so a new secret can be put first and old texts re-sealed later (``manage.py rotate_endpoint_keys``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORM: Final = "1"
_NONCE_BYTES: Final = 12
_ID_LENGTH: Final = 12


class SealError(Exception):
    """A text cannot be sealed or opened. The message is for operators and contains no secret."""


def seal(key: str, *, secrets: Sequence[str], context: bytes) -> str:
    """Encrypt ``key`` as a text that only ``secrets`` and the same ``context`` open."""
    derived = _derived(secrets[0])
    nonce = os.urandom(_NONCE_BYTES)
    box = nonce + AESGCM(derived).encrypt(nonce, key.encode(), context)
    return f"{_FORM}.{_identifier(derived)}.{base64.urlsafe_b64encode(box).decode('ascii')}"


def unseal(sealed: str, *, secrets: Sequence[str], context: bytes) -> str:
    """Return the sealed key. Raises :class:`SealError` for another context, a lost secret, or a changed text."""
    form, _, rest = sealed.partition(".")
    identifier, _, text = rest.partition(".")
    if form != _FORM or not identifier or not text:
        msg = "The stored key has a format that this version does not know."
        raise SealError(msg)
    derived = next((each for each in map(_derived, secrets) if _identifier(each) == identifier), None)
    if derived is None:
        msg = f"The stored key was sealed with the secret {identifier}, which is no longer among ENDPOINT_KEYS."
        raise SealError(msg)
    try:
        box = base64.urlsafe_b64decode(text)
        return AESGCM(derived).decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], context).decode()
    except (InvalidTag, binascii.Error, ValueError):
        msg = "The stored key cannot be opened: it was changed, or belongs to another endpoint or address."
        raise SealError(msg) from None


def sealed_with_first(sealed: str, *, secrets: Sequence[str]) -> bool:
    """Return whether the first secret sealed this text."""
    return sealed.startswith(f"{_FORM}.{_identifier(_derived(secrets[0]))}.")


def _derived(secret: str) -> bytes:
    """Derive a 256-bit key from a secret of any form. The secret is random and long, so no slow hash is needed."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"lmr-board endpoint key").derive(secret.encode())


def _identifier(derived: bytes) -> str:
    return hashlib.sha256(b"id:" + derived).hexdigest()[:_ID_LENGTH]
