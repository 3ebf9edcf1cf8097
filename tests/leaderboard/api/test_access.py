"""Behaviour common to all operations: tokens, scopes, rate limits, conditional requests, pages, problems."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError
from benchmark_tasks.models import Suite
from submissions.models import ApiToken
from tests.benchmark_tasks.factories import SuiteFactory
from tests.leaderboard.api.program import Program
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from pytest_django import Settings
    from time_machine import TimeMachineFixture

    from submissions.models import User

pytestmark = pytest.mark.django_db


def limited(settings: Settings, *, anonymous: int = 60, token: int = 300) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, api_anonymous_requests=anonymous, api_token_requests=token)


class TestTokens:
    def test_public_operations_need_no_token(self) -> None:
        SuiteFactory(slug="small")
        assert Program().get("/suites")["total"] == 1

    def test_a_users_own_data_needs_a_token(self) -> None:
        response = Program().send("GET", "/me")
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="LMR-Board", scope="read"'
        assert (response.status_code, response.json()["type"]) == (401, "/docs/api/#no-token")

    def test_a_session_is_not_a_token(self, as_alice: Client, alice: User) -> None:
        private = SubmissionFactory(owner=alice)
        assert as_alice.get("/api/v1/me").status_code == 401
        assert as_alice.get("/api/v1/submissions").json()["total"] == 0
        assert as_alice.get(f"/api/v1/submissions/{private.pk}").status_code == 404
        assert Program(alice).get("/submissions")["total"] == 1

    def test_me_describes_the_user_and_the_token(self, alice: User) -> None:
        me = Program(alice, "read", "label").get("/me")
        assert me.pop("expires").endswith("Z")
        assert me == {
            "username": "alice",
            "token": "test-0",
            "scopes": ["read", "label"],
            "maintainer": False,
            "annotator": False,
            "submissions_a_day": 10,
            "submissions_left": 10,
        }

    @pytest.mark.parametrize("how", ["unknown", "ended", "closed", "revoked"])
    def test_an_invalid_token_is_refused_even_where_none_is_needed(self, alice: User, how: str) -> None:
        program = Program(alice)
        if how == "unknown":
            program.headers["Authorization"] += "x"
        elif how == "ended":
            ApiToken.objects.update(expires=timezone.now() - timedelta(seconds=1))
        elif how == "closed":
            type(alice).objects.update(is_active=False)
        else:
            ApiToken.objects.all().delete()
        response = program.send("GET", "/suites")
        assert response.status_code == 401
        assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]

    @pytest.mark.parametrize("header", ["Basic YWxpY2U6cHc=", "Bearer", "Bearer ", "lmr_x", "bearer \u00e4"])
    def test_other_authorization_headers_are_refused(self, header: str) -> None:
        assert Client().get("/api/v1/suites", headers={"Authorization": header}).status_code == 401

    def test_a_token_without_the_scope_is_refused(self, alice: User) -> None:
        response = Program(alice, "read").send("POST", "/uploads/1/submit", {})
        assert response.status_code == 403
        assert 'error="insufficient_scope", scope="submit"' in response.headers["WWW-Authenticate"]
        assert Program(alice, "submit").send("GET", "/suites").status_code == 403

    def test_responses_to_a_token_are_not_cached(self, alice: User) -> None:
        headers = Program(alice).send("GET", "/suites").headers
        assert "no-store" in headers["Cache-Control"]
        assert "Authorization" in headers["Vary"]
        assert "ETag" not in headers


class TestLimits:
    def test_responses_have_the_headers_of_the_limit(
        self, settings: Settings, time_machine: TimeMachineFixture
    ) -> None:
        limited(settings, anonymous=2)
        time_machine.move_to("2026-11-01T12:00:10Z", tick=False)
        anonymous = Program()
        found = [anonymous.send("GET", path) for path in ("/suites", "/nowhere", "/suites/none", "/suites")]
        shown = [
            tuple(each.headers.get(f"RateLimit-{name}") for name in ("Limit", "Remaining", "Reset")) for each in found
        ]
        # Requests to unknown addresses are not counted.
        assert shown == [("2", "1", "50"), (None, None, None), ("2", "0", "50"), ("2", "0", "50")]
        assert [each.status_code for each in found] == [200, 404, 404, 429]
        assert found[-1].headers["Retry-After"] == "50"
        assert found[-1].json()["type"] == "/docs/api/#too-many-requests"
        time_machine.move_to("2026-11-01T12:01:00Z", tick=False)
        assert anonymous.send("GET", "/suites").status_code == 200

    @pytest.mark.usefixtures("half_past_noon")
    def test_addresses_and_tokens_are_counted_separately(self, settings: Settings, alice: User, bob: User) -> None:
        limited(settings, anonymous=1, token=2)
        of_alice, of_bob, anonymous = Program(alice), Program(bob), Program()
        assert [anonymous.send("GET", "/suites").status_code for _ in range(2)] == [200, 429]
        assert [of_alice.send("GET", "/suites").status_code for _ in range(3)] == [200, 200, 429]
        assert of_bob.send("GET", "/suites").status_code == 200
        assert anonymous.send("GET", "/suites", REMOTE_ADDR="192.0.2.7").status_code == 200

    @pytest.mark.usefixtures("half_past_noon")
    def test_wrong_tokens_count_for_their_address(self, settings: Settings) -> None:
        limited(settings, anonymous=2)
        guesses = [
            Client().get("/api/v1/me", headers={"Authorization": f"Bearer lmr_{number}"}).status_code
            for number in range(3)
        ]
        assert guesses == [401, 401, 429]

    @pytest.mark.usefixtures("half_past_noon")
    def test_addresses_of_one_ipv6_network_share_a_limit(self, settings: Settings) -> None:
        limited(settings, anonymous=1)
        anonymous = Program()
        found = [
            anonymous.send("GET", "/suites", REMOTE_ADDR=address).status_code
            for address in ("2001:db8:1:2::1", "2001:db8:1:2:ffff::1", "2001:db8:1:3::1")
        ]
        assert found == [200, 429, 200]


class TestConditionalRequests:
    def test_unchanged_data_are_not_sent_again(self) -> None:
        SuiteFactory(slug="small", title="Old")
        anonymous = Program()
        first = anonymous.send("GET", "/suites/small")
        assert first.headers["Cache-Control"] == "no-cache"
        again = anonymous.send("GET", "/suites/small", headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        Suite.objects.update(title="New")
        changed = anonymous.send("GET", "/suites/small", headers={"If-None-Match": first.headers["ETag"]})
        assert (changed.status_code, changed.json()["title"]) == (200, "New")

    def test_head_has_the_headers_of_get(self) -> None:
        SuiteFactory(slug="small")
        response = Program().send("HEAD", "/suites/small")
        assert (response.status_code, response.content) == (200, b"")
        assert response.headers["ETag"] == Program().send("GET", "/suites/small").headers["ETag"]


class TestPages:
    def test_links_lead_through_a_list(self) -> None:
        for number in range(5):
            SuiteFactory(slug=f"suite-{number}", position=number)
        anonymous, path, seen = Program(), "/suites?size=2", []
        while path:
            page = anonymous.get(path)
            seen.append([each["suite"] for each in page["items"]])
            path = (page["next"] or "").removeprefix("http://testserver/api/v1")
        assert seen == [["suite-0", "suite-1"], ["suite-2", "suite-3"], ["suite-4"]]
        last = anonymous.get("/suites?size=2&page=3")
        assert (last["total"], last["next"]) == (5, None)
        assert last["previous"] == "http://testserver/api/v1/suites?size=2&page=2"
        assert anonymous.get("/suites?page=9")["items"] == []

    @pytest.mark.parametrize("query", ["page=0", "page=x", "size=0", "size=101", "page=99999999999999999999"])
    def test_wrong_pages_are_refused(self, query: str) -> None:
        problem = Program().problem("GET", f"/suites?{query}")
        assert (problem["status"], [each["field"] for each in problem["errors"]]) == (422, [query.partition("=")[0]])


class TestProblems:
    def test_wrong_methods_and_addresses(self) -> None:
        anonymous = Program()
        for method, path in (("GET", "/"), ("GET", "/nowhere"), ("POST", "/nowhere"), ("GET", "/suites/A B")):
            if path != "/":
                assert anonymous.problem(method, path)["type"] == "/docs/api/#not-found"
        response = anonymous.send("DELETE", "/suites")
        assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")
        assert response.json()["type"] == "/docs/api/#wrong-method"

    @pytest.mark.parametrize(
        "body", [b"", b"{", b"[1]", b"\xff", b'{"reason": NaN}', b'{"reason": "\\ud800"}', b'"x"', b"null", b"9" * 5000]
    )
    def test_malformed_bodies_are_refused(self, alice: User, body: bytes) -> None:
        submission = SubmissionFactory(owner=alice, visibility="published")
        response = Program(alice).client.generic(
            "POST",
            f"/api/v1/submissions/{submission.pk}/withdraw",
            body,
            "application/json",
            headers=Program(alice).headers,
        )
        assert response.status_code in {400, 422}
        assert response.headers["Content-Type"] == "application/problem+json"

    def test_a_body_that_is_too_large_is_not_read(self, alice: User) -> None:
        problem = Program(alice).problem("POST", "/uploads/1/submit", {"publish_licence": "x" * 2_000_000})
        assert (problem["status"], problem["type"]) == (413, "/docs/api/#too-large")

    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (RuntimeError("secret of the code"), 500),
            (OperationalError("database or disk is full"), 507),
            (StorageUnavailableError("secret address"), 503),
            (ContentMissingError("secret hash"), 503),
        ],
    )
    def test_internal_errors_reveal_no_details(
        self, monkeypatch: pytest.MonkeyPatch, caplog: Any, error: Exception, status: int
    ) -> None:
        def broken(*_: object) -> None:
            raise error

        monkeypatch.setattr("leaderboard.api.catalogue.newest_versions", broken)
        SuiteFactory()
        problem = Program().problem("GET", "/suites")
        assert problem["status"] == status
        assert "secret" not in json.dumps(problem)

    def test_a_malformed_form_is_reported(self, alice: User) -> None:
        response = Program(alice).client.generic(
            *("POST", "/api/v1/uploads", b"--x\r\nnonsense", "multipart/form-data; boundary=x"),
            headers=Program(alice).headers,
        )
        assert response.status_code == 422
        assert response.json()["errors"][0]["field"] == "file"
        response = Program(alice).client.generic(
            *("POST", "/api/v1/uploads", b"x", "multipart/form-data"), headers=Program(alice).headers
        )
        assert (response.status_code, response.json()["type"]) == (400, "/docs/api/#unreadable")

    def test_foreign_bytes_in_addresses_and_queries(self) -> None:
        SuiteFactory(slug="small")

        @given(st.binary(max_size=40))
        def tried(raw: bytes) -> None:
            from urllib.parse import quote_from_bytes

            text = quote_from_bytes(raw)
            for path in (f"/suites/{text}", f"/suites/small/board?q={text}&category={text}", f"/cases?suite={text}"):
                assert Program().send("GET", path, REMOTE_ADDR=f"192.0.2.{crc32(raw) % 250}").status_code in {
                    *(200, 404, 422, 429),
                }

        tried()


def test_uploads_are_refused_before_they_are_read(alice: User) -> None:
    """The token is checked before the body is read: an anonymous upload never reaches the disk."""

    class Unread(SimpleUploadedFile):
        pass

    response = Client().post("/api/v1/uploads", {"file": Unread("a.zip", b"x")})
    assert response.status_code == 401
    assert not hasattr(response.wsgi_request, "_files")
