"""Parsing endpoint addresses and their origins."""

from __future__ import annotations

import re

import pytest

from submissions.endpoints.addresses import AddressError, Origin, canonical, origin, problem, same_origin


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://api.example.org/v1", "https://api.example.org:443"),
        ("https://xn--mdels-jua.example/", "https://xn--mdels-jua.example:443"),
        ("https://api.example.org.:443/v1/", "https://api.example.org:443"),
        ("https://api.example.org:8443/v1", "https://api.example.org:8443"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("http://gpu_box-1/v1", "http://gpu_box-1:80"),
        ("http://[::1]:11434/v1", "http://[::1]:11434"),
        ("http://[0:0:0:0:0:0:0:1]:11434", "http://[::1]:11434"),
    ],
)
def test_the_origin_is_normalised(address: str, expected: str) -> None:
    assert (problem(address), str(origin(address))) == ("", expected)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "plain ASCII"),
        ("api.example.org/v1", "begins with https://"),
        ("file:///etc/passwd", "begins with https://"),
        ("https://", "host name or an IP"),
        ("https://[127.0.0.1]/", "not an address"),
        (f"https://{'a' * 64}.example/", "host name or an IP"),
        ("https://127.1/", "four decimal numbers"),
        ("https://0x7f000001/", "four decimal numbers"),
        ("https://1.2.3.4.5/", "four decimal numbers"),
        ("https://models.example/\r\nHost: other", "plain ASCII"),
        ("https://[fe80::1%25eth0]/", "host name or an IP"),
        ("https://api.example.org:99999", "not an address"),
        ("https://api.example.org:0", "port"),
        ("https://me:secret@api.example.org/v1", "user name and password"),
        ("https://api.example.org/v1?key=1", "Leave out everything"),
        ("https://api.example.org\\@evil.example", "plain ASCII"),
        ("https://\N{CYRILLIC SMALL LETTER A}pi.example.org", "plain ASCII"),
        ("https://api.example.org/../admin", "out of the path"),
        ("https://api.example.org/" + "a" * 300, "at most 300"),
    ],
)
def test_invalid_addresses_are_refused_with_a_reason(address: str, message: str) -> None:
    assert message in problem(address)
    with pytest.raises(AddressError, match=re.escape(message)):
        origin(address)


def test_an_address_is_written_with_its_own_origin() -> None:
    assert origin("https://API.example.org./v1") == Origin("https", "api.example.org", 443)
    assert canonical("https://API.example.org./v1/x") == "https://api.example.org:443/v1/x"
    assert canonical("http://[0:0:0:0:0:0:0:1]:80") == "http://[::1]:80"


def test_a_key_belongs_to_one_origin() -> None:
    assert same_origin("https://api.example.org/v1", "https://API.example.org.:443/v2")
    assert not same_origin("https://api.example.org/v1", "https://api.example.org:8443/v1")
    assert not same_origin("https://127.1/v1", "https://127.1/v1")
