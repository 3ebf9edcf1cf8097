"""What a test sees of an exception that was raised in the other box."""

from __future__ import annotations

import pytest

from evaluator.testing.box import remote_stub


def raised(kind: str, message: str = "why") -> Exception:
    return remote_stub._exception({"type": kind, "message": message, "traceback": ["goal.py:1 in f: x"]})


@pytest.mark.parametrize("kind", [ValueError, AssertionError, KeyError])
def test_exceptions_of_python_stay_what_they_are(kind: type[Exception]) -> None:
    assert type(raised(kind.__name__)) is kind


@pytest.mark.parametrize("kind", ["StopIteration", "StopAsyncIteration", "SystemExit", "SkipTest", "print", "__doc__"])
def test_what_would_end_a_loop_or_the_test_is_only_named(kind: str) -> None:
    error = raised(kind)
    assert (type(error), str(error)) == (remote_stub.RemoteError, f"{kind}: why")


def test_a_loop_over_a_goal_that_stops_early_does_not_end_well() -> None:
    def goal(_: int) -> int:
        raise raised("StopIteration")

    with pytest.raises(remote_stub.RemoteError):
        list(map(goal, [1, 2]))


def test_the_words_that_logs_are_judged_by_do_not_come_through() -> None:
    assert str(raised("ValueError", "Passed, not Failed")) == "passed, not failed"
