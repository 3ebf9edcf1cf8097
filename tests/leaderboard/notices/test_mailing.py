"""Notices by e-mail: recipients, content, failing mail servers, and unsubscribing."""

from __future__ import annotations

import socket
import socketserver
import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.utils import timezone

from benchmark_tasks.models import Suite
from evaluator.queue import pushing
from leaderboard.models import MailChoice, Notice
from leaderboard.notices import mailing, making
from submissions.models import Submission
from tests.leaderboard.factories import measured
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from submissions.models import User

pytestmark = pytest.mark.django_db
SITE = "https://board.example.org"


@pytest.fixture(autouse=True)
def offered(settings: Any, redis_url: str) -> None:
    """The instance has a mail server and a site address, so e-mails are offered."""
    settings.EMAIL_CONFIGURED = True
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, site_address=SITE)


@pytest.fixture
def alice(alice: User) -> User:
    """Has a verified address, and gets e-mails about scored submissions."""
    EmailAddress.objects.create(user=alice, email=alice.email, verified=True, primary=True)
    MailChoice.objects.create(user=alice, kind="scored")
    return alice


def scored(owner: User, name: str = "Solver") -> Notice:
    """The notice of a scored submission of ``owner``."""
    submission = measured(system=SystemFactory(name=name, owner=owner), owner=owner).submission
    assert submission is not None
    making.note_scored(submission)
    return Notice.objects.get(submission=submission)


def due(notice: Notice) -> float | None:
    """Minutes until the e-mail's next attempt; None if none is due."""
    notice.refresh_from_db()
    return None if notice.mail_due is None else round((notice.mail_due - timezone.now()).total_seconds() / 60)


def make_due(notice: Notice) -> None:
    Notice.objects.filter(pk=notice.pk).update(mail_due=timezone.now() - timedelta(seconds=1))


def test_an_e_mail_has_subject_text_and_links_without_results(alice: User) -> None:
    notice = scored(alice, "Solver\r\nBcc: eve@mail.example")
    Suite.objects.update(slug="small")
    assert (mailing.send_due(), mailing.send_due()) == (1, 0)
    (message,) = mail.outbox
    assert (message.to, message.cc, message.bcc) == (["alice@mail.example"], [], [])
    assert message.subject.startswith("[LMR-Board] Solver Bcc: eve@mail.example on ")
    assert message.subject.endswith(" was scored")
    off = message.extra_headers["List-Unsubscribe"].strip("<>")
    assert message.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message.extra_headers["Message-ID"] == f"<notice-{notice.pk}@board.example.org>"
    assert message.extra_headers["Auto-Submitted"] == "auto-generated"
    text = str(message.body)
    assert [f"{SITE}/notices/{notice.pk}/" in text, off in text, f"{SITE}/accounts/notices/" in text] == [True] * 3
    line = "Solver Bcc: eve@mail.example on small v1 was scored: every answer has its outcome."
    assert text.partition("\n")[0] == line, "no mark, label or code"
    assert Notice.objects.get(mail_due=None, mailed__isnull=False) == notice


@pytest.mark.parametrize("missing", ["choice", "server", "address of the site"])
def test_no_e_mail_without_choice_server_or_site_address(alice: User, settings: Any, missing: str) -> None:
    if missing == "choice":
        MailChoice.objects.update(kind="held")
    elif missing == "server":
        settings.EMAIL_CONFIGURED = False
    else:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, site_address="")
    assert due(scored(alice)) is None
    assert (mailing.send_due(), mail.outbox) == (0, [])


@pytest.mark.parametrize("change", ["read", "owner", "inactive", "unverified", "chosen away"])
def test_a_due_e_mail_is_dropped_once_it_is_unwanted_or_not_allowed(alice: User, change: str) -> None:
    notice = scored(alice)
    if change == "read":
        Notice.objects.update(read=timezone.now())
    elif change == "owner":
        Submission.objects.update(owner=UserFactory())
    elif change == "inactive":
        type(alice).objects.filter(pk=alice.pk).update(is_active=False)
    elif change == "unverified":
        EmailAddress.objects.update(verified=False)
    else:
        mailing.choose(user=alice, kinds=["held"])
    assert (mailing.send_due(), mail.outbox, due(notice)) == (0, [], None)


def test_a_long_name_is_cut_and_the_message_id_has_no_port(alice: User, settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, site_address=f"{SITE}:8443")
    notice = scored(alice, "S" * 190)
    mailing.send_due()
    (message,) = mail.outbox
    assert message.subject == f"[LMR-Board] {'S' * 138}"
    assert message.extra_headers["Message-ID"] == f"<notice-{notice.pk}@board.example.org>"


def test_only_the_primary_address_gets_e_mails(alice: User) -> None:
    EmailAddress.objects.create(user=alice, email="old@mail.example", verified=True, primary=False)
    assert mailing.address_of(alice) == "alice@mail.example"
    EmailAddress.objects.filter(primary=True).update(verified=False)
    assert mailing.address_of(alice) == ""


def test_the_delay_between_attempts_grows_to_six_hours(alice: User) -> None:
    notice = scored(alice)
    delays = {}
    for tries in (1, 5, 8, 9, 40):
        notice.mail_tries = tries
        delays[tries] = round((mailing._next_try(notice) - timezone.now()).total_seconds() / 60)
    assert delays == {1: 2, 5: 32, 8: 256, 9: 360, 40: 360}


def queued() -> list[str]:
    """Take the waiting jobs off the queue."""
    with pushing.opened(pushing.SITE) as queue:
        found = list(queue.job_ids)
        queue.connection.flushall()
    return found


def test_a_job_is_queued_at_once_and_by_the_sweep(
    alice: User, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    making.catch_up()
    assert queued() == []
    with django_capture_on_commit_callbacks(execute=True):
        scored(alice)
    assert queued() == ["mail-notices"]
    making.catch_up()
    assert queued() == ["mail-notices"]
    settings.EMAIL_CONFIGURED = False
    making.catch_up()
    assert queued() == []


def test_choosing_drops_only_one_s_own_e_mails_of_other_kinds(alice: User) -> None:
    hers = scored(alice)
    mailing.choose(user=alice, kinds=["scored", "held"])
    assert due(hers) == 0
    other = UserFactory()
    mailing.choose(user=other, kinds=["scored"])
    others = scored(other, "Other")
    mailing.choose(user=alice, kinds=["held"])
    assert (due(hers), due(others)) == (None, 0)
    assert (mailing.chosen(alice), mailing.chosen(other)) == (["held"], ["scored"])


class _Mailbox(socketserver.StreamRequestHandler):
    """Accepts e-mails; refuses those to addresses that begin with "no"."""

    def handle(self) -> None:
        self.answer("220 here")
        while line := self.rfile.readline().decode().strip():
            verb = line.upper()
            if verb == "DATA":
                self.answer("354 go on")
                while self.rfile.readline().strip() != b".":
                    pass
                self.server.taken += 1  # type: ignore[attr-defined]
            self.answer("550 nobody" if verb.startswith("RCPT TO:<NO") else "221 bye" if verb == "QUIT" else "250 fine")

    def answer(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@pytest.fixture
def server(settings: Any) -> Iterator[Any]:
    """A mail server on this machine."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mailbox) as running:
        running.taken = 0  # type: ignore[attr-defined]
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.server_address[1]
        yield running
        running.shutdown()


def test_an_unreachable_server_loses_no_e_mail_and_is_tried_once(alice: User, server: Any, settings: Any) -> None:
    first, second = scored(alice, "One"), scored(alice, "Two")
    working = settings.EMAIL_PORT
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        settings.EMAIL_PORT = closed.getsockname()[1]
        assert mailing.send_due() == 0
        assert (due(first), first.mail_tries, due(second), second.mail_tries) == (1, 1, 0, 0)
        for minutes in (2, 4):
            make_due(first)
            Notice.objects.filter(pk=second.pk).update(mail_due=timezone.now() + timedelta(minutes=1))
            mailing.send_due()
            assert due(first) == minutes
    settings.EMAIL_PORT = working
    make_due(first)
    make_due(second)
    assert (mailing.send_due(), server.taken) == (2, 2)


def test_a_refused_address_is_abandoned_and_delays_no_other(alice: User, server: Any) -> None:
    stranger = UserFactory(username="nobody")
    EmailAddress.objects.create(user=stranger, email="nobody@mail.example", verified=True, primary=True)
    MailChoice.objects.create(user=stranger, kind="scored")
    refused, taken = scored(stranger), scored(alice)
    assert (mailing.send_due(), server.taken, due(refused), due(taken)) == (1, 1, None, None)
    refused.refresh_from_db()
    assert refused.mailed is None


def test_an_e_mail_is_claimed_once(alice: User) -> None:
    notice = scored(alice)
    assert [mailing._claim(notice), mailing._claim(notice), due(notice)] == [True, False, 10]


class TestTurningOff:
    def test_the_link_works_without_signing_in(self, alice: User) -> None:
        MailChoice.objects.create(user=alice, kind="held")
        address = f"/notices/off/{mailing.off_token(scored(alice))}/"
        client = Client(enforce_csrf_checks=True)
        page = client.get(address).content.decode()
        assert "Stop these e-mails" in page
        assert alice.username not in page
        assert MailChoice.objects.count() == 2, "programs follow links as well"
        done = client.post(address, {"List-Unsubscribe": "One-Click"})
        assert (done.status_code, list(MailChoice.objects.values_list("kind", flat=True))) == (200, ["held"])
        assert client.post(address).status_code == 200

    def test_the_link_of_a_removed_user_is_not_found(self) -> None:
        token = mailing.off_token(Notice(recipient_id=0, kind="scored"))
        assert Client().post(f"/notices/off/{token}/").status_code == 404

    def test_a_changed_link_is_not_found(self, alice: User) -> None:
        token = mailing.off_token(scored(alice))
        for wrong in ("x", token[:-1], token.swapcase()):
            assert Client().post(f"/notices/off/{wrong}/").status_code == 404
        assert MailChoice.objects.count() == 1
