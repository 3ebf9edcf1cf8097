"""The call filter as a program; what it denies is tested in boxes, in test_contract_walls.py."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest

from evaluator.sandbox import seccomp
from evaluator.sandbox.types import SandboxUnavailableError


def test_it_is_an_array_of_instructions_with_all_the_actions() -> None:
    program = seccomp.deny_filter()
    assert len(program) % 8 == 0
    returns = {value for code, _, _, value in struct.iter_unpack("<HBBI", program) if code == 0x06}
    allow, refuse, not_implemented, kill = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
    assert returns == {allow, refuse, not_implemented, kill}


def test_it_is_built_once() -> None:
    assert seccomp.deny_filter() is seccomp.deny_filter()


def test_no_call_is_named_twice() -> None:
    names = [*seccomp.REQUIRED_CALLS, *seccomp.SHARED_STATE_CALLS, *seccomp.FURTHER_CALLS]
    assert len(names) == len(set(names))


def test_a_library_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    with pytest.raises(SandboxUnavailableError, match=r"libseccomp is missing .*libseccomp2"):
        seccomp.deny_filter.__wrapped__()


def test_a_library_that_does_not_know_a_required_call_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "REQUIRED_CALLS", ("no_such_call",))
    with pytest.raises(SandboxUnavailableError, match="does not know the kernel call no_such_call"):
        seccomp.deny_filter.__wrapped__()
