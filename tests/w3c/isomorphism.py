"""Whether two collections of rows are the same up to the names of their blank nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal

from headrace.functions.values import value_of
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term

Row = tuple[Term | None, ...]
Colours = dict[BlankNode, Hashable]


def same(ours: Iterable[Row], theirs: Iterable[Row]) -> bool:
    """Whether blank nodes can be matched so that both hold the same rows as often."""
    one, other = list(ours), list(theirs)
    if len(one) != len(other):
        return False
    mine, yours = _coloured(one), _coloured(other)
    if Counter(mine.values()) != Counter(yours.values()):
        return False
    wanted = _rows(other, yours)
    if _rows(one, mine) != wanted:
        return False
    # Colours that agree leave only nodes unclear that stand in the very same places.
    return len(set(mine.values())) == len(mine) or _matched(one, other, mine, yours)


def _coloured(rows: list[Row]) -> Colours:
    """Colours of blank nodes that follow from where they stand, refined until they are stable."""
    nodes = {node for row in rows for term in row for node in _blank(term)}
    colours: Colours = dict.fromkeys(nodes, 0)
    for _ in range(len(nodes) + 1):
        places: dict[BlankNode, list[Hashable]] = {node: [] for node in nodes}
        for row in rows:
            shown = tuple(_value(term, colours) for term in row)
            for position, term in enumerate(row):
                for node in _blank(term):
                    places[node].append((position, shown))
        refined = {
            node: hash((colours[node], tuple(sorted(map(hash, places[node]))))) for node in nodes
        }
        if len(set(refined.values())) == len(set(colours.values())):
            return dict(refined)
        colours = dict(refined)
    return colours


def _matched(one: list[Row], other: list[Row], mine: Colours, yours: Colours) -> bool:
    """Whether some pairing of the nodes of each colour makes the rows equal."""
    classes: dict[Hashable, list[BlankNode]] = {}
    for node, colour in sorted(mine.items(), key=lambda item: item[0].label):
        classes.setdefault(colour, []).append(node)
    colour, nodes = next((each for each in classes.items() if len(each[1]) > 1), (None, []))
    if not nodes:
        return _rows(one, mine) == _rows(other, yours)
    partner = next(node for node, given in yours.items() if given == colour)
    marked = yours | {partner: (colour, "paired")}
    return any(_matched(one, other, mine | {node: (colour, "paired")}, marked) for node in nodes)


def _rows(rows: list[Row], colours: Colours) -> Counter[Hashable]:
    return Counter(tuple(_value(term, colours) for term in row) for row in rows)


def _value(term: Term | None, colours: Colours) -> Hashable:
    match term:
        case BlankNode():
            return ("blank", colours[term])
        case Literal():
            value = value_of(term)
            plain = term.lexical if value is None or isinstance(value, str) else value
            return (term.datatype, term.language, str(_normal(plain)))
        case QuotedTriple(subject, predicate, object_):
            return tuple(_value(part, colours) for part in (subject, predicate, object_))
        case Iri(value):
            return value
        case None:
            return None


def _normal(value: object) -> object:
    """A number as text that does not depend on how it was written."""
    number = getattr(value, "value", value)
    return f"{float(number):.12g}" if isinstance(number, int | float | Decimal) else number


def _blank(term: Term | None) -> Iterator[BlankNode]:
    if isinstance(term, BlankNode):
        yield term
    elif isinstance(term, QuotedTriple):
        for part in (term.subject, term.predicate, term.object):
            yield from _blank(part)
