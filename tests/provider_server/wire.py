"""Answers that violate HTTP or JSON, or flood or stall the client. Each ends when the client disconnects."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from functools import cache, partial
from typing import BinaryIO

MISCHIEF = {
    "malformed": "200 with broken JSON",
    "array": "200 with JSON that is no object",
    "nested": "200 with JSON nested a million deep",
    "not-json": "200 with a web page",
    "drip": "headers at once, then a byte every 0.2 seconds without end",
    "drip-headers": "a header byte every 0.2 seconds without end",
    "flood-headers": "headers without end",
    "breaks": "closes the connection after reading the request",
    "breaks-half": "closes it in the middle of the body",
    "endless": "a chunked body without end",
    "huge": "200 MB of JSON, declared",
    "bomb": "a compressed bomb, though plain text was asked for",
    "bomb-repeated": "the same, chunked, its encoding in the first of two headers",
    "bomb-listed": "the same, chunked, its encoding in a list",
    "bomb-case": "the same, chunked, its encoding in odd case between spaces",
    "redirect": "302 to another path of this server, which is logged if it is followed",
    "redirect-away": "302 to a port of the loopback where nothing listens",
}
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BOMBS = {"bomb-repeated": (b"gzip", b"identity"), "bomb-listed": (b"identity, GZip",), "bomb-case": (b" gZiP ",)}
MEGABYTE = b'"' + b"a" * (2**20 - 4) + b'",\n'


def misbehave(how: str, out: BinaryIO, wait: Callable[[float], bool]) -> None:
    """Write the answer ``how`` of ``MISCHIEF``. ``wait(seconds)`` is true once the server stops."""
    plain = {
        "malformed": _whole(b'{"id": "x", "choices": [{"message": {"content": '),
        "array": _whole(b"[1, 2, 3]"),
        "nested": _whole(b"[" * 1_000_000),
        "not-json": _whole(b"<!doctype html><title>Welcome</title>", b"text/html"),
        "breaks": b"",
        "breaks-half": OK + b"Content-Length: 1000\r\n\r\n" + b'{"id": "chatcmpl-1", ',
        "redirect": b"HTTP/1.1 302 Found\r\nLocation: /v1/redirected\r\nContent-Length: 0\r\n\r\n",
        "redirect-away": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    }
    if how in plain:
        out.write(plain[how])
        out.flush()
        return
    endless = {"drip": _drip, "drip-headers": _drip_headers, "flood-headers": _flood, "endless": _endless}
    bombs = {how: partial(_chunked_bomb, encodings) for how, encodings in BOMBS.items()}
    {**endless, "huge": _huge, "bomb": _bomb, **bombs}[how](out, wait)


@cache
def packed_bomb() -> bytes:
    """100 MB in 450 KB."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(MEGABYTE)
    return packed.getvalue()


def _whole(body: bytes, kind: bytes = b"application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)


def _drip(out: BinaryIO, wait: Callable[[float], bool]) -> None:
    out.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    out.flush()
    while not wait(0.2):
        out.write(b"1\r\n \r\n")
        out.flush()


def _drip_headers(out: BinaryIO, wait: Callable[[float], bool]) -> None:
    out.write(OK + b"X-Slow: ")
    out.flush()
    while not wait(0.2):
        out.write(b"a")
        out.flush()


def _flood(out: BinaryIO, wait: Callable[[float], bool]) -> None:
    out.write(OK)
    number = 0
    while not wait(0):
        number += 1
        out.write(b"X-Header-%d: %s\r\n" % (number, b"a" * 4000))


def _endless(out: BinaryIO, wait: Callable[[float], bool]) -> None:
    out.write(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n[\r\n")
    while not wait(0):
        out.write(b"%x\r\n%s\r\n" % (len(MEGABYTE), MEGABYTE))


def _huge(out: BinaryIO, wait: Callable[[float], bool]) -> None:
    out.write(OK + b"Content-Length: %d\r\n\r\n[" % (200 * 2**20))
    for _ in range(200):
        if wait(0):
            return
        out.write(MEGABYTE)


def _bomb(out: BinaryIO, wait: Callable[[float], bool]) -> None:
    body = packed_bomb()
    out.write(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    out.flush()


def _chunked_bomb(encodings: tuple[bytes, ...], out: BinaryIO, wait: Callable[[float], bool]) -> None:
    body = packed_bomb()
    out.write(OK + b"".join(b"content-ENCODING: %s\r\n" % each for each in encodings))
    out.write(b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    out.flush()
