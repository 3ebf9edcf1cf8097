"""The published difference of a re-evaluation, as plain typed values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.models import Reevaluation


@dataclass(frozen=True, slots=True)
class ChangedOutcome:
    """One answer whose outcome is another one now; outcomes in words."""

    task: str
    trial: int
    before: str
    after: str
    why: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What an applied re-evaluation changed: of ``measured`` answers those in ``changed``, and the row's numbers."""

    measured: int
    changed: tuple[ChangedOutcome, ...]
    before: str
    after: str
    reasons: tuple[str, ...]
    trials: bool

    @classmethod
    def of(cls, reevaluation: Reevaluation) -> Difference:
        """Read what was stored when it was applied."""
        tasks: list[dict[str, Any]] = reevaluation.difference.get("tasks", [])
        row: dict[str, Any] = reevaluation.difference.get("row", {})
        whys = dict.fromkeys(why for task in tasks for why in task["why"].split("; ") if why)
        return cls(
            measured=len(tasks),
            changed=tuple(
                ChangedOutcome(
                    task["task"], task["trial"], in_words(task["before"]), in_words(task["after"]), task["why"]
                )
                for task in tasks
                if task["before"] != task["after"]
            ),
            before=_passed(row.get("before")),
            after=_passed(row.get("after")),
            reasons=tuple(whys),
            trials=any(task["trial"] > 1 for task in tasks),
        )

    @property
    def text(self) -> str:
        """One line: ``new grading content; 1 outcome changed (dpo/1 passed → wrong output), 7/9 → 6/9``."""
        number = len(self.changed)
        listed = ", ".join(
            f"{each.task}{f' trial {each.trial}' if self.trials else ''} {each.before} → {each.after}"
            for each in self.changed
        )
        counted = f"{number} outcome{'s' if number != 1 else ''} changed"
        what = f"{counted} ({listed})" if number else "no outcome changed"
        row = f"{self.before} → {self.after}" if self.before != self.after else self.after
        return "; ".join([*self.reasons, f"{what}, {row}"])


def in_words(outcome: str) -> str:
    """An outcome as people read it."""
    return outcome.replace("_", " ") or "not measured"


def _passed(row: dict[str, Any] | None) -> str:
    return f"{row['passed']:g}/{row['tasks']}" if row else "?"
