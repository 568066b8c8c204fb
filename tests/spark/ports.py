"""Which addresses this process and those it started listen on, as Linux says."""

from __future__ import annotations

import os
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

LISTENING = "0A"


def listening_addresses() -> set[IPv4Address | IPv6Address]:
    inodes = {inode for process in _family() for inode in _sockets(process)}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in inodes:
                found.add(_address(fields[1].split(":")[0]))
    return found


def _address(text: str) -> IPv4Address | IPv6Address:
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    address = ip_address(b"".join(words))
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _family() -> set[int]:
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return family


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
