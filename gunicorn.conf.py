"""Configure the web server from the environment (docs/configuration.md)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from gunicorn.sock import close_sockets, create_sockets

from leaderboard.settings import ENVIRONMENT
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.programs import check_keys, check_proxy, listening_address

if TYPE_CHECKING:
    from gunicorn.arbiter import Arbiter

bind = listening_address(ENVIRONMENT.bind, ENVIRONMENT.port)
workers = ENVIRONMENT.web_workers
worker_class = "gthread"
# Load the application once before forking: workers serve their first page sooner and share memory.
preload_app = True
threads = 4
timeout = 60
graceful_timeout = 5
keepalive = 5
max_requests = 5000
max_requests_jitter = 500
# django-structlog logs requests, with user and request id.
accesslog = None
errorlog = "-"
loglevel = "warning"
# All instances of a user would share a control socket in the home folder.
control_socket_disable = True
umask = 0o077
# gunicorn trusts every peer on a Unix socket, so without a proxy no header is honoured. With a proxy, only the header
# that it must set is honoured, and no header that replaces a request's path.
forwarded_allow_ips = "*" if ENVIRONMENT.trust_proxy else ""
secure_scheme_headers = {"X-FORWARDED-PROTO": "https"} if ENVIRONMENT.trust_proxy else {}
forwarder_headers = ""


def when_ready(server: Arbiter) -> None:
    """Stop before the first worker starts if keys are not set, or if the sockets can be reached without a proxy.

    The sockets themselves are checked, since options, systemd and host names may override ``BIND``. If each worker
    creates its own (``--reuse-port``), sockets are created once for this check.
    """
    trial = [] if server.LISTENERS else create_sockets(server.cfg, server.log)
    inet = [each for each in server.LISTENERS or trial if each.sock.family in {socket.AF_INET, socket.AF_INET6}]
    hosts = [each.sock.getsockname()[0] for each in inet]
    close_sockets(trial)
    try:
        check_keys(ENVIRONMENT)
        check_proxy(hosts, ENVIRONMENT)
    except SupervisionError as error:
        server.halt(reason=str(error), exit_status=1)
