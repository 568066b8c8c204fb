"""Turning what a parser could have used into words, and a wrong token into a hint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from lark import Token

from headrace.dialects.text import unclosed
from headrace.dialects.vocabulary import AGGREGATE_FUNCTIONS, FUNCTIONS
from headrace.errors import QuerySyntaxError, Source, Span, listing, nearest

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
# Each row: if all of the first stand among the expected, the second stands for all of the third.
_PHRASES: Final = (
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
_COMPARISONS: Final = {"=", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/", "IN"}
_MOST: Final = 9
_SPELLINGS: Final = {
    "==": "write a single = to compare",
    "&": "write && for and",
    "|": "write || for or",
    "AND": "write && for and",
    "OR": "write || for or",
}


def syntax_error(
    source: Source,
    token: Token | None,
    expected: Iterable[str],
    before: Token | None,
    literals: Mapping[str, str],
) -> QuerySyntaxError:
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
    where = Span(token.start_pos or 0, token.end_pos or 0)
    problem = f"expected {_wording(wanted)}, found '{token}'"
    if token.type == "UNKNOWN":
        return _unknown(source, token, where, problem)
    suggestion = _suggestion(token, wanted)
    if suggestion is not None:
        problem += f"; did you mean '{suggestion}'?"
    return QuerySyntaxError(problem, source, where, _hint(source, token, before, wanted))


def _wording(wanted: set[str]) -> str:
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
    if not re.fullmatch(r"[A-Za-z_]\w*", token):
        return None
    known = [name for name in wanted if name.isalpha() and name not in _NAMES]
    if "FUNCTION" in wanted:
        known += FUNCTIONS
    if "AGGREGATE_FUNCTION" in wanted:
        known += AGGREGATE_FUNCTIONS
    return nearest(token, known)


def _ends_early(source: Source, wanted: set[str]) -> QuerySyntaxError:
    end = len(source.text.rstrip())
    problem = f"the query ends too early: expected {_wording(wanted - {'$END'})}"
    where = Span(max(0, end - 1), max(1, end))
    open_bracket = unclosed(source.text)
    if open_bracket is None:
        return QuerySyntaxError(problem, source, where)
    offset, closing = open_bracket
    line, column = source.position(offset)
    return QuerySyntaxError(
        problem,
        source,
        where,
        f"'{source.text[offset]}' of line {line}, column {column} has no '{closing}'",
    )


def _unknown(source: Source, token: Token, where: Span, problem: str) -> QuerySyntaxError:
    if token[0] in "\"'":
        return QuerySyntaxError(
            "a string has no closing quote",
            source,
            where,
            "a text over several lines stands between three quotes; a backslash is written twice",
        )
    if source.text.startswith("${", where.start):
        return QuerySyntaxError(
            problem, source, where, "this is a place-holder; fill it in before running the query"
        )
    return QuerySyntaxError(problem, source, where, _SPELLINGS.get(str(token)))


def _hint(source: Source, token: Token, before: Token | None, wanted: set[str]) -> str | None:
    previous = "" if before is None else str(before)
    adjacent = before is not None and before.end_pos == token.start_pos
    if before is not None and before.type == "VAR" and adjacent and token.startswith("-"):
        tail = re.match(r"-[\w-]*", source.text[token.start_pos :])
        name = previous + (tail[0] if tail else "")
        return f"a variable has no '-' in its name; write {name.replace('-', '_')}"
    if token == "," and "FROM" in wanted:
        return "the columns of SELECT are separated by spaces"
    if token == "." and before is not None and before.type == "IRIREF" and "PREFIX" in wanted:
        return "a PREFIX in a query has no '.' at its end"
    if previous in {"http:", "https:"} or token in {"http:", "https:"}:
        return "an IRI stands between < and >"
    if token == "=" and previous == "=":
        return _SPELLINGS["=="]
    if token.upper() in _SPELLINGS:
        return _SPELLINGS[token.upper()]
    if token.type == "IRIREF" and "<" in wanted:
        return "this reads as an IRI; put spaces around '<' to compare"
    if token.upper() == "FROM" and "SELECT" in wanted:
        return "FROM stands after the SELECT clause"
    if "FUNCTION" in wanted and "(" in wanted and "VAR" not in wanted:
        return "put the condition into brackets, as in FILTER (?x > 1)"
    if "FILTER" in wanted and token in _COMPARISONS:
        return "a condition with several parts stands in brackets, as in FILTER (?x > 1)"
    if {".", ";"} <= wanted and token.type in {"VAR", "IRIREF", "PNAME", "STRING", "NUMBER"}:
        return "a triple has three terms; a '.' or a ';' goes between two triples"
    if token.type == "WORD" and "PNAME" in wanted:
        return f"a name needs a prefix, as in ex:{token}, and a text quotes"
    return None
