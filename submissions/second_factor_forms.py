"""Forms of second factors: allauth's, but a code works only once, and malformed data of security keys are refused."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import AddWebAuthnForm, AuthenticateWebAuthnForm, ReauthenticateWebAuthnForm
from django.core.cache import cache

if TYPE_CHECKING:
    _Base = BaseAuthenticateForm
    _KeyBase = AuthenticateWebAuthnForm
else:
    _Base = _KeyBase = object

VALID_SECONDS: Final = (2 * app_settings.TOTP_TOLERANCE + 1) * app_settings.TOTP_PERIOD
"""How long an app's code is accepted. allauth remembers a used one for one period only."""


class _OnceMixin(_Base):
    def clean_code(self) -> str:
        """Return the code. Raises ValidationError for a wrong or a used one."""
        code: str = super().clean_code()
        used = f"second-factor-code:{self.user.pk}:{normalize_user_code(code)}"
        is_app = self.authenticator.type == Authenticator.Type.TOTP
        if is_app and not cache.add(used, True, VALID_SECONDS):
            raise get_adapter().validation_error("incorrect_code")
        return code


class OnceAuthenticateForm(_OnceMixin, AuthenticateForm):
    """Sign in with a second factor."""


class OnceReauthenticateForm(_OnceMixin, ReauthenticateForm):
    """Confirm with a second factor who one is."""


# What libraries raise for JSON that is no credential; browsers send none.
_MALFORMED: Final = (AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error)


class CheckedAddWebAuthnForm(AddWebAuthnForm):
    """Add a security key."""

    def clean(self) -> dict[str, Any]:
        """Return the data. Raises ValidationError for a malformed credential."""
        try:
            found: dict[str, Any] = super().clean()
        except _MALFORMED:
            raise get_adapter().validation_error("incorrect_code") from None
        return found


class _CheckedMixin(_KeyBase):
    def clean_credential(self) -> Authenticator:
        """Return the key that was used. Raises ValidationError for a malformed credential."""
        try:
            return super().clean_credential()
        except _MALFORMED:
            raise get_adapter().validation_error("incorrect_code") from None


class CheckedAuthenticateWebAuthnForm(_CheckedMixin, AuthenticateWebAuthnForm):
    """Sign in with a security key as the second factor."""


class CheckedReauthenticateWebAuthnForm(_CheckedMixin, ReauthenticateWebAuthnForm):
    """Confirm with a security key who one is."""
