"""Forms that accept a code of an authenticator app or a recovery code: allauth's, but a code works only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from django.core.cache import cache

if TYPE_CHECKING:
    _Base = BaseAuthenticateForm
else:
    _Base = object

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
