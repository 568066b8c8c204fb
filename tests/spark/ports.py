"""What a process and those it started listen on, as Linux says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

LISTENING = "0A"
BOUND = "07"
"""What Linux calls a UDP socket that takes messages from anyone."""
TABLES = {"tcp": LISTENING, "tcp6": LISTENING, "udp": BOUND, "udp6": BOUND}


@dataclass(frozen=True)
class Listening:
    """A socket that others can reach, and the program that listens there."""

    program: str
    kind: str
    address: IPv4Address | IPv6Address
    port: int


def listening_addresses() -> set[IPv4Address | IPv6Address]:
    return {each.address for each in listening(os.getpid())}


def listening(root: int) -> set[Listening]:
    """What a process and those it started listen on."""
    owners = {inode: process for process in family(root) for inode in _sockets(process)}
    found = set()
    for table, state in TABLES.items():
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == state and fields[9] in owners:
                address, port = fields[1].split(":")
                program = _program(owners[fields[9]])
                found.add(Listening(program, table[:3], _address(address), int(port, 16)))
    return found


def _address(text: str) -> IPv4Address | IPv6Address:
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    address = ip_address(b"".join(words))
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def family(root: int) -> set[int]:
    """A process and all that it started, and so on."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _program(process: int) -> str:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return " ".join([Path(command[0].decode()).name, *(each.decode() for each in command[1:])])


def _sockets(process: int) -> list[str]:
    found = []
    for handle in Path(f"/proc/{process}/fd").glob("*"):
        try:
            target = str(handle.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            found.append(target[8:-1])
    return found
