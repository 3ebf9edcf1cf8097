"""The programs that an instance consists of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from leaderboard.supervision import addresses, embedded_redis
from leaderboard.supervision.errors import SupervisionError

if TYPE_CHECKING:
    from pathlib import Path

    from leaderboard.settings.environment import Environment

RECONCILE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Program:
    """One child process.

    Programs start in order of ``stage`` and stop in the opposite order. ``ready`` is asked until it says yes, before
    the next stage starts; None means ready at once. Stopping is SIGTERM, another one after half of ``grace_seconds``
    where ``terminate_twice`` says so, and SIGKILL at their end. ``loss`` is what to say when none of the programs that
    carry the same words keeps running.
    """

    name: str
    argv: tuple[str, ...]
    stage: int
    grace_seconds: float = 10.0
    terminate_twice: bool = False
    ready: Callable[[], bool] | None = None
    loss: str = ""


def instance_programs(environment: Environment, *, project_root: Path, workers: int) -> list[Program]:
    """Redis (unless ``REDIS_URL`` names one), ``workers`` workers, model workers, the reconciler, and the web server.

    Raises :class:`SupervisionError` when Redis is missing or the configured one does not answer.
    """
    manage = (sys.executable, str(project_root / "manage.py"))
    programs = [] if environment.redis_url else [_embedded_redis(environment)]
    if environment.redis_url and not embedded_redis.answers(environment.redis_url):
        msg = "The Redis server that REDIS_URL names does not answer. Start it, correct REDIS_URL, or leave it empty."
        raise SupervisionError(msg)
    programs += [
        Program(
            name=f"worker-{number}",
            # An audit takes minutes to hours: one of several workers takes none, and is there for answers.
            argv=(
                *(*manage, "worker", "--name", f"worker-{number}"),
                *(("--no-audits",) if number == 1 and workers > 1 else ()),
            ),
            stage=1,
            # The first SIGTERM lets the run in hand end; the second has the worker give it back, for another to take.
            grace_seconds=20,
            terminate_twice=True,
            loss="NOTHING IS EVALUATED while this lasts.",
        )
        for number in range(1, workers + 1)
    ]
    programs += [
        Program(
            name=f"models-{number}",
            argv=(*manage, "worker", "--models", "--name", f"models-{number}"),
            stage=1,
            grace_seconds=20,
            terminate_twice=True,
            loss="NO MODEL IS ASKED while this lasts.",
        )
        for number in range(1, environment.model_workers + 1)
    ]
    programs += [
        Program(name="reconcile", argv=(*manage, "reconcile", "--every", str(RECONCILE_SECONDS)), stage=2),
        Program(
            name="web",
            argv=(
                *(sys.executable, "-m", "gunicorn", "--config", str(project_root / "gunicorn.conf.py")),
                "leaderboard.wsgi",
            ),
            stage=3,
            ready=partial(addresses.answers, environment.bind, environment.port),
        ),
    ]
    return programs


def _embedded_redis(environment: Environment) -> Program:
    binary = embedded_redis.server_binary()
    socket, folder = environment.embedded_redis_socket, environment.data_dir / "redis"
    embedded_redis.prepare_folders(socket=socket, folder=folder)
    return Program(
        name="redis",
        argv=embedded_redis.command_line(binary=binary, socket=socket, folder=folder),
        stage=0,
        ready=partial(embedded_redis.answers, environment.queue_url),
    )
