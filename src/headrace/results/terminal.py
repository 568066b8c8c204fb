"""Answers as a person reads them on a terminal: aligned columns of short terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from headrace.metering import current
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term, canonical
from headrace.rdf.times import iso_text
from headrace.rdf.vocabulary import XSD, XSD_BOOLEAN, XSD_DECIMAL, XSD_INTEGER, XSD_STRING
from headrace.results.evaluations import Evaluation
from headrace.results.table import Result, Table

CELL_WIDTH: Final = 48
"""How wide a cell may be before it is cut."""

_BARE: Final = frozenset({XSD_INTEGER, XSD_DECIMAL, XSD_BOOLEAN, XSD + "double", XSD + "float"})
_ELLIPSIS: Final = "…"
_MOST_READ: Final = 256
"""So many characters of a literal are read: some have no width, and a text may be very long."""
_TAIL: Final = 0.6
"""The share of a cut IRI that is its end, which says more than its beginning."""
# What a terminal would obey instead of show: controls, and marks that turn the writing around.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def terminal_parts(result: Result, width: int = CELL_WIDTH) -> Iterator[str]:
    """An answer for people, a line a part.

    >>> table = Table(("who", "age"), ((Iri("x:ann"), Literal("41", XSD_INTEGER)), (None, None)))
    >>> print("".join(terminal_parts(table)), end="")
    who      age
    -------  ---
    <x:ann>   41
    <BLANKLINE>
    2 rows
    """
    if isinstance(result, bool):
        yield "yes\n" if result else "no\n"
        return
    yield from _aligned(result, width)
    count = len(result.rows)
    yield f"{count:,} row{'' if count == 1 else 's'}\n"


def evaluation_text(evaluation: Evaluation) -> str:
    """An evaluation for people: its instant, its windows and what it emitted.

    >>> seen = Evaluation("q", 5_000_000, windows={"w": (0, 5_000_000)}, variables=("x",))
    >>> print(evaluation_text(seen), end="")
    q at 1970-01-01T00:00:05Z, w from 1970-01-01T00:00:00Z: nothing
    """
    begun = [
        f"{name} from {_clock(opens)}"
        for name, (opens, _) in evaluation.windows.items()
        if opens is not None
    ]
    again = f" ({evaluation.seq + 1})" if evaluation.seq else ""  # of several at this moment
    head = ", ".join([f"{evaluation.query} at {_clock(evaluation.at)}{again}", *begun])
    if evaluation.since is not None:
        head += f", and at {evaluation.instants - 1:,} instants from {_clock(evaluation.since)} on"
    if evaluation.error is not None:
        return f"{head}: error: {evaluation.error}\n"
    if evaluation.skipped:
        return f"{head}: skipped\n"
    if evaluation.is_empty:
        return f"{head}: nothing\n"
    if evaluation.boolean is not None:
        return f"{head}: {'yes' if evaluation.boolean else 'no'}\n"
    table = evaluation.table
    if evaluation.quads:
        rows = tuple((each.subject, each.predicate, each.object) for each in evaluation.quads)
        table = Table(("subject", "predicate", "object"), rows)
    return f"{head}\n" + "".join(terminal_parts(table)) + "\n"


def _clock(time: int) -> str:
    return f"{iso_text(time)}Z"


def _aligned(table: Table, width: int) -> Iterator[str]:
    from rich.cells import cell_len  # noqa: PLC0415  # not needed unless a table is shown

    heads = [_cut(_safe(name), width) for name in table.variables]
    lines = [[short(term, width) for term in row] for row in current().steps(table.rows)]
    to_right = [_is_numeric(column) for column in table.columns().values()]
    columns = zip(heads, *lines, strict=True)
    widths = [max(map(cell_len, current().steps(column))) for column in columns]

    def line(cells: list[str]) -> str:
        padded = []
        for cell, full, right in zip(cells, widths, to_right, strict=True):
            blanks = " " * (full - cell_len(cell))
            padded.append(blanks + cell if right else cell + blanks)
        return "  ".join(padded).rstrip() + "\n"

    yield line(heads)
    yield line(["-" * full for full in widths])
    yield from map(line, lines)


def _is_numeric(column: tuple[Term | None, ...]) -> bool:
    bound = [term for term in column if term is not None]
    return bool(bound) and all(
        isinstance(each, Literal) and each.datatype in _BARE for each in bound
    )


def short(term: Term | None, width: int = CELL_WIDTH) -> str:
    """A term as a cell shows it: no prefixes, no long datatypes, nothing if it is unbound.

    >>> short(Literal("2030-01-01", XSD + "date"))
    '"2030-01-01"^^date'
    >>> short(Iri("http://example.org/a/very/long/way/to/say/sensor-12"), 24)
    '<http://ex…ay/sensor-12>'
    """
    match term:
        case None:
            return ""
        case Iri(value):
            return f"<{_cut_within(_safe(value), width - 2)}>"
        case Literal(lexical, datatype, language):
            if len(lexical) > _MOST_READ:
                lexical = lexical[:_MOST_READ] + _ELLIPSIS
            if datatype in _BARE:
                return _cut(_safe(lexical), width)
            text = f'"{_safe(lexical)}"'
            if language is not None:
                text += f"@{language}"
            elif datatype != XSD_STRING:
                text += f"^^{_safe(_local(datatype))}"
            return _cut(text, width)
        case QuotedTriple(subject, predicate, object_):
            inner = max(width // 3 - 2, 8)
            spoken = (short(part, inner) for part in (subject, predicate, object_))
            return f"<< {' '.join(spoken)} >>"
        case BlankNode():
            return _cut(canonical(term), width)


def _local(iri: str) -> str:
    return re.split(r"[/#:]", iri)[-1] or iri


def _safe(text: str) -> str:
    return _UNSAFE.sub(lambda found: canonical_escape(found[0]), text)


def canonical_escape(character: str) -> str:
    r"""A character that must not reach a terminal, as something that may.

    >>> canonical_escape("\n"), canonical_escape("\x1b")
    ('\\n', '\\u001B')
    """
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return known.get(character) or f"\\u{ord(character):04X}"


def _cut(text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415

    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + _ELLIPSIS


def _cut_within(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    tail = int((width - 1) * _TAIL)
    return text[: width - 1 - tail] + _ELLIPSIS + text[-tail:]
