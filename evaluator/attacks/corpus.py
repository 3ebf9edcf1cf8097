"""Every attack there is, and how to pick some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evaluator.attacks.between import BETWEEN
from evaluator.attacks.escape import ESCAPE
from evaluator.attacks.library import honest
from evaluator.attacks.patches import PATCH
from evaluator.attacks.resources import RESOURCES
from evaluator.attacks.tampering import KNOWN_GAPS, TAMPERING
from evaluator.attacks.task import STUB
from evaluator.attacks.types import AnswerAttack, Attack, Group, Way, ends
from evaluator.attacks.uploads import UPLOAD

if TYPE_CHECKING:
    from collections.abc import Sequence

ATTACKS: Final[tuple[Attack, ...]] = (*RESOURCES, *ESCAPE, *BETWEEN, *TAMPERING, *PATCH, *UPLOAD)

__all__ = ["ATTACKS", "CONTROLS", "KNOWN_GAPS", "choose"]

CONTROLS: Final[tuple[Attack, ...]] = (
    AnswerAttack(
        "right answer",
        Group.CONTROL,
        "Is right, and carries all that the attacks carry: were it failed, their failing would say nothing.",
        dict.fromkeys((Way.SEALED, Way.REMOTE, Way.IN_PROCESS), ends("passed")),
        source=honest(""),
    ),
    AnswerAttack(
        "stub",
        Group.CONTROL,
        "Is the masked function as it is.",
        dict.fromkeys((Way.SEALED, Way.REMOTE, Way.IN_PROCESS), ends("raised")),
        source=STUB,
    ),
)


def choose(*, group: Group | None = None, names: Sequence[str] = ()) -> list[Attack]:
    """The attacks of ``group``, and of those only the ones named. Raises :class:`KeyError` with what is unknown."""
    unknown = set(names) - {attack.name for attack in ATTACKS}
    if unknown:
        raise KeyError(", ".join(sorted(unknown)))
    return [attack for attack in ATTACKS if group in (None, attack.group) and (not names or attack.name in names)]
