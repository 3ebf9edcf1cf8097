"""Limit API requests per minute, by token or, without one, by IP address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from leaderboard.api.problems import Kind, ProblemError
from leaderboard.board.query_strings import client_address
from submissions.domain import rate_limits

if TYPE_CHECKING:
    from django.http import HttpRequest

    from submissions.models import ApiToken


@dataclass(frozen=True, slots=True)
class Usage:
    """Use of a limit in the current minute, which ends in ``seconds``."""

    limit: int
    used: int
    seconds: int

    @property
    def headers(self) -> dict[str, str]:
        """The use as response headers."""
        left = max(0, self.limit - self.used)
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(left),
            "RateLimit-Reset": str(self.seconds),
        }


def count(request: HttpRequest, token: ApiToken | None) -> Usage:
    """Count this request and return the use of its limit."""
    environment = settings.ENVIRONMENT
    limit = environment.api_token_requests if token else environment.api_anonymous_requests
    who = f"token-{token.pk}" if token else f"address-{client_address(request)}"
    return Usage(limit, *rate_limits.count(f"api:{who}", limit=limit, period=rate_limits.MINUTE))


def require(usage: Usage) -> None:
    """Raise :class:`ProblemError` if the limit is exceeded."""
    if usage.used > usage.limit:
        detail = f"More than {usage.limit} requests within a minute. Try again in {usage.seconds} s."
        raise ProblemError(Kind.TOO_MANY_REQUESTS, detail, headers={"Retry-After": str(usage.seconds)})
