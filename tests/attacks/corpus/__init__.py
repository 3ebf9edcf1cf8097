"""All known attacks. ``make test`` fires the representative ones, ``make attacks`` all."""

from __future__ import annotations

from typing import Final

from evaluator.auditing.canary_round import STUB
from tests.attacks.corpus.attack import Attack, Group, Way
from tests.attacks.corpus.escape import ESCAPE
from tests.attacks.corpus.library import honest
from tests.attacks.corpus.resources import RESOURCES
from tests.attacks.corpus.tampering import TAMPERING

CONTROLS: Final[tuple[Attack, ...]] = (
    # A right answer with the code that all attacks share: if it failed, the failures of attacks would prove nothing.
    Attack("right answer", Group.CONTROL, honest(""), dict.fromkeys(Way, frozenset({"passed"}))),
    Attack("stub", Group.CONTROL, STUB, dict.fromkeys(Way, frozenset({"raised"}))),
)
ATTACKS: Final[tuple[Attack, ...]] = (*RESOURCES, *ESCAPE, *TAMPERING)
REPRESENTATIVE: Final = frozenset({
    "fork bomb", "ignored signals", "memory bomb", "memory bomb in children", "full /tmp", "large file", "frame flood",
    "daemon", "network", "host's port", "host's sockets", "write elsewhere", "become root", "mounts", "kernel calls",
    "host's secrets", "memory of sockets", "socket filters", "os._exit", "patched unittest", "AlwaysEqual",
    "golden search", "forged log", "kill parent", "forged frame", "huge frame", "public answers",
})  # fmt: skip
