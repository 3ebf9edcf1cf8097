"""Addresses that may be called: the targets of request forgery, with a scripted resolver."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from evaluator.providers.guard import ForbiddenAddressError, Policy, UnknownHostError, resolve
from submissions.endpoints.addresses import Origin, origin

PUBLIC_ONLY = Policy()
NOT_PUBLIC = "This address is not allowed: it is not public. The operator of this site can allow it."
PUBLIC = "93.184.215.14"


INTERNAL = [
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1"),
    *("192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "203.0.113.1", "168.63.129.16"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1"),
    *("::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1"),
    *("2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"),
]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The resolver's answers, one list per call. It fails when none is left."""
    scripted: list[list[str]] = []

    def look_up(host: str, port: int, **options: Any) -> list[Any]:
        if not scripted:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in scripted.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return scripted


@pytest.mark.parametrize("address", INTERNAL)
def test_no_name_and_no_literal_address_leads_inside(address: str, answers: list[list[str]]) -> None:
    answers += [[address], [PUBLIC, address], [address, PUBLIC]]
    named = Origin("https", "models.example", 443)
    literal = origin(f"https://[{address}]/v1" if ":" in address else f"https://{address}/v1")
    for target in (named, named, named, literal):
        with pytest.raises(ForbiddenAddressError) as refused:
            resolve(target, PUBLIC_ONLY)
        # The author must not learn what the name resolves to.
        assert str(refused.value) == NOT_PUBLIC
    assert answers == []


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:21f:cb07:6820:80da:af6b:8b2c", f"::ffff:{PUBLIC}"])
def test_public_addresses_may_be_called(address: str, answers: list[list[str]]) -> None:
    answers.append([address])
    found = resolve(Origin("https", "models.example", 443), PUBLIC_ONLY)
    assert found == (PUBLIC if PUBLIC in address else address,)


def test_names_without_an_address_are_unknown_rather_than_forbidden(answers: list[list[str]]) -> None:
    answers.append([])
    for _ in range(2):
        with pytest.raises(UnknownHostError, match=r"^The host name has no IP address\. Check its spelling\.$"):
            resolve(Origin("https", "models.example", 443), PUBLIC_ONLY)


@pytest.mark.parametrize(
    "url", ["http://models.example/v1", "https://models.example:22/", "http://models.example:443/"]
)
def test_other_ways_are_open_to_listed_networks_only(url: str, answers: list[list[str]]) -> None:
    listed = Policy.of(["10.1.0.0/16", "fd00:1::/32"])
    answers += [[PUBLIC], ["10.1.2.3", PUBLIC], ["10.1.2.3", "10.2.0.1"], ["::ffff:10.1.2.3", "fd00:1::7"]]
    way = "Use https:// and port 443 or 8443; other ways are open to the operator's own networks only."
    for message in (way, way, NOT_PUBLIC):
        with pytest.raises(ForbiddenAddressError) as refused:
            resolve(origin(url), listed)
        assert str(refused.value) == message
    assert resolve(origin(url), listed) == ("10.1.2.3", "fd00:1::7")


def test_a_listed_network_does_not_open_the_others(answers: list[list[str]]) -> None:
    with pytest.raises(ForbiddenAddressError):
        resolve(Origin("http", "127.0.0.1", 8000), Policy.of(["127.0.0.2/32"]))
    assert resolve(Origin("http", "127.0.0.2", 8000), Policy.of([" 127.0.0.2/32 "])) == ("127.0.0.2",)
