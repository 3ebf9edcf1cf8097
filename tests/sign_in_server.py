"""A double of GitHub and ORCID at the far edge: a local HTTP server that speaks their OAuth endpoints."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

if TYPE_CHECKING:
    from types import TracebackType

CODE = "the-code"
TOKEN = "the-providers-token"
IDENTIFIER = "0000-0002-1825-0097"


class SignInServer:
    """Both providers on the loopback. ``profile`` and ``emails`` are GitHub's answers, ``record`` is ORCID's.

    ``tokens_asked`` lists the fields of each request for a token. The page of consent returns at once to the site.
    """

    def __init__(self) -> None:
        self.profile: dict[str, Any] = {
            "id": 4711,
            "login": "octo-ada",
            "name": "Ada Lovelace",
            "email": None,
            "html_url": "https://github.example/octo-ada",
            "company": "a company that is not stored",
        }
        self.emails: list[dict[str, Any]] = [
            {"email": "second@mail.example", "primary": False, "verified": True},
            {"email": "ada@mail.example", "primary": True, "verified": True},
        ]
        name = {"given-names": {"value": "Ada"}, "family-name": {"value": "Lovelace"}}
        self.record: dict[str, Any] = {
            "orcid-identifier": {"path": IDENTIFIER, "uri": f"https://orcid.org/{IDENTIFIER}"},
            "person": {"name": name, "biography": {"content": "a biography that is not stored"}},
        }
        self.tokens_asked: list[dict[str, str]] = []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://localhost:{self.http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.http.shutdown()
        self.http.server_close()


def _handler(server: SignInServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Stay quiet."""

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/login/oauth/authorize":
                asked = parse_qs(parts.query)
                self.send_response(302)
                back = urlencode({"code": CODE, "state": asked["state"][0]})
                self.send_header("Location", f"{asked['redirect_uri'][0]}?{back}")
                self.end_headers()
                return
            pages: dict[str, Any] = {
                "/api/v3/user": server.profile,
                "/api/v3/user/emails": server.emails,
                f"/v3.0/{IDENTIFIER}/record": server.record,
            }
            permitted = parts.path.startswith("/v3.0/") or self.headers["Authorization"] == f"token {TOKEN}"
            self._send(pages[parts.path] if permitted else {"message": "no token"}, 200 if permitted else 401)

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            fields = {name: values[0] for name, values in parse_qs(sent).items()}
            server.tokens_asked.append(fields)
            if fields.get("code") != CODE or fields.get("client_secret") != "client-secret":
                self._send({"error": "bad_verification_code"}, 400)
                return
            self._send({"access_token": TOKEN, "token_type": "bearer", "orcid": IDENTIFIER}, 200)

        def _send(self, body: Any, status: int) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
