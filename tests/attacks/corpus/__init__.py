"""Every known attack, and those that stand for the others in ``make test``; ``make attacks`` fires all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evaluator.auditing.canary_round import STUB
from tests.attacks.corpus.between import BETWEEN
from tests.attacks.corpus.escape import ESCAPE
from tests.attacks.corpus.kinds import AnswerAttack, Group, Way, ends
from tests.attacks.corpus.library import honest
from tests.attacks.corpus.patches import PATCH
from tests.attacks.corpus.resources import RESOURCES
from tests.attacks.corpus.tampering import TAMPERING
from tests.attacks.corpus.uploads import UPLOAD

if TYPE_CHECKING:
    from tests.attacks.corpus.kinds import Attack

_EVERYWHERE = (Way.SEALED, Way.REMOTE, Way.IN_PROCESS)
CONTROLS: Final[tuple[Attack, ...]] = (
    # Right, with all that the attacks carry: were it failed, their failing would say nothing.
    AnswerAttack("right answer", Group.CONTROL, dict.fromkeys(_EVERYWHERE, ends("passed")), source=honest("")),
    AnswerAttack("stub", Group.CONTROL, dict.fromkeys(_EVERYWHERE, ends("raised")), source=STUB),
)
IN_BOXES: Final[tuple[Attack, ...]] = (*RESOURCES, *ESCAPE, *BETWEEN, *TAMPERING)
SENT_IN: Final[tuple[Attack, ...]] = (*PATCH, *UPLOAD)
REPRESENTATIVE: Final = frozenset(
    """
    fork bomb|ignored signals|memory bomb|memory bomb in children|full /tmp|large file|stdout flood|frame flood|daemon|
    network|host's port|host's sockets|write elsewhere|become root|mounts|kernel calls|host's secrets|page cache|
    os._exit|patched unittest|AlwaysEqual|golden search|forged log|kill parent|forged frame|huge frame|public answers|
    test file|numpy.py|..|symbolic link|lying header|octal name|binary|
    zip slip|tar link|zip bomb|tar bomb|PAX header of 1 GB|deep JSON|lone surrogate|many nodes
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)
