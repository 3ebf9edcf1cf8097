"""Removing a container while the engine still writes down what happened to it (met after memory ran out in one)."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest

from evaluator.sandbox import docker_engine


class StubbornContainer:
    """Stands for the engine's own: its removal fails so often as the real engine's once did."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries = 0

    def remove(self, **options: bool) -> None:
        assert options == {"force": True, "v": True}
        self.tries += 1
        if self.tries <= self.failures:
            raise api_error("unable to remove filesystem: unlinkat: directory not empty")


def api_error(text: str) -> Exception:
    errors: Any = importlib.import_module("docker.errors")
    made: Exception = errors.APIError(text)
    return made


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_it_is_tried_again(failures: int) -> None:
    container: Any = StubbornContainer(failures)
    docker_engine._remove(container)
    assert container.tries == failures + 1


def test_one_that_stays_is_a_fault() -> None:
    container: Any = StubbornContainer(3)
    with pytest.raises(type(api_error("")), match="directory not empty"):
        docker_engine._remove(container)
    assert container.tries == 3
