"""Checks of keys, of settings that contradict each other, and of the site at its address."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.doctor import site
from leaderboard.doctor.findings import State, failed, ok, warning
from submissions.domain.operators import local_operator
from tests.second_factors import with_app
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_django import Settings

    from leaderboard.doctor.findings import Finding


@pytest.fixture
def use(settings: Settings) -> Callable[..., None]:
    """Continue with these settings."""

    def change(**values: Any) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **values)

    return change


def one(found: Iterator[Finding]) -> Finding:
    (finding,) = found
    return finding


def test_keys(use: Callable[..., None]) -> None:
    assert one(site.keys()) == ok("keys", "SECRET_KEY and ENDPOINT_KEYS from the data folder")
    use(secret_key="s" * 50)
    assert one(site.keys()) == ok("keys", "ENDPOINT_KEYS from the data folder")
    use(database_url="postgres://u:p@host/d", redis_url="redis://host/0")
    assert one(site.keys()) == failed(
        "keys",
        "DATABASE_URL and REDIS_URL name servers, which several hosts may share, but ENDPOINT_KEYS is not set, "
        "so that each host would make its own.",
        "Print those of this data folder with manage.py keys, which makes missing ones, and set them on every host "
        "with the pool site or model_calls.",
    )
    use(endpoint_keys=["e" * 50])
    assert one(site.keys()) == ok("keys", "SECRET_KEY and ENDPOINT_KEYS are set")
    use(pools=["tests"])
    assert one(site.keys()) == ok("keys", "not needed with POOLS=tests")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, []),
        ({"bind": "0.0.0.0", "trust_proxy": True, "https": True}, []),
        ({"site_address": "https://localhost", "trust_proxy": True, "https": True}, []),
        ({"bind": "0.0.0.0"}, [(State.FAILED, "LMR-Board would be reachable from other machines at 0.0.0.0 ")]),
        ({"https": True}, [(State.FAILED, "HTTPS=true without TRUST_PROXY=true: ")]),
        ({"trust_proxy": True, "allow_no_proxy": True}, [(State.WARNING, "TRUST_PROXY=true and ALLOW_NO_PROXY=true")]),
        ({"site_address": "https://localhost"}, [(State.WARNING, "SITE_ADDRESS begins with https, but HTTPS=false")]),
        (
            {"site_address": "http://localhost", "https": True, "trust_proxy": True},
            [(State.WARNING, "HTTPS=true, but SITE_ADDRESS begins with http")],
        ),
        ({"site_address": "http://board.example"}, [(State.FAILED, "ALLOWED_HOSTS lacks board.example, ")]),
        ({"site_address": "http://localhost", "debug": True}, [(State.WARNING, "DEBUG=true: ")]),
        ({"debug": True}, []),
    ],
)
def test_settings_that_contradict_each_other(
    use: Callable[..., None], settings: Settings, values: dict[str, Any], expected: list[tuple[State, str]]
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    use(**values)
    found = list(site.site_settings())
    if not expected:
        assert found == [ok("settings", "no contradiction and no unknown name")]
    else:
        ((state, begin),) = expected
        assert [(each.name, each.state, each.found[: len(begin)]) for each in found] == [("settings", state, begin)]
        assert all(each.todo for each in found)


def test_an_unknown_name_in_the_file_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "env").write_text("WORKER=3\n")
    monkeypatch.setenv("ENV_FILE", str(tmp_path / "env"))
    found = "WORKER in env is not a setting (docs/configuration.md lists all). Did you mean WORKERS?"
    assert one(site.site_settings()) == warning("settings", found, "Correct or remove the line.")


class _Pages(BaseHTTPRequestHandler):
    """A web server with ``server.pages``: path -> status, target of a redirect, text."""

    def do_GET(self) -> None:
        status, location, text = self.server.pages[self.path]  # type: ignore[attr-defined]
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class TestAddress:
    @pytest.fixture
    def server(self, use: Callable[..., None]) -> Iterator[Any]:
        with ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as running:
            running.address = f"http://127.0.0.1:{running.server_port}"  # type: ignore[attr-defined]
            running.pages = {  # type: ignore[attr-defined]
                "/healthz": (200, "", '{"process": "up"}'),
                site.REDIRECTED_PAGE: (404, "", ""),
            }
            threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
            use(site_address=running.address)  # type: ignore[attr-defined]
            yield running
            running.shutdown()

    def test_without_an_address(self) -> None:
        assert one(site.site()) == ok("site", "not used: SITE_ADDRESS is empty")

    def test_a_site_that_answers(self, server: Any) -> None:
        assert one(site.site()) == ok("site", f"{server.address} answers")

    def test_another_server_at_the_address(self, server: Any) -> None:
        todo = "Let the proxy pass requests for SITE_ADDRESS on to BIND and PORT."
        for status, text in ((502, '{"process": "up"}'), (200, "Welcome to the web server!")):
            server.pages["/healthz"] = (status, "", text)
            found = f"{server.address}/healthz returned status {status}, and not what this site answers"
            assert one(site.site()) == failed("site", found, todo)

    def test_a_proxy_that_does_not_set_the_scheme(self, server: Any) -> None:
        server.pages[site.REDIRECTED_PAGE] = (301, f"{server.address}{site.REDIRECTED_PAGE}", "")
        assert one(site.site()) == failed(
            "site",
            f"{server.address} redirects to itself: the site takes HTTPS requests for plain HTTP",
            "Let the proxy set X-Forwarded-Proto: https, and set TRUST_PROXY=true.",
        )

    def test_an_address_that_redirects(self, server: Any) -> None:
        target = f"https://board.example{site.REDIRECTED_PAGE}"
        server.pages[site.REDIRECTED_PAGE] = (301, target, "")
        found = f"{server.address} redirects to {target}"
        assert one(site.site()) == warning("site", found, "Set SITE_ADDRESS to the address that visitors see.")

    def test_no_server(self, use: Callable[..., None]) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{closed.getsockname()[1]}"
            use(site_address=address)
            found = one(site.site())
        assert (found.state, found.found) == (
            State.FAILED,
            f"{address} does not answer: [Errno 111] Connection refused",
        )


class TestSecondFactors:
    """Whether maintainers can lose their accounts with their passwords."""

    pytestmark = pytest.mark.django_db

    def test_without_https_nothing_is_checked(self) -> None:
        UserFactory(is_staff=True)
        assert one(site.second_factors()) == ok("second factors", "not checked: HTTPS=false")

    def test_it_is_not_required(self, use: Callable[..., None]) -> None:
        use(https=True, require_second_factor=["annotators"])
        assert one(site.second_factors()) == warning(
            "second factors",
            "maintainers may sign in with a password alone",
            "Set REQUIRE_SECOND_FACTOR=maintainers,annotators.",
        )

    def test_maintainers_without_one_are_named(self, use: Callable[..., None]) -> None:
        use(https=True, require_second_factor=["maintainers"])
        with_app(UserFactory(username="zoe", is_staff=True))
        UserFactory(username="ada")
        local_operator()
        assert one(site.second_factors()) == ok("second factors", "every maintainer has one")
        UserFactory(username="eve", is_staff=True)
        assert one(site.second_factors()) == warning(
            "second factors",
            "maintainers without a second factor, who can do nothing until they add one: eve",
            "Have them sign in and add one, or end their role: manage.py maintainer.",
        )

    def test_one_that_no_secret_opens(self, use: Callable[..., None]) -> None:
        use(https=True, require_second_factor=["maintainers"], endpoint_keys=["o" * 40])
        with_app(UserFactory(username="ada", is_staff=True))
        use(endpoint_keys=["n" * 40])
        assert list(site.second_factors()) == [
            ok("second factors", "every maintainer has one"),
            failed(
                "second factors",
                "no secret of ENDPOINT_KEYS opens the second factors of ada",
                "Put the old secret back into ENDPOINT_KEYS, or remove them: manage.py second_factor USER --remove.",
            ),
        ]
