"""A real S3 server over HTTP, and a proxy before it that fails as networks and stores do."""

from __future__ import annotations

import http.client
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from benchmark_tasks.domain.bucket import bucket_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Failure = Literal["503", "slow", "cut", "changed", "refused"]
SLOW_SECONDS = 1.0
KEY, SECRET = "a-key", "a secret/+"


@contextmanager
def s3_server(address: str = "127.0.0.1", within: Sequence[str] = ()) -> Iterator[str]:
    """Run moto's S3 server on a free port; yield its ``host:port``. ``within`` precedes the command line."""
    command = [*within, sys.executable, "-c", "from moto.server import main; main()", "-H", address, "-p", "0"]
    # A listing of more than five objects has several pages.
    env = os.environ | {"MOTO_S3_DEFAULT_MAX_KEYS": "5"}
    with (
        tempfile.NamedTemporaryFile("r") as log,
        Path(log.name).open("wb") as written,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=written, env=env) as process,
    ):
        try:
            deadline = time.monotonic() + 60
            while not (found := re.search(r"Running on http://(\S+)", log.read())):
                assert process.poll() is None
                assert time.monotonic() < deadline, "The S3 server did not answer in a minute"
                time.sleep(0.05)
                log.seek(0)
            yield found[1]
        finally:
            process.terminate()


def made_bucket(place: str, prefix: str = "") -> str:
    """Create a bucket at ``host:port``; return its ``STORAGE_URL``."""
    url = f"s3+http://{KEY}:{quote(SECRET, safe='')}@{place}/b{secrets.token_hex(6)}{prefix}"
    made = bucket_at(url)
    made.client.create_bucket(Bucket=made.name)
    return url


@dataclass
class Proxy:
    """A proxy whose next requests of a method fail as ``failures`` say (None: not); ``seen`` are all methods."""

    target: str
    place: str = ""
    failures: list[tuple[str, Failure | None]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def failure_of(self, method: str) -> Failure | None:
        self.seen.append(method)
        if self.failures and self.failures[0][0] == method:
            return self.failures.pop(0)[1]
        return None


@contextmanager
def proxy_before(target: str) -> Iterator[Proxy]:
    """Run a proxy before the server at ``target``."""
    proxy = Proxy(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _pass_on(self, proxy)

        do_PUT = do_HEAD = do_DELETE = do_GET  # noqa: N815 - the names that the class looks for

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Ignore connections that the client ended."""

    server = Server(("127.0.0.1", 0), Handler)
    proxy.place = f"127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _pass_on(request: BaseHTTPRequestHandler, proxy: Proxy) -> None:
    failure = proxy.failure_of(request.command)
    body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
    if failure == "refused":
        request.close_connection = True
        return
    if failure == "503":
        request.send_response(503)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    connection = http.client.HTTPConnection(proxy.target, timeout=30)
    headers = {name: value for name, value in request.headers.items() if name.lower() != "expect"}
    connection.request(request.command, request.path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if failure == "slow":
        time.sleep(SLOW_SECONDS)
    request.send_response(answer.status)
    for name, value in answer.getheaders():
        if name.lower() not in {"connection", "transfer-encoding", "content-length", "date", "server"}:
            request.send_header(name, value)
    length = answer.getheader("Content-Length") if request.command == "HEAD" else str(len(content))
    request.send_header("Content-Length", length or "0")
    request.end_headers()
    if failure == "cut":
        content, request.close_connection = content[: len(content) // 2], True
    if failure == "changed":
        content = bytes([content[0] ^ 1]) + content[1:]
    request.wfile.write(content)
