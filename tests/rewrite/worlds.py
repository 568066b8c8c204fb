"""Small random data to evaluate patterns over, and the kernel over the same data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Final

import polars as pl

from headrace.algebra.operators import Operator
from headrace.functions.calls import Calls
from headrace.functions.table import Functions
from headrace.kernel.columns import CONTENTS
from headrace.kernel.data import Data, Quads, WindowContents, united
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.snapshot import evaluate
from headrace.kernel.surroundings import Surroundings
from headrace.rdf.terms import Iri, Literal, Quad, Term
from headrace.rdf.vocabulary import RSPU_DISTRIBUTION, XSD_DECIMAL, XSD_INTEGER
from tests.rewrite.naive import Dataset, Statements, Times, Triple, World

NODES: Final = tuple(Iri(f"x:{name}") for name in "abc")
PROPERTIES: Final = tuple(Iri(f"x:{name}") for name in "pqr")
NUMBERS: Final = (
    Literal("1", XSD_INTEGER),
    Literal("2", XSD_INTEGER),
    Literal("2.5", XSD_DECIMAL),
    Literal("x"),
)
GRAPHS: Final = (Iri("x:g"), Iri("x:h"))
DISTRIBUTIONS: Final = tuple(
    Literal(text, RSPU_DISTRIBUTION) for text in ("N(2,1)", "U(0,3)", "E(1)", "U(3,0)")
)
"""Of families that columns know, of one that they do not, and one that is none."""
Objects = tuple[Term, ...]
OBJECTS: Final[Objects] = (*NODES, *NUMBERS, *GRAPHS[:1])
UNCERTAIN_OBJECTS: Final[Objects] = (*OBJECTS, *DISTRIBUTIONS)
WINDOWS: Final = ((Iri("x:w"), Iri("x:s")), (Iri("x:v"), Iri("x:t")))
"""The names of windows, and the streams that they are on."""
_LATEST: Final = 9


def random_world(
    random: Random, in_default: Iterable[Iri] = (), objects: Objects = OBJECTS
) -> World:
    """Few nodes and few properties, so that much joins; many worlds hold the same triple twice."""
    windows = {
        (name, stream): _dataset(random, random.randrange(7), objects, stream)
        for name, stream in WINDOWS
    }
    return World(_dataset(random, random.randrange(10), objects), windows, frozenset(in_default))


def _dataset(random: Random, size: int, objects: Objects, stream: Iri | None = None) -> Dataset:
    named: dict[Term, Statements] = {
        graph: _statements(random, random.randint(1, 4), objects, stream)
        for graph in GRAPHS
        if random.random() < 0.7
    }
    return Dataset(_statements(random, size, objects, stream), named)


def _statements(random: Random, size: int, objects: Objects, stream: Iri | None) -> Statements:
    found: dict[Triple, Times] = {}
    for _ in range(size):
        triple = (random.choice(NODES), random.choice(PROPERTIES), random.choice(objects))
        found[triple] = {} if stream is None else {stream: random.randint(1, _LATEST) * 1_000_000}
    return found


def kernel_bag(
    operator: Operator,
    world: World,
    functions: Functions | None = None,
    *,
    cached: bool = True,
    precomputes: bool = False,
) -> Counter[frozenset[tuple[str, Term]]]:
    """What the kernel finds, in the same form as `naive.bag`.

    Where functions are given, it chooses when to test conditions, by what those cost. Unless calls
    are cached, each is made for every solution. What is static may be computed beforehand.
    """
    dictionary = Dictionary()
    static = Data(Quads(dictionary.encode_quads(_quads(world.static))))
    streams = tuple(dict.fromkeys(stream for _, stream in world.windows))
    windows = tuple(
        WindowContents(name, stream, _held(held, streams.index(stream), dictionary))
        for (name, stream), held in world.windows.items()
    )
    shown = [window.quads for window in windows if window.name in world.in_default]
    data = Data(united(shown), beneath=static) if shown else static
    instants = range(1)
    around = Surroundings(dictionary, instants, windows=windows, streams=streams)
    context = replace(around.context, calls=Calls(cached))
    around = replace(around, context=context, precomputes=precomputes)
    if functions is not None:
        context = replace(around.context, functions=functions)
        around = replace(around, context=context, chooses=True)
    found = evaluate(operator, data, around).expanded(instants)
    columns = [dictionary.terms(found.frame[name]) for name in found.names]
    names = [name[1:] for name in found.names]
    rows = zip(*columns, strict=True) if columns else ((),) * found.height
    return Counter(
        frozenset((n, t) for n, t in zip(names, row, strict=True) if t is not None) for row in rows
    )


def _quads(data: Dataset) -> list[Quad]:
    return [
        Quad(*triple, graph)
        for graph, statements in [(None, data.default), *data.named.items()]
        for triple in statements
    ]


def _held(data: Dataset, number: int, dictionary: Dictionary) -> Quads:
    rows = [
        (0, 0, at, number, *(None if t is None else dictionary.encode(t) for t in (graph, *triple)))
        for graph, statements in [(None, data.default), *data.named.items()]
        for triple, times in statements.items()
        for at in times.values()
    ]
    return Quads(pl.DataFrame(rows, schema=CONTENTS, orient="row"), range(1))
