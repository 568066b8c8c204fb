"""The names and types of the columns that the kernel and the runtime exchange."""

from __future__ import annotations

from typing import Final

import polars as pl

from headrace.algebra.expressions import Variable

POSITION: Final = "position"
"""The place of an element among all that have come; its statements share it."""
TIME: Final = "time"
"""The event time of an element, in microseconds."""
HIGH: Final = "high"
"""The greatest event time of its stream just before the element came; null if it is the first."""
STREAM: Final = "stream"
"""Which of a query's streams a statement is of, by number."""
GRAPH: Final = "graph"
SUBJECT: Final = "subject"
PREDICATE: Final = "predicate"
OBJECT: Final = "object"
STATEMENT: Final = (GRAPH, SUBJECT, PREDICATE, OBJECT)
"""Term ids; a null graph is the default graph."""

FIRST: Final = "first"
LAST: Final = "last"
"""The first and the last instant at which a window holds a statement."""
INSTANT: Final = "instant"
"""The instant that a solution belongs to, by its number in the evaluation; part of every key."""

ID: Final = "id"
TEXT: Final = "text"
"""A term's id and its canonical N-Triples form."""

ARRIVALS: Final = pl.Schema(dict.fromkeys((POSITION, TIME, HIGH, *STATEMENT), pl.Int64))
"""Statements of a stream as they come in."""
CONTENTS: Final = pl.Schema(dict.fromkeys((FIRST, LAST, TIME, STREAM, *STATEMENT), pl.Int64))
"""Statements in windows."""
TERMS: Final = pl.Schema({ID: pl.Int64, TEXT: pl.String})
QUOTED: Final = pl.Schema(dict.fromkeys((ID, SUBJECT, PREDICATE, OBJECT), pl.Int64))
"""Quoted triples and their parts."""
QUADS: Final = pl.Schema(dict.fromkeys(STATEMENT, pl.Int64))


def kind_of(name: str) -> str:
    """The column with the kinds of a variable's terms, where a scan has brought it along."""
    return f"kind {name}"


def number_of(name: str) -> str:
    """The column with the numbers of a variable's terms, where a scan has brought it along."""
    return f"number {name}"


STAMP: Final = "time of "
"""How the columns of stream times begin."""

END: Final = f"{STAMP}the end"
START: Final = f"{STAMP}the start"
"""The columns with the interval of a solution: the latest time of the stream triples that made it,
and the earliest, negated. So for both, as for other times, the greater one of two counts.
"""
SPAN: Final = "interval"
"""What stands for the two of them."""

CHANCE: Final = "chance of "
"""How the columns begin that say how likely the remote data in a solution are fresh, in millionths.
"""


def time_of(name: str, stream: int) -> str:
    """The column with the latest time of a stream's triples that bound a variable."""
    return f"{STAMP}{name} in {stream}"


def column(variable: Variable) -> str:
    """The column of a variable, which no column above can be mistaken for.

    >>> column(Variable("time"))
    '?time'
    """
    return f"?{variable.name}"
