"""Every address of the site: access for each role, and the same security headers on every page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.test import Client, TestCase
from rq import Worker
from rq.serializers import JSONSerializer

from evaluator.queue.pushing import opened
from submissions.models import Submission, User
from submissions.views.acting import SIGNED_OUT
from tests.security.addresses import ALLAUTH, ELSEWHERE_TESTED, PUBLISHED, named, path_of
from tests.security.conftest import SENTINEL

if TYPE_CHECKING:
    from tests.security.addresses import Act, Address

pytestmark = pytest.mark.django_db

POLICY = {
    *(
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
    ),
    *("connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"),
}
EMBEDDED = POLICY - {"frame-ancestors 'none'"} | {"frame-ancestors *"}
"""The policy of pages that other sites may show in a frame: only figures without anything to press."""
TABLES = [
    model._meta.db_table
    for model in apps.get_models(include_auto_created=True)
    if model._meta.managed and model is not Session
]


class Inline(HTMLParser):
    """Collects inline scripts, styles and handlers of a page, and links to other sites' files."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in given):
            self.found.append(f"<{tag}>")
        self.found += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name == "style" or name.startswith("on") or re.match(r"\s*(javascript|data|vbscript):", value or "")
        ]
        self.found += [
            f"{tag} {given[name]}" for name in ("src", "action") if re.match(r"(https?:)?//", given.get(name) or "")
        ]


def body(response: Any) -> str:
    """A response's text, streamed or not, with its file closed."""
    content: bytes = b"".join(response.streaming_content) if response.streaming else response.content
    # Not response.close(), which ends the request and with it the test's own database connection.
    file = getattr(response, "file_to_stream", None)
    if file is not None:
        file.close()
    return content.decode("utf-8", "replace")


def browser(person: User | None) -> Client:
    """A browser in which ``person`` is signed in."""
    client = Client()
    if person is not None:
        client.force_login(person)
    return client


def test_every_address_is_entered(addresses: dict[str, Address], actions: dict[str, Act]) -> None:
    known = {*addresses, *actions, *" ".join(ELSEWHERE_TESTED.values()).split()}
    names = {name for name in named() if not name.startswith(ALLAUTH)}
    assert names == known, "enter new addresses in tests/security/addresses.py, and take out those that are gone"


@pytest.mark.parametrize("visibility", ["private", "hidden", "withdrawn"])
def test_private_pages_are_shown_to_permitted_roles_only(
    addresses: dict[str, Address], alice: User, bob: User, maintainer: User, visibility: str
) -> None:
    Submission.objects.update(visibility=visibility)
    people = {"anonymous": None, "stranger": bob, "owner": alice, "maintainer": maintainer}
    leaks, wrong, seen = [], [], set()
    for name, address in addresses.items():
        path = path_of(name, address)
        for role, person in people.items():
            response = browser(person).get(path)
            text = body(response)
            if response.status_code != getattr(address, role):
                wrong.append((path, role, response.status_code))
            if SENTINEL in text:
                seen.add(role)
                leaks += [(path, role)] if role in {"anonymous", "stranger"} else []
    assert (wrong, leaks, seen) == ([], [], {"owner", "maintainer"})


@pytest.mark.both_databases
def test_a_published_submission_is_shown_to_everyone(
    addresses: dict[str, Address], secret_submission: Submission
) -> None:
    """Proves that the test above looks for data that would be shown."""
    Submission.objects.filter(pk=secret_submission.pk).update(visibility="published", code_licence="MIT")
    texts = {name: body(Client().get(path_of(name, address))) for name, address in addresses.items()}
    assert {name for name, text in texts.items() if SENTINEL in text} == PUBLISHED


def everything() -> list[object]:
    """Every row of the database, except sessions."""
    found: list[object] = []
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - the tables are ours
            found.append(sorted(cursor.fetchall(), key=repr))
    return found


def test_actions_are_limited_to_permitted_roles(
    actions: dict[str, Act], alice: User, bob: User, maintainer: User
) -> None:
    """Also with a GET, or without the form's token. From a permitted role the same form has an effect."""
    people = {"anonymous": None, "stranger": bob, "owner": alice, "maintainer": maintainer}
    wrong = []
    for name, action in actions.items():
        path = path_of(name, action)
        for role, person in people.items():
            with transaction.atomic():
                if action.facts:
                    action.facts()
                client, strict = browser(person), Client(enforce_csrf_checks=True)
                if person:
                    User.objects.filter(pk=person.pk).update(last_login=None)
                    strict.force_login(person)
                before = everything()
                refused = [client.get(path).status_code, strict.post(path, action.typed).status_code]
                unchanged = everything() == before
                sent = client.post(path, action.typed)
                changed = everything() != before
                transaction.set_rollback(True)
            may = role in action.may
            expected = 302 if may or not person else 404
            if (refused, unchanged, sent.status_code, changed) != ([302, 403], True, expected, may):
                wrong.append((name, role, refused, unchanged, sent.status_code, changed))
            if not person:
                assert SIGNED_OUT in client.get(sent.headers["Location"]).content.decode()
    assert wrong == []


def test_reading_queues_nothing(
    addresses: dict[str, Address], alice: User, bob: User, maintainer: User, redis_url: str
) -> None:
    """Visitors must not delay submitters' work. A worker is registered, and callbacks on commit run."""
    queued = []
    with opened() as queue:
        worker = Worker([queue], connection=queue.connection, serializer=JSONSerializer)
        worker.register_birth()  # type: ignore[no-untyped-call]
        for name, address in addresses.items():
            for person in (None, bob, alice, maintainer):
                with TestCase.captureOnCommitCallbacks(execute=True):
                    body(browser(person).get(path_of(name, address)))
                queued += [name] if queue.connection.keys("rq:job:*") else []
    assert queued == []


@pytest.mark.both_databases
def test_every_page_carries_the_policy_and_nothing_inline(
    addresses: dict[str, Address], alice: User, maintainer: User
) -> None:
    paths = [path_of(name, address) for name, address in addresses.items()]
    accounts = ["login", "signup", "logout", "email", "password/change", "password/reset", "password/reset/done"]
    paths += [f"/accounts/{page}/" for page in accounts] + ["/nowhere/", "/submissions/99/"]
    pages = 0
    for person in (None, alice, maintainer):
        for path in paths:
            response = browser(person).get(path)
            headers, text = response.headers, body(response)
            embedded = path.endswith("/embed/")
            policy = EMBEDDED if embedded else POLICY
            assert set(headers["Content-Security-Policy"].split("; ")) == policy, path
            assert headers["X-Content-Type-Options"] == "nosniff", path
            assert headers.get("X-Frame-Options") == (None if embedded else "DENY"), path
            assert headers["Referrer-Policy"] == "same-origin", path
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin", path
            if headers.get("Content-Type", "").startswith("text/html") and text:
                pages += 1
                assert Inline(text).found == [], path
    assert pages > 60


def test_private_pages_are_not_stored_by_shared_caches(secret_submission: Submission, alice: User) -> None:
    for path in ("/my/", f"/submissions/{secret_submission.pk}/", f"/submissions/{secret_submission.pk}/bundle/"):
        response = browser(alice).get(path)
        body(response)
        control = response.headers.get("Cache-Control", "")
        assert "public" not in control, path
        assert "private" in control or "no-store" in control or "Cookie" in response.headers.get("Vary", ""), path
