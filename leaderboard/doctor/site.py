"""Check the settings of the web site: keys, proxy, addresses, and whether the site answers at its address."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host

from leaderboard.doctor.findings import failed, ok, warning
from leaderboard.settings.environment import unknown_names
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.programs import check_proxy, host_address
from submissions.domain import second_factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.doctor.findings import Finding

FETCH_SECONDS: Final = 10
_MOST_NAMES: Final = 10
REDIRECTED_PAGE: Final = "/.well-known/security.txt"
"""A page that needs no database and is redirected to HTTPS where the site takes the request for plain HTTP."""


def keys() -> Iterator[Finding]:
    """Check that hosts that share servers do not each make keys of their own."""
    environment = settings.ENVIRONMENT
    if not environment.needs_keys:
        yield ok("keys", f"not needed with POOLS={','.join(environment.pools)}")
        return
    if environment.keys_problem:
        yield failed("keys", *environment.keys_problem.split("\n", 1))
        return
    made = [name for name in ("SECRET_KEY", "ENDPOINT_KEYS") if not getattr(environment, name.lower())]
    yield ok("keys", f"{' and '.join(made)} from the data folder" if made else "SECRET_KEY and ENDPOINT_KEYS are set")


def site_settings() -> Iterator[Finding]:
    """Find settings that contradict each other, and unknown names in ``.env``."""
    found = [*_contradictions(), *_names()]
    yield from found or [ok("settings", "no contradiction and no unknown name")]


def _contradictions() -> Iterator[Finding]:
    environment, name = settings.ENVIRONMENT, "settings"
    address = urlsplit(environment.site_address)
    try:
        check_proxy([host_address(environment.bind)], environment)
    except SupervisionError as error:
        yield failed(name, *str(error).split("\n", 1))
    if environment.https and not environment.trust_proxy:
        found = "HTTPS=true without TRUST_PROXY=true: every request counts as plain HTTP and is redirected endlessly"
        yield failed(name, found, "Put a proxy with TLS in front and set TRUST_PROXY=true, or set HTTPS=false.")
    if environment.trust_proxy and environment.allow_no_proxy:
        found = "TRUST_PROXY=true and ALLOW_NO_PROXY=true: the second one has no effect"
        yield warning(name, found, "Remove ALLOW_NO_PROXY if a proxy is in front, else TRUST_PROXY.")
    if address.scheme == "https" and not environment.https:
        found = "SITE_ADDRESS begins with https, but HTTPS=false: cookies are also sent without encryption"
        yield warning(name, found, "Set HTTPS=true.")
    if address.scheme == "http" and environment.https:
        found = "HTTPS=true, but SITE_ADDRESS begins with http"
        yield warning(name, found, "Let SITE_ADDRESS begin with https://.")
    if address.hostname and not validate_host(address.hostname, settings.ALLOWED_HOSTS):
        found = f"ALLOWED_HOSTS lacks {address.hostname}, the host of SITE_ADDRESS: its requests get status 400"
        yield failed(name, found, f"Add {address.hostname} to ALLOWED_HOSTS.")
    if environment.debug and environment.site_address:
        yield warning(name, "DEBUG=true: error pages show the site's code and settings", "Set DEBUG=false.")


def second_factors() -> Iterator[Finding]:
    """Check that on a site with HTTPS, maintainers need a second factor and have one."""
    name = "second factors"
    if not settings.ENVIRONMENT.https:
        yield ok(name, "not checked: HTTPS=false")
        return
    without = list(second_factor.maintainers_without().values_list("username", flat=True)[:_MOST_NAMES])
    if second_factor.MAINTAINERS not in settings.ENVIRONMENT.require_second_factor:
        found = "maintainers may sign in with a password alone"
        yield warning(name, found, "Set REQUIRE_SECOND_FACTOR=maintainers,annotators.")
    elif without:
        found = f"maintainers without a second factor, who can do nothing until they add one: {', '.join(without)}"
        yield warning(name, found, "Have them sign in and add one, or end their role: manage.py maintainer.")
    else:
        yield ok(name, "every maintainer has one")
    if lost := second_factor.unreadable():
        found = f"no secret of ENDPOINT_KEYS opens the second factors of {', '.join(lost[:_MOST_NAMES])}"
        todo = "Put the old secret back into ENDPOINT_KEYS, or remove them: manage.py second_factor USER --remove."
        yield failed(name, found, todo)


def _names() -> Iterator[Finding]:
    for problem in unknown_names():
        yield warning("settings", problem, "Correct or remove the line.")


def site() -> Iterator[Finding]:
    """Request two pages at ``SITE_ADDRESS``: does the site answer there, and does it know that HTTPS was used?

    A proxy that does not set ``X-Forwarded-Proto`` shows as a redirect of an HTTPS address to itself. That the site
    ignores the header of other peers cannot be seen from here.
    """
    name, address = "site", settings.ENVIRONMENT.site_address
    if not address:
        yield ok(name, "not used: SITE_ADDRESS is empty")
        return
    try:
        status, _, body = _fetch(address, "/healthz")
        if status != http.HTTPStatus.OK or not _is_ours(body):
            found = f"{address}/healthz returned status {status}, and not what this site answers"
            yield failed(name, found, "Let the proxy pass requests for SITE_ADDRESS on to BIND and PORT.")
            return
        status, location, _ = _fetch(address, REDIRECTED_PAGE)
    except (OSError, http.client.HTTPException) as error:
        todo = "Start the instance and the proxy, or correct SITE_ADDRESS; check name, port and certificate."
        yield failed(name, f"{address} does not answer: {error}", todo)
        return
    if location == f"{address}{REDIRECTED_PAGE}":
        found = f"{address} redirects to itself: the site takes HTTPS requests for plain HTTP"
        yield failed(name, found, "Let the proxy set X-Forwarded-Proto: https, and set TRUST_PROXY=true.")
    elif location:
        found = f"{address} redirects to {location}"
        yield warning(name, found, "Set SITE_ADDRESS to the address that visitors see.")
    else:
        yield ok(name, f"{address} answers")


def _fetch(address: str, path: str) -> tuple[int, str, bytes]:
    """Return status, target of a redirect and body."""
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=FETCH_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location") or "", answer.read(100_000)
    finally:
        connection.close()


def _is_ours(body: bytes) -> bool:
    try:
        return bool(json.loads(body) == {"process": "up"})
    except ValueError:
        return False
