"""Which texts are endpoints' addresses, and the origin of each."""

from __future__ import annotations

import re

import pytest

from submissions.endpoints.addresses import origin, problem


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://api.example.org/v1", "https://api.example.org:443"),
        ("HTTPS://API.Example.ORG", "https://api.example.org:443"),
        ("https://api.example.org.:443/v1/", "https://api.example.org:443"),
        ("https://api.example.org:8443/v1", "https://api.example.org:8443"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("http://localhost", "http://localhost:80"),
        ("http://gpu_box-1/v1", "http://gpu_box-1:80"),
        ("http://[::1]:11434/v1", "http://[::1]:11434"),
        ("http://[0:0:0:0:0:0:0:1]:11434", "http://[::1]:11434"),
    ],
)
def test_the_origin_is_normalised(address: str, expected: str) -> None:
    assert (problem(address), origin(address)) == ("", expected)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "plain ASCII"),
        ("api.example.org/v1", "begins with https://"),
        ("ftp://api.example.org", "begins with https://"),
        ("file:///etc/passwd", "begins with https://"),
        ("https:/api.example.org", "begins with https://"),
        ("javascript:alert(1)", "begins with https://"),
        ("https://", "name of a host"),
        ("https:///v1", "name of a host"),
        ("https://.", "name of a host"),
        ("https://-a.example", "name of a host"),
        ("https://a..example", "name of a host"),
        ("https://[127.0.0.1]/", "not an address"),
        ("https://[fe80::1%25eth0]/", "name of a host"),
        ("https://[::1", "not an address"),
        ("https://api.example.org:99999", "not an address"),
        ("https://api.example.org:0", "port"),
        ("https://api.example.org:/v1", "port"),
        ("https://me:secret@api.example.org/v1", "user name and password"),
        ("https://api.example.org@127.0.0.1/", "user name and password"),
        ("https://api.example.org/v1?key=1", "Leave out everything"),
        ("https://api.example.org/v1?", "Leave out everything"),
        ("https://api.example.org/v1#x", "Leave out everything"),
        ("https://api.example.org/a b", "plain ASCII"),
        ("https://api.example.org\\@evil.example", "plain ASCII"),
        ("https://api.example.org/v1\n", "plain ASCII"),
        ("https://\N{CYRILLIC SMALL LETTER A}pi.example.org", "plain ASCII"),
        ("https://api.example.org/../admin", "out of the path"),
        ("https://api.example.org/" + "a" * 300, "at most 300"),
    ],
)
def test_what_is_no_address_is_said(address: str, said: str) -> None:
    assert said in problem(address)
    with pytest.raises(ValueError, match=re.escape(said)):
        origin(address)
