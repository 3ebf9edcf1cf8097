"""Count and time events for ``/metrics``, in files that all processes of a host share (Prometheus' multiprocess mode).

Modules declare their metrics here with :func:`counter` and :func:`histogram`, always with labels, and change them with
:func:`count` and :func:`observe`, which never raise. No Django here: pure modules count, too.
"""

from __future__ import annotations

import fcntl
import os
import time
from itertools import count as numbers
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client.registry import Collector

log = structlog.get_logger(__name__)
PREFIX: Final = "lmr_board_"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The library's variable, which the settings set: the folder of the files."""
DECLARED: Final = CollectorRegistry()
"""Every declared metric, by which documentation and dashboard are checked. Their values are in the files."""
SILENT_SECONDS: Final = 60.0
"""How long a process counts nothing after an error, such as a full disk."""
_FILES: Final = {"counter": 1024 * 1024, "histogram": 1024 * 1024, "gauge_mostrecent": 64 * 1024}
"""Sizes of a process's files. They hold every label of every metric, so that the library never has to extend them."""


class _Slot:
    """The number in the names of this process's files, taken when it first counts something, and locked while it lives.

    The library's default, the process id, leaves new files behind for each job, since jobs are forked, and is the same
    in several containers that share a folder. A number whose process has ended is given to the next one, whose
    counters continue.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock: int | None = None
        self._number = ""

    def release(self) -> None:
        """Take a number when the next event is counted."""
        self._process = 0

    def __call__(self) -> str:
        if self._process != os.getpid():
            self._take(Path(os.environ[FOLDER_VARIABLE]))
        return self._number

    def _take(self, folder: Path) -> None:
        if self._lock is not None:
            os.close(self._lock)  # of the process that this one was forked from, which keeps its own
            self._lock = None
        folder.mkdir(parents=True, exist_ok=True)
        for number in numbers():
            lock = os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            except OSError:
                os.close(lock)
                raise
            self._lock = lock
            break
        for name, size in _FILES.items():
            file, draft = folder / f"{name}_{number}.db", folder / f"{name}_{number}.new"
            if not file.exists():
                with draft.open("wb") as opened:
                    # The library maps files with holes into memory, and a full disk then kills the process that fills
                    # a hole.
                    os.posix_fallocate(opened.fileno(), 0, size)
                draft.rename(file)
        self._number, self._process = str(number), os.getpid()


_slot = _Slot()
values.ValueClass = values.MultiProcessValue(_slot)  # type: ignore[no-untyped-call]
_slot.release()
_silent_until = 0.0


def counter(name: str, meaning: str, *labels: str) -> Counter:
    """Declare a counter; ``_total`` is added to its name."""
    return Counter(f"{PREFIX}{name}", meaning, labels, registry=DECLARED)


def histogram(name: str, meaning: str, *labels: str, buckets: tuple[float, ...]) -> Histogram:
    """Declare a histogram of seconds."""
    return Histogram(f"{PREFIX}{name}", meaning, labels, buckets=buckets, registry=DECLARED)


def gauge(name: str, meaning: str, *labels: str) -> Gauge:
    """Declare a gauge that one process of a host sets."""
    return Gauge(f"{PREFIX}{name}", meaning, labels, registry=DECLARED, multiprocess_mode="mostrecent")


def count(metric: Counter, *labels: str, by: float = 1.0) -> None:
    """Add to a counter."""
    _harmlessly(lambda: metric.labels(*labels).inc(by))


def observe(metric: Histogram, seconds: float, *labels: str) -> None:
    """Add an observation to a histogram."""
    _harmlessly(lambda: metric.labels(*labels).observe(seconds))


def measure(metric: Gauge, value: float, *labels: str) -> None:
    """Set a gauge."""
    _harmlessly(lambda: metric.labels(*labels).set(value))


def exposition(*collectors: Collector) -> bytes:
    """Return the metrics of this host's processes, and of ``collectors``, in Prometheus' text format."""
    registry = CollectorRegistry()
    folder = os.environ[FOLDER_VARIABLE]
    if Path(folder).is_dir():
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    for each in collectors:
        registry.register(each)
    return generate_latest(registry)


def forget() -> None:
    """Delete the counts of an instance's earlier processes. None may be running."""
    for file in Path(os.environ[FOLDER_VARIABLE]).glob("*.*"):
        file.unlink()


def _harmlessly(act: Callable[[], object]) -> None:
    """Log an error, and count nothing for a while: no page and no run may end because an event was not counted."""
    global _silent_until
    if FOLDER_VARIABLE not in os.environ or time.monotonic() < _silent_until:
        return
    try:
        act()
    except Exception as error:  # noqa: BLE001 - whatever it is
        _silent_until = time.monotonic() + SILENT_SECONDS
        log.warning("events_not_counted", error=str(error), seconds=SILENT_SECONDS)
