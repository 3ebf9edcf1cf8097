"""The call filter as a program; what it denies is tested in boxes, in test_contract_walls.py."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from evaluator.sandbox import seccomp
from evaluator.sandbox.types import SandboxUnavailableError


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
