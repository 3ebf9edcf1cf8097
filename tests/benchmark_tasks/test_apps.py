"""Parsing Python in several threads."""

from __future__ import annotations

import ast
import gc
import sys
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest

from benchmark_tasks.apps import parse_one_at_a_time

LONG = "\n".join(f"value_{number} = [{number}, {{'a': ({number},)}}]" for number in range(2_000))


@pytest.fixture
def often_collecting() -> Any:
    before, callbacks = gc.get_threshold(), [*gc.callbacks]
    gc.set_threshold(20)
    yield
    gc.set_threshold(*before)
    gc.callbacks[:] = callbacks


@pytest.mark.usefixtures("often_collecting")
def test_no_thread_parses_while_another_does() -> None:
    parse_one_at_a_time()  # as Django has done already
    middle, order = Event(), []

    def callback(*_: object) -> None:
        """Switch threads in the middle of the first one's parsing, once."""
        if not middle.is_set() and sys._getframe(1).f_code.co_filename == ast.__file__:
            middle.set()
            sleep(0.2)

    def first() -> None:
        ast.parse(LONG)
        order.append("first")

    def second() -> None:
        middle.wait(timeout=10)
        ast.parse("short = 1")
        order.append("second")

    gc.callbacks.append(callback)
    threads = [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert (middle.is_set(), order) == (True, ["first", "second"])


def test_syntax_errors_and_modes_are_those_of_python() -> None:
    assert isinstance(ast.parse("1 + 1", mode="eval"), ast.Expression)
    with pytest.raises(SyntaxError, match=r"here\.py, line 1"):
        ast.parse("1 +", "here.py")
