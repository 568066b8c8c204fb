"""How the kernel has remote mappings fetched; who does it stands in a later layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Service
from headrace.freshness.scores import Ints
from headrace.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class Reply:
    """What endpoints have said to some requests.

    Attributes:
        rows: the solutions, a column of ids for each variable.
        answered: of each key that was asked for, whether there was an answer.
        requests: how many requests were sent.
        seconds: how long each request took that was answered.
        batch: how many keys each request asked for, at most.
        problem: why there was no answer to some, if so.
    """

    rows: pl.DataFrame
    answered: tuple[bool, ...] = ()
    requests: int = 0
    seconds: tuple[float, ...] = ()
    batch: int = 1
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Filling:
    """What has become of the request for everything.

    Attributes:
        rows: the solutions; None if they are not there yet, or too many, or cannot be had.
        waits: whether they may still come.
        too_many: whether there are more than a view may hold.
        requests: how many requests were sent.
        problem: why they cannot be had.
    """

    rows: pl.DataFrame | None = None
    waits: bool = False
    too_many: bool = False
    requests: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Replies:
    """The replies of endpoints between two evaluations.

    Attributes:
        answered: the time of the evaluation after which some keys were asked for, those keys, and
            their solutions.
        sent: how many keys were asked for.
        requests: how many requests were sent.
        seconds: how long each took that was answered.
        problem: why there was no answer to some, if so.
    """

    answered: tuple[tuple[int, pl.DataFrame, pl.DataFrame], ...] = ()
    sent: int = 0
    requests: int = 0
    seconds: tuple[float, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Habits:
    """What a deployment says of views.

    Attributes:
        most: how many mappings a view may hold.
        whole: whether a view is filled with all there is, if that is not too much.
        lanes: how many requests are in flight at once.
        block: how many keys one request asks for.
        expected: microseconds between changes of a mapping of which nothing is known; None is ten
            times the slide of the window.
        rows: how many rows a view may hold.
        refused: why the endpoint is never asked, where the query bears that (SILENT).
        rate: how many requests may be sent in a second between evaluations, if the query does not
            say it; None sends none.
        changes_by: the property that says how often a key changes, where the data have one.
        declares: whether it is declared of single keys how often they change.
    """

    most: int = 100_000
    whole: bool = True
    lanes: int = 4
    block: int = 50
    expected: int | None = None
    rows: int = 100_000
    refused: str | None = None
    rate: float | None = None
    changes_by: Iri | None = None
    declares: bool = False


class Fetch(Protocol):
    """Asks endpoints, several requests at once and none twice."""

    def clock(self) -> float:
        """Seconds."""

    def habits(self, service: Service) -> Habits:
        """What the deployment says of the view of a service."""

    def everything(self, service: Service, scope: str, within: float | None) -> Filling:
        """All solutions; asked for once for each scope, and waited for so many seconds."""

    def identities(self, keys: pl.DataFrame) -> Ints:
        """A number for each key that tells it from any other, in this process and in any other."""

    def without_blank_nodes(self, rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
        """Some columns of rows, with the same number in the place of every blank node."""

    def some(
        self,
        service: Service,
        keys: tuple[Variable, ...],
        asked: pl.DataFrame,
        within: float | None,
        scope: str,
    ) -> Reply:
        """The solutions of some keys, whatever is there after so many seconds.

        Args:
            service: whose.
            keys: the variables of the keys.
            asked: the keys.
            within: seconds; None waits as long as the deployment allows.
            scope: what tells blank nodes of these answers from those of any others.
        """

    def ask_ahead(
        self,
        service: Service,
        keys: tuple[Variable, ...],
        asked: pl.DataFrame,
        rate: float,
        scope: str,
        now: int,
    ) -> None:
        """Ask for some keys from now until the replies are taken, in this order.

        Args:
            service: whose.
            keys: the variables of the keys.
            asked: the keys.
            rate: how many requests may be sent in a second.
            scope: of the view.
            now: the time of the evaluation that has just ended.
        """

    def declared(self, keys: pl.DataFrame) -> Ints:
        """Look up the declared change intervals of some keys, in microseconds; 0 without one."""

    def durations(self, ids: pl.Series) -> Ints:
        """Read terms as change intervals, in microseconds; 0 for terms that are none."""

    def replies(self, service: Service, keys: tuple[Variable, ...], scope: str) -> Replies:
        """Return the replies since the last call, and send nothing more."""
