"""The numbers of the charts of actions."""

from __future__ import annotations

from evaluator.generation.figures import action_shares, counts_by_outcome, total_counts

NONE = {"run": 0, "read": 0, "edit": 0, "message": 0, "finish": 0, "other": 0}


def test_shares_are_of_all_actions() -> None:
    assert action_shares({"run": 3, "edit": 1}) == {**NONE, "run": 0.75, "edit": 0.25}
    assert action_shares({}) == NONE


def test_counts_of_several_answers_are_added() -> None:
    both = total_counts([{"run": 3, "finish": 1}, {"run": 1, "unknown": 7}])
    assert (both.answers, both.counts) == (2, {**NONE, "run": 4, "finish": 1})
    assert both.means == {**NONE, "run": 2.0, "finish": 0.5}
    assert both.shares == {**NONE, "run": 0.8, "finish": 0.2}


def test_passed_and_failed_answers_are_kept_apart() -> None:
    found = counts_by_outcome([(True, {"run": 1}), (False, {"run": 5}), (False, {"read": 2})])
    assert {passed: (each.answers, each.counts) for passed, each in found.items()} == {
        True: (1, {**NONE, "run": 1}),
        False: (2, {**NONE, "run": 5, "read": 2}),
    }
    assert counts_by_outcome([])[True].means == NONE
