"""Who asks: a person by a token, or nobody in particular. Browsers' sessions mean nothing here.

So no page of another site can act through somebody's browser, and nothing here needs a CSRF token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import AnonymousUser
from ninja.security import HttpBearer

from leaderboard.api import limits
from leaderboard.api.problems import Kind, ProblemError
from submissions.domain import tokens
from submissions.enums import Scope

if TYPE_CHECKING:
    from django.http import HttpRequest

    from submissions.models import ApiToken

_REALM: Final = 'Bearer realm="LMR-Board"'
_WHERE: Final = "Make one under Tokens on your account's page (/accounts/tokens/)."


class Token(HttpBearer):
    """Lets tokens with ``scope`` through; where it is ``optional``, requests without any token as well."""

    def __init__(self, scope: Scope, *, optional: bool = False) -> None:
        super().__init__()
        self.scope, self.optional = scope, optional

    def __call__(self, request: HttpRequest) -> ApiToken | AnonymousUser:
        """Put the token's owner into ``request.user``. Raises :class:`ProblemError`."""
        given = request.headers.get(self.header, "")
        request.user = AnonymousUser()
        token = self.authenticate(request, given[len("Bearer ") :]) if given.lower().startswith("bearer ") else None
        # Wrong tokens count for the address that sends them.
        request.api_usage = limits.count(request, token)  # type: ignore[attr-defined]
        limits.require(request.api_usage)  # type: ignore[attr-defined]
        if given and token is None:
            self._refuse("This token is not known, or its time is over.", 'error="invalid_token"')
        if token is None:
            if not self.optional:
                self._refuse("Send a token: Authorization: Bearer lmr_….", f'scope="{self.scope}"')
            return request.user
        if self.scope not in token.scopes:
            headers = {"WWW-Authenticate": f'{_REALM}, error="insufficient_scope", scope="{self.scope}"'}
            raise ProblemError(Kind.NOT_ALLOWED, f"This token lacks the scope {self.scope}. {_WHERE}", headers=headers)
        request.user = token.owner
        return token

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:  # noqa: ARG002 - ninja's signature
        """The token of the secret that was sent, if it holds."""
        return tokens.find(token.strip())

    def _refuse(self, detail: str, challenge: str) -> None:
        headers = {"WWW-Authenticate": f"{_REALM}, {challenge}"}
        raise ProblemError(Kind.NO_TOKEN, f"{detail} {_WHERE}", headers=headers)


PUBLIC: Final = Token(Scope.READ, optional=True)
"""For everybody; with a token one sees one's own things as well, as on the pages."""
READ: Final = Token(Scope.READ)
SUBMIT: Final = Token(Scope.SUBMIT)
ENDPOINTS: Final = Token(Scope.ENDPOINTS)
LABEL: Final = Token(Scope.LABEL)
NOTICES: Final = Token(Scope.NOTICES)
