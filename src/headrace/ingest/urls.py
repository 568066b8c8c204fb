"""What the URL of a source says: where to connect to, as whom, and the options after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

import regex as re

from headrace.errors import SettingError, listing, nearest

# A path may have a # in it, which topics of MQTT have: nothing here is a fragment.
_PARTS: Final = re.compile(
    r"(?P<scheme>[a-z]+)://(?:(?P<user>[^:@/?]*)(?::(?P<password>[^@/?]*))?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:/?\[\]@]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/(?P<path>[^?]*))?(?:\?(?P<options>.*))?"
)
_LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class SourceUrl:
    """The parts of a URL, with what is encoded in them decoded.

    Attributes:
        scheme: what stands before the colon.
        host: a name or an address.
        port: the one given, or that of the scheme.
        path: what follows the first slash after the host.
        options: what stands after the question mark.
        user: as whom to connect.
        password: never shown.
    """

    scheme: str
    host: str
    port: int
    path: str
    options: Mapping[str, str]
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """Where it is, for messages: without user, password and options."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/{self.path}".rstrip("/")


def parse_url(text: str, ports: Mapping[str, int | None], options: Collection[str]) -> SourceUrl:
    """The parts of a URL.

    >>> print(parse_url("mqtt://me:secret@broker/a/#?qos=1", {"mqtt": 1883}, ["qos"]))
    mqtt://broker:1883/a/#

    Args:
        text: the URL.
        ports: the schemes it may have, each with its port if it need not be written.
        options: the names of options it may have.

    Raises:
        SettingError: if it is not of this form; what is between // and @ is not shown.
    """
    parts = _PARTS.fullmatch(text)
    if parts is None or parts["scheme"] not in ports:
        form = " or ".join(f"{scheme}://HOST:PORT" for scheme in ports)
        raise SettingError(f"expected a URL such as {form}, found '{_without_user(text)}'")
    port = int(parts["port"]) if parts["port"] else ports[parts["scheme"]]
    if port is None or not 0 < port <= _LAST_PORT:
        raise SettingError(
            f"expected a port from 1 to {_LAST_PORT:,} after the host in '{_without_user(text)}'"
        )
    return SourceUrl(
        parts["scheme"],
        parts["host"].strip("[]"),
        port,
        unquote(parts["path"] or ""),
        options_of(parts["options"], options),
        None if parts["user"] is None else unquote(parts["user"]),
        None if parts["password"] is None else unquote(parts["password"]),
    )


def options_of(text: str | None, known: Collection[str]) -> dict[str, str]:
    """The options after the question mark of a URL.

    Raises:
        SettingError: one is not known.
    """
    found = dict[str, str]()
    for option in (text or "").split("&") if text else ():
        name, _, value = option.partition("=")
        if name not in known:
            close = nearest(name, known)
            suggestion = f"; did you mean '{close}'?" if close else ""
            raise SettingError(f"expected the option {listing(known)}, found '{name}'{suggestion}")
        found[name] = unquote(value)  # a plus is a plus, as in application/ld+json
    return found


def _without_user(text: str) -> str:
    scheme, slashes, rest = text.partition("//")
    return scheme + slashes + rest.rpartition("@")[2]
