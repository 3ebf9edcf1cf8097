"""The server: record each request, get the model's answer, and send it."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self, cast

from tests.provider_server import chat, messages, responses
from tests.provider_server.behaviours import behave
from tests.provider_server.dialects import PLAIN, Dialect, split
from tests.provider_server.knowledge import LMR_MINI, Knowledge
from tests.provider_server.types import Failure, Outcome, Question, Received, Wire
from tests.provider_server.wire import misbehave

PROTOCOLS: Mapping[str, ModuleType] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": messages,
}
INTERESTING = (
    "accept-encoding",
    "anthropic-version",
    "authorization",
    "content-type",
    "host",
    "user-agent",
    "x-api-key",
)
LARGEST_REQUEST = 32 * 2**20


class Ids:
    """Ids that never repeat, and the time."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)

    def __call__(self, prefix: str) -> str:
        return f"{prefix}{next(self.numbers):024x}"

    @staticmethod
    def now() -> int:
        return int(time.time())


class ProviderServer:
    """A provider on the loopback. Use it as a context manager; ``port`` 0 takes a free one.

    ``log`` lists the requests in order of arrival. ``script`` sets a model's answers.
    """

    def __init__(self, port: int = 0, *, suite: Path = LMR_MINI) -> None:
        self.knowledge = Knowledge.of(suite)
        self.lock = threading.RLock()
        self.ids = Ids()
        self.stopping = threading.Event()
        self.server = _Listener(("127.0.0.1", port), _Handler)
        self.server.provider = self
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.reset()

    def reset(self) -> None:
        """Clear the log, the counts of prompts and models, and all scripts."""
        with self.lock:
            self.log: list[Received] = []
            self.counts: Counter[str] = Counter()
            self.scripts: dict[str, list[Outcome]] = defaultdict(list)

    @property
    def url(self) -> str:
        """The base address, as it is registered for all three interfaces."""
        return f"http://127.0.0.1:{self.port}/v1"

    def url_of(self, dialect: str) -> str:
        """The base address of one of ``dialects.DIALECTS``."""
        return f"http://127.0.0.1:{self.port}/{dialect}/v1"

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def requests(self) -> list[Received]:
        """The requests to models in the log."""
        with self.lock:
            return [received for received in self.log if split(received.path)[1] in PROTOCOLS]

    def script(self, model: str, *outcomes: Outcome) -> None:
        """Answer this model's requests with these outcomes, one after the other; the last one repeats."""
        with self.lock:
            self.scripts[model] = list(outcomes)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(timeout=5)

    def take(self, method: str, path: str, headers: Message) -> Received:
        """Record a request."""
        kept = {name: headers[name] for name in INTERESTING if headers.get(name) is not None}
        key = kept.get("x-api-key") or kept.get("authorization", "").removeprefix("Bearer ")
        with self.lock:
            names = {name.lower() for name in headers}
            received = Received(len(self.log) + 1, time.time(), method, path, kept, names, key=key)
            self.log.append(received)
        return received

    def outcome(self, question: Question, key: str) -> tuple[Outcome, int]:
        """The model's answer, and how many tokens of the prompt were in the cache."""
        with self.lock:
            script = self.scripts.get(question.model)
            scripted = (script.pop(0) if len(script) > 1 else script[0]) if script else None
            found = scripted or behave(question, key, self)
            self.counts[f"prompt {question.digest}"] += 1
            cached = question.tokens // 2 if self.counts[f"prompt {question.digest}"] > 1 else 0
        return found, cached


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    provider: ProviderServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: in many tests the client disconnects early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    dialect: Dialect = PLAIN

    @property
    def provider(self) -> ProviderServer:
        return cast(_Listener, self.server).provider

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Quiet: the log is ``/_log``."""

    def do_GET(self) -> None:
        if self.path == "/_log":
            with self.provider.lock:
                return self.reply(200, [received.as_data() for received in self.provider.log])
        self.provider.take("GET", self.path, self.headers).answered = "404"
        return self.reply(404, {"error": {"message": "Not found", "type": "invalid_request_error"}})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(length, LARGEST_REQUEST))
        if self.path == "/_reset":
            self.provider.reset()
            return self.reply(200, {})
        received = self.provider.take("POST", self.path, self.headers)
        self.dialect, path = split(self.path)
        protocol = PROTOCOLS.get(path)
        if protocol is None or path not in self.dialect.paths:
            received.answered = "404"
            return self.reply(404, {"error": {"message": f"Invalid URL (POST {self.path})", "code": None}})
        return self.respond(protocol, raw, received)

    def respond(self, protocol: ModuleType, raw: bytes, received: Received) -> None:
        """Let the model answer in its protocol's form."""
        question = self.question(protocol, raw, received)
        if isinstance(question, Failure):
            return self.fail(protocol, question, received)
        received.model, received.prompt = question.model, question.digest
        outcome, cached = self.provider.outcome(question, received.key)
        if isinstance(outcome, Wire):
            received.answered = outcome.how
            self.close_connection = True
            # The client is expected to hang up on most of these.
            with contextlib.suppress(OSError):
                misbehave(outcome.how, cast(Any, self.wfile), self.provider.stopping.wait)
            return None
        if isinstance(outcome, Failure):
            return self.fail(protocol, outcome, received)
        if outcome.seconds and self.provider.stopping.wait(outcome.seconds):
            return None
        received.answered = "200"
        body = protocol.render(question, outcome, self.provider.ids, cached)
        return self.reply(200, self.dialect.reply(body, outcome), padding=self.dialect.padding)

    def question(self, protocol: ModuleType, raw: bytes, received: Received) -> Question | Failure:
        """The request's body, parsed and checked by the protocol."""
        try:
            received.body = json.loads(raw)
            parse: Callable[[Any], Question | Failure] = protocol.parse
            if protocol is messages and not self.headers.get("anthropic-version"):
                return Failure("invalid", "anthropic-version: header is required")
            if protocol is messages and not received.key:
                return Failure("key", "x-api-key header is required")
            refused = self.dialect.refuses(received.body)
            known = {name: value for name, value in received.body.items() if name in protocol.PARAMETERS}
            return refused or parse(known if self.dialect.ignores_unknown else received.body)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return Failure("invalid", f"We could not parse the JSON body of your request ({type(error).__name__}).")

    def fail(self, protocol: ModuleType, failure: Failure, received: Received) -> None:
        request_id = self.provider.ids("req_")
        plain, content = protocol.error(failure, request_id)
        status, body = self.dialect.error(plain, content, failure)
        received.answered = str(status)
        self.reply(status, body, {**self.dialect.headers(failure.headers), "request-id": request_id})

    def reply(self, status: int, data: Any, headers: Mapping[str, str] | None = None, *, padding: bytes = b"") -> None:
        body = padding + json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        given = {"request-id": self.provider.ids("req_"), **(headers or {})}
        given["x-request-id"] = given["request-id"]
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
