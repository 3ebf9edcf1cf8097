"""Hostile browsers: other users' data, forged requests, stored markup, odd addresses, downloads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evaluator.models import TestRun
from submissions.models import Submission, Upload
from tests.evaluator.factories import TestRunFactory
from tests.submissions.conftest import data_dir, small
from tests.submissions.factories import (
    PASSWORD,
    ImplementationFactory,
    SubmissionFactory,
    SystemFactory,
    UploadFactory,
    UserFactory,
    bundle,
)

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

__all__ = ["data_dir", "small"]

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script>"
NUL, RIGHT_TO_LEFT = "\0", "\u202e"


@pytest.fixture
def private(small: SuiteVersion, alice: User) -> Submission:
    """Alice's private submission: scored, with markup in every field, a bundle, and a decided run."""
    system = SystemFactory(
        owner=alice, slug="alpha", name=SCRIPT, backbone=SCRIPT, organisation=SCRIPT, scaffold=SCRIPT
    )
    submission = SubmissionFactory(owner=alice, system=system, suite_version=small, notes=SCRIPT)
    submission.bundle.save("x.bundle", ContentFile(f"{SCRIPT}\n".encode()))
    answer = ImplementationFactory(
        submission=submission,
        revision=small.revisions.get(task__index=1),
        goal_source=f"def double(x):\n    return '{SCRIPT}{RIGHT_TO_LEFT}'\n",
        diff=f"--- a/{SCRIPT}.py\n+++ b/{SCRIPT}.py\n@@ -1 +1 @@\n-{SCRIPT}\n+{SCRIPT}{RIGHT_TO_LEFT}\n",
        files={f"{SCRIPT}.py": f"{SCRIPT}{RIGHT_TO_LEFT}\n"},
    )
    case = {
        "seed": 1,
        "index": 0,
        "public": True,
        "outcome": "raised",
        "difference": "",
        "error": f"{SCRIPT}\n{SCRIPT}",
    }
    TestRunFactory(implementation=answer, done="raised", reason=SCRIPT, log=SCRIPT, cases=[case])
    return submission


def addresses(private: Submission, upload: Upload) -> list[str]:
    """The addresses of Alice's private objects."""
    own = f"/submissions/{private.pk}/"
    return [
        *(own + part for part in ("", "progress/", "bundle/", "answers/alpha/1/1/")),
        *(own + part for part in ("publish/", "withdraw/", "cancel/", "correct/")),
        f"/submit/{upload.pk}/",
        f"/submit/{upload.pk}/discard/",
        "/systems/alpha/",
    ]


def test_another_users_private_objects_do_not_exist(private: Submission, alice: User, bob: User) -> None:
    upload = UploadFactory(owner=alice)
    before = Submission.objects.values().get()
    client = Client()
    client.force_login(bob)
    names = {"name": "n", "backbone": "b", "scaffold": "s"}
    form = {"confirm": "on", "consent": "on", "licence": "MIT", "reason": "r", **names}
    for address in addresses(private, upload):
        assert client.get(address, follow=True).status_code in {404, 405}, address
        assert client.post(address, form).status_code in {404, 405}, address
    for act in ("retry", "hide", "unhide", "quota"):
        assert client.post(f"/maintain/{act}/", {"submission": private.pk, "reason": "r"}).status_code == 404
    assert client.post("/submit/", {"stored": upload.pk, "suite": "small"}).status_code == 200
    assert SCRIPT.encode() not in client.get(f"/submit/?from={upload.pk}").content
    assert (Submission.objects.values().get(), Upload.objects.count()) == (before, 1)


def test_requests_without_a_csrf_token_are_refused(private: Submission, alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    others = ("/submit/", "/maintain/hide/", "/accounts/logout/")
    for address in (*addresses(private, UploadFactory(owner=alice)), *others):
        assert client.post(address, {"confirm": "on"}).status_code == 403, address


def test_markup_is_shown_and_never_run(private: Submission, alice: User) -> None:
    Submission.objects.update(visibility="published", code_licence="MIT")
    client = Client()
    client.force_login(alice)
    own = f"/submissions/{private.pk}/"
    for address in (own, f"{own}progress/", f"{own}answers/alpha/1/1/", "/systems/alpha/", "/my/"):
        response = client.get(address)
        page = response.content.decode()
        assert response.status_code == 200, address
        assert "alert(1)" in page, address
        assert SCRIPT not in page, address
        assert RIGHT_TO_LEFT not in page, address


@pytest.mark.parametrize(
    "address",
    [
        "/?q=%00&sort=%00&page=%00&show=%00&inputs=%00&category=%00",
        "/?version=99999999999999999999",
        "/board/small/?sort=-nothing&page=-1&version=1&version=2",
        "/suites/small/?version=%F0%9D%9F%99",
        "/suites/small/tasks/alpha/99999999999999999999/",
        "/submissions/9223372036854775807/progress/?seen=%00",
        "/my/?q=%00&suite=%00&state=%00&visibility=%00&sort=%00&page=99999999999999999999",
        "/submit/?from=%00",
        "/submit/?from=9223372036854775807",
        "/reported/x%0d%0aSet-Cookie:%20a=b/",
        "/docs/images/..%2f..%2fmanage.py",
        "/static/..%2f..%2fmanage.py",
        "/%00%ff",
    ],
)
def test_odd_addresses_are_answered_and_carry_the_policy(address: str, small: SuiteVersion, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    response = client.get(address)
    assert response.status_code in {200, 404}
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "a" not in response.cookies


@pytest.mark.parametrize(
    ("address", "kind"),
    [("/submissions/{}/bundle/", "application/octet-stream"), ("/suites/small/kit/", "application/zip")],
)
def test_downloads_are_attachments(address: str, kind: str, private: Submission, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    response: Any = client.get(address.format(private.pk))
    assert b"".join(response.streaming_content)
    assert response.headers["Content-Disposition"].startswith('attachment; filename="s')
    assert (response.headers["Content-Type"], response.headers["X-Content-Type-Options"]) == (kind, "nosniff")


@pytest.mark.parametrize("target", ["//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_login_redirects_only_within_the_site(target: str, db: None) -> None:
    form = {"login": UserFactory().username, "password": PASSWORD, "next": target}
    response = Client().post("/accounts/login/", form)
    assert (response.status_code, response.headers["Location"]) == (302, "/my/")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", f"GPT{RIGHT_TO_LEFT}4"),
        ("backbone", "zero\u200bwidth"),
        ("organisation", NUL),
        ("reason", f"because{RIGHT_TO_LEFT}"),
        ("links", "javascript:alert(1)"),
        ("links", "https://example.org@evil.example/"),
    ],
)
def test_corrections_cannot_disguise_a_system(field: str, value: str, private: Submission, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    form = {"name": "n", "backbone": "b", "scaffold": "none", "organisation": "", "links": "", "reason": "r"}
    response = client.post(f"/submissions/{private.pk}/correct/", {**form, field: value})
    assert response.status_code == 422
    assert field in response.context["correct"].errors
    private.system.refresh_from_db()
    assert private.system.name == SCRIPT


def test_an_upload_with_nul_in_a_field_is_kept_without_it(small: SuiteVersion, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    file = SimpleUploadedFile(f"{SCRIPT}\r\nx: y.zip", bundle())
    response = client.post("/submit/", {"file": file, "notes": f"a{NUL}b"})
    assert response.status_code == 200
    upload = Upload.objects.get()
    assert upload.fields["notes"] == "ab"
    assert SCRIPT not in response.content.decode()


def test_no_page_exposes_private_cases(private: Submission) -> None:
    """Pages show only how many private cases passed, whatever a run's row contains."""
    secret = {
        "seed": 424242,
        "index": 7,
        "public": False,
        "outcome": "raised",
        "difference": "S3CRET",
        "error": "S3CRET",
    }
    TestRun.objects.update(cases=[secret])
    Submission.objects.update(visibility="published", code_licence="MIT")
    own = f"/submissions/{private.pk}/"
    pages: list[Any] = [Client().get(own + part) for part in ("", "progress/", "answers/alpha/1/1/")]
    text = json.dumps([page.content.decode() for page in pages])
    assert [page.status_code for page in pages] == [200, 200, 200]
    assert "S3CRET" not in text
    assert "424242" not in text
