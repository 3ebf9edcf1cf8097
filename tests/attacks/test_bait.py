"""Whose connections to the bait prove something."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from evaluator.attacks.bait import Bait, _is_of_this_machine

if TYPE_CHECKING:
    from pathlib import Path


def port_of(bait: Bait) -> int:
    found = re.search(r"HOST_PORT = (\d+)", bait.constants())
    assert found
    return int(found[1])


def test_a_connection_from_this_machine_is_told_once(tmp_path: Path) -> None:
    with Bait(tmp_path) as bait:
        assert bait.taken() == []
        for _ in range(3):
            socket.create_connection(("127.0.0.1", port_of(bait))).close()
        assert bait.taken() == ["somebody connected to the host's port"]
        assert bait.taken() == []


@pytest.mark.parametrize(
    ("mine", "peer", "told"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("172.17.0.1", "172.17.0.2", True),
        ("8.8.4.4", "8.8.4.4", True),
        ("8.8.4.4", "9.9.9.9", False),
    ],
)
def test_strangers_on_the_network_prove_nothing(mine: str, peer: str, told: bool) -> None:
    assert _is_of_this_machine((mine, 1), (peer, 2)) is told
