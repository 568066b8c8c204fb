"""Which endpoints may be asked: their IRIs in one normal form, against a list of prefixes.

Nothing here looks a name up or connects. A form that two programs could read in two ways, such
as a user before the host, a backslash or a decimal address, is refused rather than interpreted.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import quote, unquote

import regex as re  # the possessive loops of re are wrong before Python 3.11.5

_PARTS: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)"
    r"(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?",
)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:]*)(?::(?P<port>[0-9]*))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f-\x9f\\\"<>^`{}|\ud800-\udfff]")
_PORTS: Final = {"http": 80, "https": 443}
_LONGEST: Final = 2_000
_LONGEST_HOST: Final = 253
_LAST_PORT: Final = 65_535
_KEPT_IN_PATH: Final = "/:@!$&'()*+,;=~%-._"
_KEPT_IN_QUERY: Final = _KEPT_IN_PATH + "?"


class UrlError(ValueError):
    """An IRI is not one that can be asked; the text says why."""


@dataclass(frozen=True, slots=True)
class Url:
    """An IRI of http or https in its normal form."""

    scheme: str
    host: str
    port: int
    path: str
    query: str | None = None

    def __str__(self) -> str:
        """Write it down, without a port that goes without saying."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        query = "" if self.query is None else f"?{self.query}"
        return f"{self.scheme}://{host}{port}{self.path}{query}"

    def covers(self, other: Url) -> bool:
        """Whether another one is this one or below it: the same host, and a path that goes on.

        A path goes on at a slash, a query at an ampersand, so that a prefix never ends within a
        name.

        >>> normal("http://a.org/x").covers(normal("http://a.org/x/y?q"))
        True
        >>> normal("http://a.org/x").covers(normal("http://a.org/xy"))
        False
        """
        if (self.scheme, self.host, self.port) != (other.scheme, other.host, other.port):
            return False
        if self.query is not None:
            given = other.query or ""
            same = given == self.query or given.startswith(self.query + "&")
            return self.path == other.path and other.query is not None and same
        return other.path == self.path or other.path.startswith(self.path.rstrip("/") + "/")


def normal(iri: str) -> Url:
    """The normal form of an IRI.

    >>> print(normal("HTTP://Example.ORG:80"))
    http://example.org/

    Raises:
        UrlError: if it is not one of http or https, or could be understood in two ways.
    """
    if len(iri) > _LONGEST:
        raise UrlError(f"expected an IRI of at most {_LONGEST:,} characters")
    if unsafe := _UNSAFE.search(iri):
        raise UrlError(f"expected no {unsafe[0]!r} in an IRI")
    if "#" in iri:
        raise UrlError("expected no fragment, which no server ever sees")
    parts = _PARTS.fullmatch(iri)
    if parts is None or parts["scheme"].lower() not in _PORTS:
        raise UrlError("expected an IRI that starts with http:// or https://")
    scheme = parts["scheme"].lower()
    if "@" in parts["authority"]:
        raise UrlError("expected no user in the IRI; credentials are configured apart from it")
    authority = _AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        raise UrlError("expected a host and at most a port")
    query = parts["query"]
    return Url(
        scheme,
        _host(authority["host"]),
        _port(authority["port"], scheme),
        _path(parts["path"] or "/"),
        None if query is None else _quoted(query, _KEPT_IN_QUERY),
    )


def _host(host: str) -> str:
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except AddressValueError:
            raise UrlError(f"expected an address of IPv6, found {host!r}") from None
    name = host.lower().removesuffix(".")
    if not name.isascii():
        raise UrlError("expected a host in ASCII; write its Punycode form, which starts with xn--")
    labels = name.split(".")
    if len(name) > _LONGEST_HOST or not all(map(_LABEL.fullmatch, labels)):
        raise UrlError(f"expected the name of a host, found {host!r}")
    if _NUMERIC.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(name))
        except AddressValueError:  # decimal, octal, hexadecimal or short: some read it, some not
            raise UrlError(f"expected an address such as 192.0.2.1, found {host!r}") from None
    return name


def _port(port: str | None, scheme: str) -> int:
    if not port:
        return _PORTS[scheme]
    number = int(port[:6])
    if not 0 < number <= _LAST_PORT or len(port) > len(str(_LAST_PORT)):
        raise UrlError(f"expected a port from 1 to {_LAST_PORT:,}, found {port[:10]!r}")
    return number


def _path(path: str) -> str:
    """The path, if no server could take it for that of something further up."""
    seen = path
    while (plain := unquote(seen)) != seen:  # also what was encoded twice
        seen = plain
    if any(segment in {".", ".."} for segment in re.split(r"[/\\;]", seen)):
        raise UrlError("expected no '.' or '..' in the path")
    return _quoted(path, _KEPT_IN_PATH)


def _quoted(text: str, kept: str) -> str:
    """The text with its characters beyond ASCII encoded, and all codes in capital letters."""
    encoded = quote(text, safe=kept)
    return re.sub(r"%[0-9a-fA-F]{2}", lambda found: found[0].upper(), encoded)
