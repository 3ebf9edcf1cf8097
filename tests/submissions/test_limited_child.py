"""A child that processes untrusted bytes stays within its limits for any input."""

from __future__ import annotations

from pathlib import Path

import pytest

from submissions.limited_child import ChildError, ChildLimits, call_child

CHILD = "tests.submissions.children"
LIMITS = ChildLimits(cpu_seconds=2, wall_seconds=20)


def test_the_result_is_returned(tmp_path: Path) -> None:
    assert call_child(CHILD, b"hello", LIMITS) == "hello"
    file = tmp_path / "given"
    file.write_bytes(b"from a file")
    with file.open("rb") as stream:
        assert call_child(CHILD, stream, LIMITS) == "from a file"


@pytest.mark.parametrize(
    ("payload", "late"), [(b"memory", ""), (b"processor", "2 seconds of processor time"), (b"files", "")]
)
def test_a_child_beyond_its_limits_is_ended(payload: bytes, late: str) -> None:
    with pytest.raises(ChildError) as error:
        call_child(CHILD, payload, LIMITS)
    assert error.value.late == late
    left = Path("/tmp/lmr-board-written-by-a-child")
    assert not left.exists() or left.stat().st_size == 0
    left.unlink(missing_ok=True)


def test_a_child_beyond_its_time_is_reported_as_late() -> None:
    with pytest.raises(ChildError) as error:
        call_child(CHILD, b"time", ChildLimits(wall_seconds=0.5))
    assert error.value.late == "0.5 seconds"


def test_output_that_is_too_long_is_refused() -> None:
    with pytest.raises(ChildError):
        call_child(CHILD, b"x" * 100, ChildLimits(answer_bytes=50))
