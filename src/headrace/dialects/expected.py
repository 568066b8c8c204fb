"""The error for a token that a parser could not use: what it could have used, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import regex as re  # the possessive loops of re are wrong before Python 3.11.5
from lark import Token

from headrace.dialects.hints import DIALECT_WORDS, Place, bare_iri, foreign, hint
from headrace.dialects.text import shortened, unclosed
from headrace.dialects.vocabulary import AGGREGATE_FUNCTIONS, FUNCTIONS, RELATIONS
from headrace.errors import (
    QueryError,
    QuerySyntaxError,
    Source,
    Span,
    UnsupportedError,
    listing,
    nearest,
)

_NAMES: Final = {
    "VAR": "a variable",
    "IRIREF": "an IRI",
    "PNAME": "an IRI",
    "BLANK": "a blank node",
    "STRING": "a string",
    "NUMBER": "a number",
    "SIGNED": "a number",
    "LANGTAG": "a language tag",
    "WORD": "a name",
    "FUNCTION": "a function",
    "AGGREGATE_FUNCTION": "an aggregate",
    "DURATION": "a duration",
    "$END": "the end of the query",
}
_TERMS: Final = {"IRIREF", "PNAME", "STRING", "NUMBER", "SIGNED", "TRUE", "FALSE", "<<"}
_CALLS: Final = {"FUNCTION", "AGGREGATE_FUNCTION", "NOT", "EXISTS", "("}
_OPERATORS: Final = {"=", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/", "IN", "NOT"}
# Each row: if all of the first stand among the expected, the second stands for all of the third.
_PHRASES: Final = (
    ({"BEFORE", "AFTER"}, "a temporal operator", set(RELATIONS)),
    ({"=", "&&", "||"}, "an operator", _OPERATORS | {"SIGNED"}),
    ({"FUNCTION", "VAR", "!"}, "an expression", _TERMS | _CALLS | {"VAR", "!", "+", "-"}),
    (
        {"FILTER", "OPTIONAL", "GRAPH"},
        "a pattern",
        {"FILTER", "OPTIONAL", "GRAPH", "MINUS", "SERVICE", "BIND", "VALUES", "STREAM", "WINDOW"}
        | {"BLANK", "VAR", "(", "[", "{"}
        | _TERMS,
    ),
    ({"BLANK", "VAR", "STRING"}, "a term", _TERMS | {"BLANK", "VAR", "(", "["}),
    ({"PNAME", "^", "!"}, "a property", {"IRIREF", "PNAME", "a", "^", "!", "(", "VAR"}),
    ({"IRIREF", "STRING", "UNDEF"}, "a value", _TERMS | {"UNDEF"}),
    ({"FUNCTION", "("}, "a condition", _CALLS | {"IRIREF", "PNAME"}),
    ({"DURATION", "NUMBER"}, "a duration", {"DURATION", "NUMBER"}),
    ({"*", "?", "+"}, "a repetition", {"*", "?", "+"}),
)
_MOST: Final = 9


def syntax_error(
    source: Source,
    token: Token | None,
    expected: Iterable[str],
    before: Token | None,
    literals: Mapping[str, str],
) -> QueryError:
    """The error for a token that the parser could not use.

    Args:
        source: the query.
        token: what was found; None at its end.
        expected: the terminals that could have stood here.
        before: the token before it.
        literals: the text of each terminal that is a keyword or a mark.
    """
    wanted = {literals.get(name, name) for name in expected}
    if token is None or token.type == "$END":
        return _ends_early(source, wanted)
    place = Place(source, token, before, frozenset(wanted))
    if token.type == "UNKNOWN" and token[0] in "\"'":
        return _unclosed_string(source, place.start)
    clause = foreign(place)
    if clause is not None:
        return UnsupportedError(f"{clause} not supported", source, place.span)
    is_share = before is not None and before.upper() == "ACCURACY" and wanted == {"NUMBER"}
    words = "a number from 0 to 1" if is_share else wording(wanted)
    problem = f"expected {words}, found '{shortened(token)}'"
    suggestion = _suggestion(token, wanted)
    if suggestion is not None:
        return QuerySyntaxError(f"{problem}; did you mean '{suggestion}'?", source, place.span)
    return QuerySyntaxError(problem, source, bare_iri(place) or place.span, hint(place))


def wording(wanted: set[str]) -> str:
    """The expected terminals as a person would list them, the most telling first."""
    if wanted == {"NUMBER"}:
        return "a whole number"
    named: list[str] = []
    remaining = set(wanted)
    for needed, phrase, covered in _PHRASES:
        if needed <= remaining:
            named.append(phrase)
            remaining -= covered
    words = sorted(name for name in remaining if name.isalpha() and name not in _NAMES)
    classes = sorted({_NAMES[name] for name in remaining if name in _NAMES})
    marks = sorted(f"'{name}'" for name in remaining if name not in _NAMES and not name.isalpha())
    everything = [*words, *named, *classes, *marks]
    if len(everything) > _MOST:
        return ", ".join(everything[:_MOST]) + " or something else"
    return listing(everything) if everything else "nothing more"


def _suggestion(token: Token, wanted: set[str]) -> str | None:
    """The keyword or function that a wrong word was probably meant to be."""
    if not re.fullmatch(r"[A-Za-z_]\w*", token) or token.upper() in DIALECT_WORDS:
        return None
    known = [name for name in wanted if name.isalpha() and name not in _NAMES]
    if "FUNCTION" in wanted:
        known += FUNCTIONS
    if "AGGREGATE_FUNCTION" in wanted:
        known += AGGREGATE_FUNCTIONS
    return nearest(token, known)


def _ends_early(source: Source, wanted: set[str]) -> QuerySyntaxError:
    end = len(source.text.rstrip())
    if end == 0:
        return QuerySyntaxError("the query is empty", source, Span(0, 0))
    problem = f"the query ends too early: expected {wording(wanted - {'$END'})}"
    where = Span(end - 1, end)
    open_bracket = unclosed(source.text)
    if open_bracket is None:
        return QuerySyntaxError(problem, source, where)
    offset, closing = open_bracket
    line, column = source.position(offset)
    opening = source.text[offset : offset + len(closing)]
    advice = f"'{opening}' of line {line}, column {column} has no '{closing}'"
    return QuerySyntaxError(problem, source, where, advice)


def _unclosed_string(source: Source, start: int) -> QuerySyntaxError:
    """A string that the lexer refused: it has a wrong escape, or no end."""
    quote = source.text[start]
    body = re.compile(rf"(?:[^{quote}\\\n\r]|\\[tbnrf\\\"'])*+\\(?=.)").match(
        source.text, start + 1
    )
    if body is not None:
        escape = source.text[body.end() - 1 : body.end() + 1]
        return QuerySyntaxError(
            f"'{escape}' is not an escape",
            source,
            Span(body.end() - 1, body.end() + 1),
            'write a backslash as two of them; \\n, \\t, \\" and \\u0041 are escapes',
        )
    return QuerySyntaxError(
        "a string has no closing quote",
        source,
        Span(start, start + 1),
        "a text over several lines stands between three quotes",
    )
