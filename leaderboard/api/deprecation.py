"""Announce that an operation, or a field of its response, will be removed (docs/api.md, "Version 1")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from django.utils.http import http_date

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

SHORTEST_NOTICE: Final = timedelta(days=183)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """An announced removal: the day of the announcement, the first day on which it may happen, and the field.

    Without a ``field`` the whole operation is removed. A field is also declared with ``Field(deprecated=True)``.
    """

    since: date
    sunset: date
    field: str = ""

    def __post_init__(self) -> None:
        """Refuse a removal at short notice."""
        if self.sunset - self.since < SHORTEST_NOTICE:
            msg = f"Version 1 removes nothing within {SHORTEST_NOTICE.days} days of its announcement."
            raise ValueError(msg)

    @property
    def headers(self) -> dict[str, str]:
        """The announcement as headers (RFC 9745 and RFC 8594)."""
        since, sunset = (datetime.combine(day, time(), UTC).timestamp() for day in (self.since, self.sunset))
        link = '</docs/api/#version-1>; rel="deprecation"; type="text/html"'
        return {"Deprecation": f"@{since:.0f}", "Sunset": http_date(sunset), "Link": link}


def deprecated(announced: Deprecation) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let an operation's responses carry the announcement. Apply it below the router's decorator."""

    def decorate(operation: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(operation)
        def announcing(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            request.api_deprecation = announced  # type: ignore[attr-defined]
            return operation(request, *args, **kwargs)

        announcing.deprecation = announced  # type: ignore[attr-defined]
        return announcing

    return decorate
