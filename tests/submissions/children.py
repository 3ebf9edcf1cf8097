"""A limited child for tests that echoes its input, or exceeds a limit."""

from __future__ import annotations

import time
from typing import Any

from submissions.limited_child import serve_child


def serve(limits_text: str) -> None:
    serve_child(limits_text, _act)


def _act(given: bytes) -> Any:
    if given == b"memory":
        return len(bytearray(4 * 1024 * 1024 * 1024))
    if given == b"processor":
        while True:
            pass
    if given == b"time":
        time.sleep(60)
    if given == b"files":
        with open("/dev/null", "wb"), open("/tmp/lmr-board-written-by-a-child", "wb") as file:  # noqa: PTH123
            file.write(b"x")
    return given.decode()
