"""Authenticate API requests by token; requests without a token are anonymous.

Session cookies are ignored, so no page of another site can act through a visitor's browser, and the API needs no CSRF
token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import AnonymousUser
from ninja.security import HttpBearer

from leaderboard.api import limits
from leaderboard.api.problems import Kind, ProblemError
from submissions.domain import second_factor, tokens
from submissions.enums import Scope

if TYPE_CHECKING:
    from django.http import HttpRequest

    from submissions.models import ApiToken

_REALM: Final = 'Bearer realm="LMR-Board"'
_ADVICE: Final = "Create one under Tokens on your account page (/accounts/tokens/)."
_ADD_FACTOR: Final = "Sign in and add one on the page Two factors (/accounts/2fa/); then the token works again."


class Token(HttpBearer):
    """Require a token with ``scope``; if ``optional``, also accept requests without a token."""

    def __init__(self, scope: Scope, *, optional: bool = False) -> None:
        super().__init__()
        self.scope, self.optional = scope, optional

    def __call__(self, request: HttpRequest) -> ApiToken | AnonymousUser:
        """Put the token's owner into ``request.user``. Raises :class:`ProblemError`."""
        given = request.headers.get(self.header, "")
        request.user = AnonymousUser()
        token = self.authenticate(request, given[len("Bearer ") :]) if given.lower().startswith("bearer ") else None
        # A request with an unknown token counts against its IP address.
        request.api_usage = limits.count(request, token)  # type: ignore[attr-defined]
        limits.require(request.api_usage)  # type: ignore[attr-defined]
        if given and token is None:
            self._refuse("This token is unknown or has expired.", 'error="invalid_token"')
        if token is None:
            if not self.optional:
                self._refuse("The header Authorization has no bearer token.", f'scope="{self.scope}"')
            return request.user
        if self.scope not in token.scopes:
            headers = {"WWW-Authenticate": f'{_REALM}, error="insufficient_scope", scope="{self.scope}"'}
            raise ProblemError(Kind.NOT_ALLOWED, f"This token lacks the scope {self.scope}. {_ADVICE}", headers=headers)
        if role := second_factor.missing_as(token.owner):
            detail = f"This site requires a second factor of {role}, and the token's owner has none. {_ADD_FACTOR}"
            raise ProblemError(Kind.NOT_ALLOWED, detail)
        request.user = token.owner
        return token

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:  # noqa: ARG002 - ninja's signature
        """Return the valid token with this secret, or None."""
        return tokens.find(token.strip())

    def _refuse(self, detail: str, challenge: str) -> None:
        headers = {"WWW-Authenticate": f"{_REALM}, {challenge}"}
        raise ProblemError(Kind.NO_TOKEN, f"{detail} {_ADVICE}", headers=headers)


PUBLIC: Final = Token(Scope.READ, optional=True)
"""No token needed; a token also shows its owner's private data, as signing in does on the pages."""
READ: Final = Token(Scope.READ)
SUBMIT: Final = Token(Scope.SUBMIT)
ENDPOINTS: Final = Token(Scope.ENDPOINTS)
LABEL: Final = Token(Scope.LABEL)
NOTICES: Final = Token(Scope.NOTICES)
