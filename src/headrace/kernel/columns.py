"""The names and types of the columns that the kernel and the runtime exchange."""

from __future__ import annotations

from typing import Final

import polars as pl

from headrace.algebra.expressions import Variable

TIME: Final = "time"
"""The event time of an element, in microseconds."""
WATERMARK: Final = "watermark"
"""The watermark of its stream just before the element came; null before the first one."""
GRAPH: Final = "graph"
SUBJECT: Final = "subject"
PREDICATE: Final = "predicate"
OBJECT: Final = "object"
STATEMENT: Final = (GRAPH, SUBJECT, PREDICATE, OBJECT)
"""Term ids; a null graph is the default graph."""

FIRST: Final = "first"
LAST: Final = "last"
"""The first and the last close of the windows that hold an element."""
INSTANT: Final = "instant"
"""The close that a solution belongs to; part of every key."""

ID: Final = "id"
TEXT: Final = "text"
"""A term's id and its canonical N-Triples form."""

ELEMENTS: Final = pl.Schema(dict.fromkeys((TIME, WATERMARK, *STATEMENT), pl.Int64))
CONTENTS: Final = pl.Schema(dict.fromkeys((FIRST, LAST, *STATEMENT), pl.Int64))
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


def column(variable: Variable) -> str:
    """The column of a variable, which no column above can be mistaken for.

    >>> column(Variable("time"))
    '?time'
    """
    return f"?{variable.name}"
