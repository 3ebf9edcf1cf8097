"""The web server's settings, all derived from the environment (docs/configuration.md)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from gunicorn.sock import close_sockets, create_sockets

from leaderboard.settings import ENVIRONMENT
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.programs import check_proxy, listening_address

if TYPE_CHECKING:
    from gunicorn.arbiter import Arbiter

bind = listening_address(ENVIRONMENT.bind, ENVIRONMENT.port)
workers = ENVIRONMENT.web_workers
worker_class = "gthread"
# Loaded once before the workers are forked: the first page comes sooner, and they share the memory.
preload_app = True
threads = 4
timeout = 60
graceful_timeout = 5
keepalive = 5
max_requests = 5000
max_requests_jitter = 500
# Requests are logged by django-structlog, with user and request id.
accesslog = None
errorlog = "-"
loglevel = "warning"
# A control socket in the home folder would be shared by all instances of a user.
control_socket_disable = True
umask = 0o077
# gunicorn trusts peers on Unix sockets whatever their address: without a proxy no header says anything. With one, only
# the header that it promises to set, and none that replaces a request's path.
forwarded_allow_ips = "*" if ENVIRONMENT.trust_proxy else ""
secure_scheme_headers = {"X-FORWARDED-PROTO": "https"} if ENVIRONMENT.trust_proxy else {}
forwarder_headers = ""


def when_ready(server: Arbiter) -> None:
    """Stop before the first worker starts where the sockets can be reached without a proxy.

    The sockets themselves are looked at: options, systemd and names may say something else than ``BIND``. Where each
    worker makes its own (``--reuse-port``), they are made once for that.
    """
    trial = [] if server.LISTENERS else create_sockets(server.cfg, server.log)
    inet = [each for each in server.LISTENERS or trial if each.sock.family in {socket.AF_INET, socket.AF_INET6}]
    hosts = [each.sock.getsockname()[0] for each in inet]
    close_sockets(trial)
    try:
        check_proxy(hosts, ENVIRONMENT)
    except SupervisionError as error:
        server.halt(reason=str(error), exit_status=1)
