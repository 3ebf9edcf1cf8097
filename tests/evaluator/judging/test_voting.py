"""From votes to a label."""

from __future__ import annotations

import pytest

from evaluator.judging.labels import Label
from evaluator.judging.voting import is_split, majority

CC, LC, LI = Label.CC, Label.LC, Label.LI


@pytest.mark.parametrize(
    ("votes", "label", "split"),
    [
        ([], None, False),
        ([CC], CC, False),
        ([None], None, False),
        ([CC, CC, CC], CC, False),
        ([CC, CC, LI], CC, True),
        ([CC, LC, LI], None, True),
        ([CC, CC, None], CC, True),
        ([CC, None, None], None, True),
        ([None, None, None], None, False),
        ([CC, LI], None, True),
        ([CC, CC, LI, LI, LC], None, True),
        ([CC, CC, LI, LI, LI], LI, True),
        ([CC, CC, None, None, None], None, True),
        ([LI, LC, LI, LC, None], None, True),
    ],
)
def test_more_than_half_of_all_votes_abstentions_counted(
    votes: list[Label | None], label: Label | None, split: bool
) -> None:
    assert majority(votes) is label
    assert is_split(votes) is split
