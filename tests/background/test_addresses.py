"""Which addresses may be connected to."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from headrace.background.addresses import (
    AddressError,
    PrivateAddressError,
    admitted,
    is_admitted,
    look_up,
    parse_networks,
)

PUBLIC = ["93.184.215.14", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8"]
NOT_PUBLIC = [
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "100::1",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_admitted(text: str) -> None:
    assert is_admitted(ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_others_are_not_unless_they_are_named(text: str) -> None:
    address = ip_address(text)
    assert not is_admitted(address)
    assert not is_admitted(address, parse_networks(["203.0.113.0/24"]))
    if "%" not in text:
        assert is_admitted(address, parse_networks(["0.0.0.0/0", "::/0"]))


def test_a_name_of_an_address_wrapped_in_ipv6_is_still_that_address() -> None:
    named = parse_networks(["127.0.0.1"])
    assert is_admitted(ip_address("::ffff:127.0.0.1"), named)
    assert not is_admitted(ip_address("::ffff:127.0.0.2"), named)


def test_only_admitted_addresses_of_a_host_are_used() -> None:
    def resolve(host: str, port: int, within: float) -> list[str]:
        assert (host, port, within) == ("a.example", 80, 1.0)
        return ["10.0.0.1", "8.8.8.8"]

    assert admitted("a.example", 80, (), resolve, 1.0) == ["8.8.8.8"]


def test_a_host_without_an_admitted_address_is_refused() -> None:
    with pytest.raises(PrivateAddressError, match=r"10\.0\.0\.1 is not public"):
        admitted("a.example", 80, (), lambda *_: ["10.0.0.1"], 1.0)


def test_addresses_need_no_looking_up() -> None:
    assert look_up("192.0.2.1", 80, 0.0) == ["192.0.2.1"]
    assert look_up("::1", 80, 0.0) == ["::1"]


def test_the_system_is_asked_for_names_and_not_waited_for_too_long() -> None:
    assert set(look_up("localhost", 80, 5.0)) <= {"127.0.0.1", "::1"}
    with pytest.raises(AddressError):
        look_up("does-not-exist.invalid", 80, 2.0)
