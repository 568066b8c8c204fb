"""What a deployment allows SERVICE to do: nothing, unless it is configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, assert_never

from headrace.algebra.operators import Operator
from headrace.background.addresses import Network, parse_networks
from headrace.background.descriptions import Dynamics, time_between_changes
from headrace.background.urls import Url, UrlError, normal
from headrace.errors import SettingError
from headrace.rdf.iri import is_absolute, is_well_formed
from headrace.rdf.terms import Term

_MOST_IN_A_BLOCK: Final = 10_000
_JOINS: Final = ("auto", "nested", "blocks", "hash")
_FILLS: Final = ("whole", "window")
_REFRESHES: Final = ("auto", "blocks", "bound")


@dataclass(frozen=True, slots=True)
class Basic:
    """A user and a password; neither is ever shown."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token; it is never shown."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who we are to the endpoints below a prefix."""

    prefix: str
    secret: Basic | Bearer

    def __post_init__(self) -> None:
        """Refuse a prefix that is no IRI, and secrets that would end a line of HTTP."""
        _normal(self.prefix, "credentials")
        match self.secret:
            case Basic(user, password):
                parts = (user, password)
                if ":" in user:
                    raise SettingError("expected no ':' in the user of an endpoint")
            case Bearer(token):
                parts = (token, "")
            case _:
                assert_never(self.secret)
        if any(not part.isprintable() for part in parts):
            raise SettingError(f"expected printable characters in credentials for {self.prefix}")
        if isinstance(self.secret, Bearer) and not self.secret.token.isascii():
            raise SettingError(f"expected ASCII in the token for {self.prefix}")


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Which endpoints may be asked, and what that may cost.

    Attributes:
        allow: prefixes of the IRIs of endpoints; none allows none. A prefix has a scheme and a
            host, which must be the same, and a path, which may go on after a slash.
        private: addresses and networks that are not public but may be connected to.
        connect: seconds until a connection is there.
        total: seconds until the whole answer is there, retries and all blocks included.
        retries: how often a request that failed is sent again.
        backoff: seconds before the first retry; each later one waits twice as long.
        longest_backoff: seconds that it waits at most.
        response_bytes: size of one answer, decompressed.
        rows: rows of all answers together.
        block: how many bindings are sent in one request.
        url_characters: how long a URL may be; a longer query is sent by POST.
        credentials: who we are, by prefixes of endpoints.
        join: how a plain SERVICE is joined: `nested`, one binding in each request, put into the
            pattern as endpoints of SPARQL 1.0 need it; `blocks` of VALUES; `hash`, all solutions
            in one request; or `auto`, by the measured cost of blocks and hash.
        view: how many mappings the local view of a SERVICE under a budget may hold.
        fill: what such a view begins with: `whole`, all there is unless that is more than it may
            hold, or `window`, what windows ask for.
        refresh: how mappings are refreshed: in `blocks` of VALUES, by `bound` queries of one each,
            as endpoints of SPARQL 1.0 need them, or `auto`, blocks where they are understood.
        lanes: how many such requests are in flight at once.
        changes: seconds between two changes of a mapping, where they are known, by prefixes of
            endpoints.
        described: the same as descriptions of datasets declare it (`descriptions.described`);
            `changes` overrides it.
        each: how often single mappings change, by their keys
            (`change_intervals.read_change_intervals`); other mappings change as often as their
            endpoint.
        changes_by: the IRI of a property by which the data of endpoints say how often a key
            changes: its value is a duration or a frequency. It is asked for with each mapping.
        rate: how many requests a view may send in a second between evaluations; None sends none.
            `service.rate` of a query overrides it.
    """

    allow: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    connect: float = 5.0
    total: float = 30.0
    retries: int = 2
    backoff: float = 0.2
    longest_backoff: float = 5.0
    response_bytes: int = 16_000_000
    rows: int = 100_000
    block: int = 50
    url_characters: int = 2_000
    credentials: tuple[Credentials, ...] = ()
    join: str = "auto"
    view: int = 100_000
    fill: str = "whole"
    refresh: str = "auto"
    lanes: int = 4
    changes: tuple[tuple[str, float], ...] = ()
    described: tuple[Dynamics, ...] = ()
    each: Mapping[Term, float] = field(default_factory=dict)
    changes_by: str | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        """Refuse what could never work."""
        for prefix in self.allow:
            _normal(prefix, "an allowed endpoint")
        try:
            parse_networks(self.private)
        except ValueError as error:
            raise SettingError(f"expected private addresses or networks: {error}") from None
        for name in ("connect", "total", "response_bytes", "rows", "block", "view", "lanes"):
            if getattr(self, name) <= 0:
                raise SettingError(f"expected a positive {name}, found {getattr(self, name)}")
        for name in ("retries", "backoff", "longest_backoff", "url_characters"):
            if getattr(self, name) < 0:
                raise SettingError(f"expected no negative {name}, found {getattr(self, name)}")
        for name, words in (("fill", _FILLS), ("refresh", _REFRESHES), ("join", _JOINS)):
            if getattr(self, name) not in words:
                found = getattr(self, name)
                raise SettingError(f"expected {name} as {' or '.join(words)}, found {found!r}")
        for prefix, seconds in self.changes:
            _normal(prefix, "changes")
            if seconds <= 0:
                raise SettingError(f"expected a positive time between changes, found {seconds}")
        for key, seconds in self.each.items():
            if not seconds > 0:
                raise SettingError(
                    f"expected a positive time between changes of {key}, found {seconds}"
                )
        if self.rate is not None and not 0 < self.rate < inf:
            raise SettingError(
                f"expected a positive rate, in requests in a second, found {self.rate}"
            )
        if self.changes_by is not None and not (
            is_absolute(self.changes_by) and is_well_formed(self.changes_by)
        ):
            raise SettingError(
                f"expected changes_by as the absolute IRI of a property, found {self.changes_by!r}"
            )
        if self.block > _MOST_IN_A_BLOCK:
            raise SettingError(f"expected a block of at most {_MOST_IN_A_BLOCK:,} bindings")

    def allows(self, endpoint: Url) -> bool:
        """Whether an endpoint is below an allowed prefix.

        >>> ServiceConfig(allow=("http://good.example",)).allows(normal("http://good.example/s"))
        True
        >>> ServiceConfig().allows(normal("http://good.example/s"))
        False
        """
        return any(normal(prefix).covers(endpoint) for prefix in self.allow)

    def secret_for(self, endpoint: Url) -> Basic | Bearer | None:
        """Who we are to an endpoint: the credentials of the longest prefix it is below."""
        fitting = [
            (len(str(prefix)), each.secret)
            for each in self.credentials
            if (prefix := normal(each.prefix)).covers(endpoint)
        ]
        return max(fitting, key=lambda each: each[0])[1] if fitting else None

    def time_between_changes(self, endpoint: Url, pattern: Operator) -> float | None:
        """Seconds between changes of a mapping, if somebody has declared them.

        Those of the longest prefix of its endpoint, or else what is described of that.
        """
        fitting = [
            (len(str(prefix)), seconds)
            for each, seconds in self.changes
            if (prefix := normal(each)).covers(endpoint)
        ]
        if fitting:
            return max(fitting)[1]
        return time_between_changes(self.described, endpoint, pattern)

    def networks(self) -> tuple[Network, ...]:
        """The private networks that may be connected to."""
        return parse_networks(self.private)


def _normal(prefix: str, what: str) -> Url:
    try:
        return normal(prefix)
    except UrlError as error:
        raise SettingError(f"expected a prefix for {what}: {error}") from None
