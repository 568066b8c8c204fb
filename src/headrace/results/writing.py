"""An answer as text, in whatever format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headrace.errors import SettingError
from headrace.metering import current
from headrace.rdf.terms import Quad
from headrace.rdf.writing import to_nquads, to_ntriples
from headrace.results.csv_format import csv_parts
from headrace.results.formats import ResultFormat
from headrace.results.json_format import json_parts
from headrace.results.table import Result
from headrace.results.terminal import terminal_parts
from headrace.results.tsv_format import tsv_parts
from headrace.results.turtle import to_turtle
from headrace.results.xml_format import xml_parts


def result_parts(result: Result, syntax: ResultFormat) -> Iterator[str]:
    """What SELECT or ASK answers, in parts that together are the text.

    Raises:
        SettingError: if the format has no place for such an answer.
        DataError: if the format cannot write a term of it.
    """
    match syntax:
        case ResultFormat.JSON:
            return json_parts(result)
        case ResultFormat.XML:
            return xml_parts(result)
        case ResultFormat.TABLE:
            return terminal_parts(result)
        case ResultFormat.CSV | ResultFormat.TSV:
            if isinstance(result, bool):
                raise SettingError(f"{syntax} has no place for yes or no; write json, xml or table")
            return csv_parts(result) if syntax is ResultFormat.CSV else tsv_parts(result)
        case _:
            raise SettingError(f"{syntax} is for graphs; write json, xml, csv, tsv or table")


def result_text(result: Result, syntax: ResultFormat) -> str:
    r"""The same as one text.

    >>> result_text(True, ResultFormat.JSON)
    '{"head": {}, "boolean": true}\n'
    """
    meter, parts = current(), []
    for part in result_parts(result, syntax):
        meter.step()
        meter.make_text(len(part), "the answer")
        parts.append(part)
    return "".join(parts)


def graph_text(
    quads: Iterable[Quad], syntax: ResultFormat, prefixes: Mapping[str, str] | None = None
) -> str:
    """What CONSTRUCT or DESCRIBE answers; prefixes are for Turtle.

    Raises:
        SettingError: if the format is not for graphs.
        DataError: if the format has no place for named graphs and there is one.
    """
    quads = current().steps(quads)
    match syntax:
        case ResultFormat.TURTLE:
            return to_turtle(quads, prefixes or {})
        case ResultFormat.NTRIPLES:
            return to_ntriples(quads)
        case ResultFormat.NQUADS:
            return to_nquads(quads)
        case _:
            raise SettingError(f"{syntax} has no place for a graph; write turtle, ntriples, nquads")
