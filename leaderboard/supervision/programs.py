"""Define the programs of an instance, and check the address it listens on."""

from __future__ import annotations

import errno
import http.client
import ipaddress
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from leaderboard.supervision import SupervisionError, embedded_redis

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from leaderboard.settings.environment import Environment

RECONCILE_SECONDS = 30
NICE = 5
"""How far all that no reader waits for gives way to the web server."""


@dataclass(frozen=True, slots=True)
class Program:
    """One child process.

    Programs start in order of ``stage`` and stop in reverse order. The next stage starts when ``ready`` returns true
    (None: at once). To stop a program, SIGTERM is sent, again after half of ``grace_seconds``, then SIGKILL at its end.
    ``loss`` is the message if no program with the same ``loss`` keeps running. ``nice`` is how far it gives way to
    other programs (``nice(1)``).
    """

    name: str
    argv: tuple[str, ...]
    stage: int
    grace_seconds: float = 10.0
    ready: Callable[[], bool] | None = None
    loss: str = ""
    nice: int = 0


def instance_programs(
    environment: Environment, *, project_root: Path, workers: int, site: bool = True
) -> list[Program]:
    """Return Redis (unless ``REDIS_URL`` is set), the web server (``site``), workers of both kinds, the reconciler.

    ``POOLS`` says which workers; ``workers`` is the number of those that evaluate.

    Raises :class:`SupervisionError` if Redis is missing or the configured one does not answer.
    """
    if environment.redis_url and not embedded_redis.answers(environment.redis_url):
        msg = "The Redis server that REDIS_URL names does not answer. Start it, correct REDIS_URL, or leave it empty."
        raise SupervisionError(msg)

    def managed(name: str, *arguments: str, grace: float = 10.0, loss: str = "") -> Program:
        argv = (sys.executable, str(project_root / "manage.py"), *arguments)
        return Program(name=name, argv=argv, stage=2, grace_seconds=grace, loss=loss, nice=NICE)

    def worker(name: str, *options: str, loss: str) -> Program:
        return managed(name, "worker", "--name", name, *options, grace=20, loss=f"{loss} while this lasts.")

    # Started before the workers, whose start-up would slow down the first page.
    web = Program(
        name="web",
        argv=(sys.executable, "-m", "gunicorn", "--config", str(project_root / "gunicorn.conf.py"), "leaderboard.wsgi"),
        stage=1,
        ready=partial(answers, environment.bind, environment.port),
    )
    workers = workers if environment.evaluates else 0
    models = environment.model_workers if "model_calls" in environment.pools else 0
    if not workers and not models and "site" in environment.pools:
        models = 1  # it then serves the site's own queue only
    return [
        *([] if environment.redis_url else [_embedded_redis(environment)]),
        *([web] if site else []),
        *(
            # An audit takes minutes to hours, so one of several workers takes none and stays free for answers.
            worker(f"worker-{n}", *(["--no-audits"] if n == 1 < workers else []), loss="NOTHING IS EVALUATED")
            for n in range(1, workers + 1)
        ),
        *(worker(f"models-{n}", "--models", loss="NO MODEL IS CALLED") for n in range(1, models + 1)),
        managed("reconcile", "reconcile", "--every", str(RECONCILE_SECONDS)),
    ]


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


def host_address(bind: str) -> str:
    """Return the IP address of ``bind``. Raises :class:`SupervisionError` if it has none."""
    return str(_resolved(bind, 0)[3][0])


def check_free(bind: str, port: int) -> None:
    """Raise :class:`SupervisionError` if no program can listen on ``bind`` and ``port``."""
    family, kind, protocol, address = _resolved(bind, port)
    with socket.socket(family, kind, protocol) as trial:
        # As gunicorn does: lingering connections of a previous instance must not block the port.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(address)
        except OSError as error:
            raise SupervisionError(_refusal(bind, port, error)) from None


def _resolved(bind: str, port: int) -> tuple[int, int, int, tuple[Any, ...]]:
    """Return family, kind, protocol and address of the socket. Raises :class:`SupervisionError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        # UnicodeError: a name with an empty or overlong label, which is not looked up.
        reason = error.strerror if isinstance(error, socket.gaierror) else "not a host name"
        msg = f"BIND={bind} is not an address of this machine ({reason}).\nSet it to one, such as 127.0.0.1 or 0.0.0.0."
        raise SupervisionError(msg) from None
    return family, kind, protocol, address


def check_proxy(hosts: Iterable[str], environment: Environment) -> None:
    """Raise :class:`SupervisionError` if an IP address in ``hosts`` is not loopback and no proxy is in front.

    The web server has few threads, and each slow connection occupies one; a proxy absorbs slow connections.
    """
    beyond = next((host for host in hosts if not is_loopback(host)), None)
    if beyond is not None and not (environment.trust_proxy or environment.allow_no_proxy):
        msg = (
            f"LMR-Board would be reachable from other machines at {beyond} without a proxy in front, where a few slow "
            "connections stop it.\nSet TRUST_PROXY=true if a proxy is in front, ALLOW_NO_PROXY=true to accept that "
            "risk, or BIND=127.0.0.1 to be reachable from this machine alone (docs/instance.md, “On a server”)."
        )
        raise SupervisionError(msg)


def check_keys(environment: Environment) -> None:
    """Raise :class:`SupervisionError` if hosts that share database and queue would each make keys of their own."""
    if environment.keys_problem:
        raise SupervisionError(environment.keys_problem)


def is_loopback(host: str) -> bool:
    """Return whether an IP address is this machine's own. Raises ValueError if it is none."""
    address = ipaddress.ip_address(host)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _refusal(bind: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {bind} is taken by another program.\n"
            f"Choose another one, for example: make run PORT={port + 1 if port < 65535 else port - 1}"
        )
    if error.errno == errno.EACCES:
        return (
            f"Port {port} needs more rights than this user has.\nChoose one above 1023, for example: make run PORT=8000"
        )
    return f"Nothing can listen at {bind}, port {port} ({error.strerror}).\nSet BIND to an address of this machine."


def listening_address(bind: str, port: int) -> str:
    """Return ``host:port``, with brackets around an IPv6 address."""
    return f"[{bind}]:{port}" if ":" in bind else f"{bind}:{port}"


def local_host(bind: str) -> str:
    """Return the host under which this machine itself reaches a server bound to ``bind``."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(bind, bind)  # noqa: S104 - compared, not bound


def answers(bind: str, port: int) -> bool:
    """Return whether a web server answers; any status counts, since ``ALLOWED_HOSTS`` may not include this name."""
    connection = http.client.HTTPConnection(local_host(bind), port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
