"""The answer that a text is, in whatever format."""

from __future__ import annotations

from headrace.errors import DataError, SettingError
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.texts import decoded
from headrace.results.csv_format import read_csv
from headrace.results.formats import ResultFormat
from headrace.results.json_format import read_json
from headrace.results.table import DEFAULT_LIMITS, Result, ResultLimits
from headrace.results.tsv_format import read_tsv
from headrace.results.xml_format import read_xml


def read_result(
    data: str | bytes,
    syntax: ResultFormat,
    *,
    name: str | None = None,
    scope: Scope = UNSCOPED,
    limits: ResultLimits = DEFAULT_LIMITS,
) -> Result:
    r"""The table or the truth value that an answer is.

    >>> read_result("?x\n<x:a>\n", ResultFormat.TSV)
    Table(variables=('x',), rows=((Iri(value='x:a'),),))

    Args:
        data: characters, or bytes in UTF-8.
        syntax: JSON, XML, CSV (which does not say what its terms are) or TSV.
        name: what the answer is called in errors.
        scope: which blank nodes it shares with other answers.
        limits: what is refused.

    Raises:
        DataError: at the first problem.
        SettingError: if the format is not one that is read.
    """
    try:
        if len(data) > limits.size:
            raise DataError(f"expected at most {limits.size:,} bytes, found {len(data):,}")
        text = decoded(data).removeprefix("\ufeff")
        match syntax:
            case ResultFormat.JSON:
                return read_json(text, scope=scope, limits=limits)
            case ResultFormat.XML:
                return read_xml(text, scope=scope, limits=limits)
            case ResultFormat.CSV:
                return read_csv(text, scope=scope, limits=limits)
            case ResultFormat.TSV:
                return read_tsv(text, scope=scope, limits=limits)
            case _:
                raise SettingError(f"answers are read as json, xml, csv or tsv, not as {syntax}")
    except DataError as error:
        raise type(error)(error.problem, name, error.line, error.column) from None
