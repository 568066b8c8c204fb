"""Which addresses may be connected to: public ones, and private ones that are named.

A name is looked up once, every address it has is checked, and the connection is made to one that
passed. So a name that means something else a moment later gains nothing.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
Resolve: TypeAlias = Callable[[str, int, float], list[str]]
"""The addresses of a host and port, found within some seconds."""

# Addresses that stand for others, of IPv4, wherever a gateway says so.
_GATEWAYS: Final = (
    IPv6Network("64:ff9b::/96"),
    IPv6Network("64:ff9b:1::/48"),
    IPv6Network("2002::/16"),
    IPv6Network("2001::/32"),
    IPv6Network("::/96"),
)


class AddressError(OSError):
    """A host has no address."""


class PrivateAddressError(AddressError):
    """A host has addresses, but none that may be connected to."""


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Addresses and networks as the user names them.

    >>> parse_networks(["127.0.0.1", "10.0.0.0/8"])
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.0.0.0/8'))

    Raises:
        ValueError: if one is neither.
    """
    return tuple(ip_network(text, strict=False) for text in texts)


def is_admitted(address: Address, named: Iterable[Network] = ()) -> bool:
    """Whether an address may be connected to.

    >>> is_admitted(ip_address("192.0.2.1")), is_admitted(ip_address("93.184.215.14"))
    (False, True)
    """
    plain = _plain(address)
    return is_public(plain) or any(plain in network for network in named)


def is_public(address: Address) -> bool:
    """Whether an address is of the public internet, and of one host."""
    if isinstance(address, IPv6Address) and any(address in each for each in _GATEWAYS):
        return False
    return address.is_global and not (
        address.is_multicast
        or address.is_reserved
        or address.is_loopback
        or address.is_link_local
        or address.is_unspecified
        or (isinstance(address, IPv6Address) and address.is_site_local)
    )


def _plain(address: Address) -> Address:
    """The address of IPv4 that one of IPv6 only wraps."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def admitted(
    host: str, port: int, named: Iterable[Network], resolve: Resolve, within: float
) -> list[str]:
    """The addresses of a host that may be connected to.

    Raises:
        AddressError: if it has none at all.
        PrivateAddressError: if it has only others.
    """
    found = resolve(host, port, within)
    passed = [text for text in found if is_admitted(ip_address(text), named)]
    if not passed:
        shown = ", ".join(found[:4])
        raise PrivateAddressError(f"its address {shown} is not public")
    return passed


def look_up(host: str, port: int, within: float) -> list[str]:
    """Ask the system for the addresses of a host, and give up in time, which it does not.

    Raises:
        AddressError: if the host has none, or they are not found in time.
    """
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    answer: list[list[str]] = []
    problem: list[OSError] = []

    def ask() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.append(list(dict.fromkeys(str(row[4][0]) for row in rows)))
        except OSError as error:
            problem.append(error)
        except UnicodeError:
            problem.append(OSError("it is no name of a host"))

    thread = threading.Thread(target=ask, name=f"look up {host}", daemon=True)
    thread.start()
    thread.join(within)
    if problem:
        raise AddressError(f"its host '{host}' is not found: {problem[0].strerror or problem[0]}")
    if not answer or not answer[0]:
        raise AddressError(f"its host '{host}' is not found in time")
    return answer[0]
