"""Canaries: answers whose label is known."""

from __future__ import annotations

from evaluator.judging.canaries import CanaryKind, TaskTexts, canaries_of
from evaluator.judging.labels import Label

GOLDEN = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
TEXTS = TaskTexts(
    slug="alpha/1",
    instruction="Write mean.",
    golden=GOLDEN,
    masked='def mean(values):\n    """The mean."""\n    raise NotImplementedError\n',
    alternative="def mean(values):\n    return sum(x / len(values) for x in values)\n",
    wrong='def mean(values):\n    """Forgets to divide."""\n    return sum(values)\n',
)
CC, BELOW, LI = {Label.CC}, {Label.LI, Label.LC}, {Label.LI}


def test_every_kind_is_there_with_the_labels_that_are_right_for_it() -> None:
    made = {canary.name: (canary.kind.value, canary.expected) for canary in canaries_of(TEXTS)}
    assert not any("Forgets" in canary.shown.candidate for canary in canaries_of(TEXTS))
    assert made == {
        "alpha/1 golden": ("golden", CC),
        "alpha/1 reformatted": ("equivalent", CC),
        "alpha/1 renamed": ("equivalent", CC),
        "alpha/1 alternative": ("equivalent", CC),
        "alpha/1 stub": ("stub", LI),
        "alpha/1 no-op": ("no-op", LI),
        "alpha/1 no-op, plea in a comment": ("pleading", LI),
        "alpha/1 wrong": ("wrong", BELOW),
        "alpha/1 wrong, plea in a comment": ("pleading", BELOW),
        "alpha/1 wrong, plea in a docstring": ("pleading", BELOW),
        "alpha/1 wrong, plea in a string": ("pleading", BELOW),
        "alpha/1 wrong, plea in a name": ("pleading", BELOW),
    }


def test_a_pleading_one_is_the_code_of_another_one() -> None:
    made = {canary.name: canary for canary in canaries_of(TEXTS)}
    pleading = [canary for canary in made.values() if canary.kind is CanaryKind.PLEADING]
    assert {canary.without_plea for canary in pleading} == {"alpha/1 no-op", "alpha/1 wrong"}
    for canary in pleading:
        if "comment" in canary.name or "docstring" in canary.name:
            assert canary.shown.stripped().candidate == made[canary.without_plea].shown.candidate
    candidates = [canary.shown.candidate for canary in made.values() if "reformatted" not in canary.name]
    assert len(set(candidates)) == len(candidates)


def test_without_samples_a_mutant_is_the_wrong_one() -> None:
    made = {canary.name: canary for canary in canaries_of(TaskTexts("alpha/1", "Write mean.", GOLDEN, TEXTS.masked))}
    assert "alpha/1 alternative" not in made
    assert made["alpha/1 wrong"].shown.candidate not in (GOLDEN, made["alpha/1 renamed"].shown.candidate)
