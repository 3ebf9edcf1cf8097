"""The web server's settings, all derived from the environment (docs/configuration.md)."""

from __future__ import annotations

from leaderboard.settings import ENVIRONMENT
from leaderboard.supervision.programs import listening_address

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
forwarded_allow_ips = "*" if ENVIRONMENT.trust_proxy else "127.0.0.1,::1"
