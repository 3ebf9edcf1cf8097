"""What the simulated users are to do, and what they report: plain data between processes.

The users' process patches its sockets and threads for gevent, so it has neither Django nor the database.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

PASSWORD: Final = "calm-heron-5127"
PREFIXES: Final = ("reader-", "sender-", "rater-", "program-")
"""How the names of accounts begin: those that browse, upload, label, and use the API."""

ARRIVING_A_SECOND: Final = 1
"""How many users begin in a second."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Names of accounts with :data:`PASSWORD`, and secrets of API tokens."""

    browsing: list[str] = field(default_factory=list)
    uploading: list[str] = field(default_factory=list)
    labelling: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """Whom to simulate on the site at ``address``, for how many ``seconds`` after all have arrived.

    ``visitors`` browse without an account. ``bundle`` is the file of a bundle for ``suite``, which each upload varies.
    ``once``: each user does each of its tasks once, without pauses.
    """

    address: str
    seconds: float
    visitors: int
    accounts: Accounts
    suite: str
    bundle: str
    once: bool = False

    @property
    def arriving_seconds(self) -> float:
        """How long it takes until all users have arrived."""
        named = self.accounts
        users = (self.visitors, *map(len, (named.browsing, named.uploading, named.labelling, named.tokens)))
        return sum(users) / ARRIVING_A_SECOND

    def write(self, file: Path) -> None:
        """Write the plan for :func:`Plan.read`."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Plan:
        """Read a written plan."""
        given = json.loads(file.read_text(encoding="utf-8"))
        return cls(**{**given, "accounts": Accounts(**given["accounts"])})


@dataclass(slots=True)
class Report:
    """What the users did in ``seconds``, and before, while they arrived.

    ``requests`` has kind, seconds and error (empty if none) of each request, ``arriving`` those before all users had
    arrived, ``errors`` what else went wrong.
    ``uploads`` are the numbers of the files that the site received, ``submissions`` those of what it accepted,
    ``labels`` the assignments whose label it locked.
    """

    seconds: float = 0.0
    requests: list[tuple[str, float, str]] = field(default_factory=list)
    arriving: list[tuple[str, float, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    uploads: list[int] = field(default_factory=list)
    submissions: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)

    def write(self, file: Path) -> None:
        """Write the report for :func:`Report.read`."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Report:
        """Read a written report."""
        given = json.loads(file.read_text(encoding="utf-8"))
        requests = {name: [tuple(each) for each in given[name]] for name in ("requests", "arriving")}
        return cls(**{**given, **requests})


@dataclass(frozen=True, slots=True)
class Stored:
    """What the database holds of the users' work. Numbers of submissions are texts, as JSON's names are.

    ``outcomes`` are those of each submission's answers by task, ``accepted`` the accepted results of each test run that
    has any. ``scored_after`` is the seconds from the end of the load until the last submission was scored.
    """

    uploads: list[int]
    states: dict[str, str]
    outcomes: dict[str, dict[str, str]]
    accepted: list[int]
    labels: list[int]
    scored_after: float
