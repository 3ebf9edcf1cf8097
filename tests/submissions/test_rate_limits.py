"""Counting against a limit, and the network of a client's address."""

from __future__ import annotations

import pytest
import time_machine
from django.core.exceptions import PermissionDenied
from django.test import RequestFactory

from submissions.domain.rate_limits import HOUR, MINUTE, client_network, count

pytestmark = pytest.mark.django_db


def test_at_most_one_use_above_the_limit_is_counted() -> None:
    with time_machine.travel(1_800_000_015, tick=False):
        assert [count("kind:1", limit=2, period=MINUTE) for _ in range(4)] == [(1, 45), (2, 45), (3, 45), (3, 45)]
        assert count("kind:2", limit=2, period=MINUTE) == (1, 45)
        assert count("kind:3", limit=2, period=HOUR) == (1, 3585)
        assert count("kind:4", limit=0, period=MINUTE) == (1, 45)
    with time_machine.travel(1_800_000_060, tick=False):
        assert count("kind:1", limit=2, period=MINUTE) == (1, 60)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
    ],
)
def test_a_household_has_one_network(address: str, network: str) -> None:
    assert client_network(RequestFactory().get("/", REMOTE_ADDR=address)) == network


def test_a_unix_socket_has_no_address() -> None:
    with pytest.raises(PermissionDenied):
        client_network(RequestFactory().get("/", REMOTE_ADDR=""))
