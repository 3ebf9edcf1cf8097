"""Second factors for tests: an app's codes, and accounts that have one."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

SECRET = "JBSWY3DPEHPK3PXP"
PERIOD = 30
_later = itertools.cycle((0, 1, -1))


def code(secret: str = SECRET) -> str:
    """Return one of the codes that are valid now; consecutive calls return different ones, since each works once."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // PERIOD + next(_later)))


def with_app(user: User) -> Authenticator:
    """Give ``user`` an app with :data:`SECRET`, and recovery codes."""
    RecoveryCodes.activate(user)
    return TOTP.activate(user, SECRET).instance


def sign_in(client: Client, user: User, password: str) -> None:
    """Sign in with password and code."""
    client.post("/accounts/login/", {"login": user.username, "password": password})
    assert client.post("/accounts/2fa/authenticate/", {"code": code()}).status_code == 302
