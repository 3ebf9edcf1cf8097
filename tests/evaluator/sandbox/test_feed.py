"""What one thread puts in, another takes out."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.sandbox.feed import CHUNK, Feed, Outbox


def is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_was_sent_is_taken_once_and_in_order() -> None:
    feed = Feed()
    feed.send(b"a")
    feed.send(b"")
    feed.send(b"bc")
    assert feed.take() == (b"abc", False)
    assert feed.take() == (b"", False)
    feed.close()


def test_the_descriptor_says_when_something_waits() -> None:
    feed = Feed()
    watched = feed.watch()
    assert not is_readable(watched)
    feed.send(b"a")
    assert is_readable(watched)
    feed.take()
    assert not is_readable(watched)
    feed.end()
    assert is_readable(watched)
    assert feed.take() == (b"", True)
    os.close(watched)
    feed.close()


def test_nothing_is_added_after_the_end() -> None:
    feed = Feed()
    feed.send(b"last")
    feed.end()
    feed.end()
    feed.send(b"too late")
    assert feed.take() == (b"last", True)
    feed.close()


def test_a_closed_feed_still_gives_what_it_has_and_wakes_who_waits() -> None:
    before = descriptors()
    feed = Feed()
    watched = feed.watch()
    feed.send(b"last")
    feed.take()
    feed.close()
    feed.close()
    feed.send(b"too late")
    feed.end()
    assert is_readable(watched)
    assert feed.take() == (b"", True)
    os.close(watched)
    late = feed.watch()
    assert is_readable(late)
    os.close(late)
    assert descriptors() == before


def test_many_threads_send_and_nothing_is_lost() -> None:
    feed = Feed()

    def speak() -> None:
        for _ in range(500):
            feed.send(b"x")

    threads = [threading.Thread(target=speak) for _ in range(8)]
    for thread in threads:
        thread.start()
    taken = 0
    while any(thread.is_alive() for thread in threads):
        taken += len(feed.take()[0])
    assert taken + len(feed.take()[0]) == 4000
    feed.close()


def test_without_a_feed_an_outbox_holds_the_input_and_no_more() -> None:
    outbox = Outbox(b"x" * (CHUNK + 1), None)
    assert (outbox.sending, outbox.listening, outbox.wake) == (True, False, None)
    assert len(outbox.piece()) == CHUNK
    outbox.sent(CHUNK)
    assert bytes(outbox.piece()) == b"x"
    outbox.sent(1)
    assert (outbox.sending, outbox.listening) == (False, False)
    outbox.close()


def test_an_outbox_listens_when_all_was_sent() -> None:
    feed = Feed()
    outbox = Outbox(b"in", feed)
    feed.send(b"put")
    assert bytes(outbox.piece()) == b"in"
    outbox.sent(1)
    assert (bytes(outbox.piece()), outbox.listening) == (b"n", False)
    outbox.sent(1)
    assert bytes(outbox.piece()) == b"put"
    outbox.sent(3)
    assert (outbox.sending, outbox.listening) == (False, True)
    feed.end()
    outbox.refill()
    assert (outbox.sending, outbox.listening) == (False, False)
    outbox.close()
    feed.close()


@pytest.mark.parametrize("how", [Outbox.abandon, Outbox.close])
def test_an_abandoned_feed_keeps_nothing(how: Callable[[Outbox], None]) -> None:
    feed = Feed()
    outbox = Outbox(b"unread", feed)
    feed.send(b"unread too")
    how(outbox)
    assert (outbox.sending, outbox.listening) == (False, False)
    feed.send(b"more")
    assert feed.take() == (b"", True)
    outbox.close()
    feed.close()
