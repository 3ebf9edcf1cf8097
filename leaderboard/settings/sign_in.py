"""Derive allauth's settings of the sites by which people can sign in from the operator's keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from leaderboard.settings.environment import Environment

_GITHUB: Final = "https://github.com"
_ORCID: Final = "https://orcid.org"


def sign_in_providers(environment: Environment) -> dict[str, dict[str, Any]]:
    """Return ``SOCIALACCOUNT_PROVIDERS``: each provider that has keys."""
    providers: dict[str, dict[str, Any]] = {}
    if environment.github_client_id:
        app = {"client_id": environment.github_client_id, "secret": environment.github_client_secret}
        own_server = {"GITHUB_URL": environment.github_url} if environment.github_url else {}
        providers["github"] = {"APP": app, "OAUTH_PKCE_ENABLED": True, **own_server}
    if environment.orcid_client_id:
        app = {"client_id": environment.orcid_client_id, "secret": environment.orcid_client_secret}
        providers["orcid"] = {"APP": app}
    return providers


def sign_in_origins(environment: Environment) -> list[str]:
    """Return the origins to which signing in redirects."""
    github = [environment.github_url or _GITHUB] if environment.github_client_id else []
    return github + ([_ORCID] if environment.orcid_client_id else [])
