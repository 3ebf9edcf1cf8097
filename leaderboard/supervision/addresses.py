"""The address the site answers at, and whether it is free."""

from __future__ import annotations

import errno
import http.client
import socket

from leaderboard.supervision.errors import SupervisionError


def check_free(bind: str, port: int) -> None:
    """Raise :class:`SupervisionError` when nothing can listen at ``bind``:``port``."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        # UnicodeError: a name with an empty or overlong part, which is never even looked up.
        reason = error.strerror if isinstance(error, socket.gaierror) else "not a host name"
        msg = f"BIND={bind} is not an address of this machine ({reason}).\nSet it to one, such as 127.0.0.1 or 0.0.0.0."
        raise SupervisionError(msg) from None
    with socket.socket(family, kind, protocol) as trial:
        # As gunicorn does: connections of an instance that just ended must not count as taken.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(address)
        except OSError as error:
            raise SupervisionError(_refusal(bind, port, error)) from None


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
    """``host:port`` as servers want it, with brackets around an IPv6 address."""
    return f"[{bind}]:{port}" if ":" in bind else f"{bind}:{port}"


def local_host(bind: str) -> str:
    """The host under which this machine itself reaches a server bound to ``bind``."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(bind, bind)  # noqa: S104 - compared, not bound


def answers(bind: str, port: int) -> bool:
    """Whether a web server answers there; any status counts, for ``ALLOWED_HOSTS`` may not know this name."""
    connection = http.client.HTTPConnection(local_host(bind), port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
