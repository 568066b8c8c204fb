"""What to do about a token that does not fit, from what stands around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import regex as re  # the possessive loops of re are wrong before Python 3.11.5
from lark import Token

from headrace.dialects.text import mismatched
from headrace.dialects.vocabulary import AGGREGATE_FUNCTIONS, FUNCTIONS, RELATIONS
from headrace.errors import Source, Span


@dataclass(frozen=True, slots=True)
class Place:
    """A token that does not fit, the one before it, and what could have stood there."""

    source: Source
    token: Token
    before: Token | None
    wanted: frozenset[str]

    @property
    def start(self) -> int:
        """Where the token starts."""
        return self.token.start_pos or 0

    @property
    def span(self) -> Span:
        """Where the token stands."""
        return Span(self.start, self.token.end_pos or 0)

    @property
    def word(self) -> str:
        """The token in capital letters."""
        return self.token.upper()

    @property
    def previous(self) -> str:
        """The token before, or nothing."""
        return "" if self.before is None else str(self.before)

    def previous_is(self, *types: str) -> bool:
        """Whether the token before is of one of these types."""
        return self.before is not None and self.before.type in types


# Words of other engines' texts: understood, so that the error can say what they are.
_FOREIGN: Final = {
    "BGP": "windows of the last matches are",
    "LOG": "windows over a log of the past are",
    "START": "windows over a log of the past are",
    "USING": "baselines are",
    "WITH": "window policies are",
    "REPORT": "a REPORT in a window is",
    "TICK": "a TICK in a window is",
    "RETRIEVE": "looking up streams in a catalogue is",
    "REFRESH": "a REFRESH of a graph is",
    "EMIT": "an EMIT clause is",
    "LATENESS": "a LATENESS clause is",
    "FUTURE": "windows into the future are",
    "PAST": "PAST windows are",
    "INSERT": "updates are",
    "DELETE": "updates are",
    "LOAD": "updates are",
    "CLEAR": "updates are",
    "DROP": "updates are",
    "CREATE": "updates are",
}


def foreign(place: Place) -> str | None:
    """What a clause of another engine is called, if the token begins one."""
    if place.word == "FROM" and "RANGE" in place.wanted:
        return "windows that end in the past are"
    word = place.word
    if word == "WITH" and not re.compile(r"\s+policy", re.I).match(
        place.source.text, place.span.end
    ):
        return None
    if place.token == "[":
        inside = re.compile(r"\w+").search(place.source.text, place.span.end)
        word = inside[0].upper() if inside else ""
    return None if word in place.wanted else _FOREIGN.get(word)


DIALECT_WORDS: Final = {
    "STREAM": "STREAM patterns are CQELS-QL, and FROM STREAM is C-SPARQL",
    "WINDOW": "WINDOW is RSP-QL",
    "AGGREGATE": "AGGREGATE is C-SPARQL",
    "REGISTER": "REGISTER is of the continuous dialects",
}
_SPELLINGS: Final = {
    "&": "write && for and",
    "|": "write || for or",
    "AND": "write && for and",
    "OR": "write || for or",
}
_MODIFIERS: Final = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET")
_FORMS: Final = ("SELECT", "CONSTRUCT", "ASK", "DESCRIBE", "PREFIX", "BASE")
_SPACED_IRI: Final = re.compile(r"<[^<>\s]*+ [^<>\n]*+>")


def hint(place: Place) -> str | None:
    """The first advice that fits the place."""
    return next((advice for rule in _RULES if (advice := rule(place)) is not None), None)


def bare_iri(place: Place) -> Span | None:
    """Where an IRI stands that lacks its angle brackets, if that is what went wrong."""
    for token in (place.before, place.token):
        if token in {"http:", "https:"} and token is not None:
            start = token.start_pos or 0
            found = re.compile(r"\S+").match(place.source.text, start)
            return Span(start, found.end() if found else start + 1)
    return None


def _iri(place: Place) -> str | None:
    if bare_iri(place):
        return "an IRI stands between < and >"
    if place.token == "<" and _SPACED_IRI.match(place.source.text, place.start):
        return "an IRI has no spaces; write %20 for one"
    if place.token.type == "IRIREF" and "<" in place.wanted:
        return "this reads as an IRI; put spaces around '<' to compare"
    return None


def _brackets(place: Place) -> str | None:
    if place.token not in {")", "}", "]"}:
        return None
    wrong = mismatched(place.source.text)
    if wrong is None or wrong[0] != place.start:
        return None
    _, opened = wrong
    if opened is None:
        return f"this '{place.token}' closes nothing"
    offset, closing = opened
    line, column = place.source.position(offset)
    return f"'{place.source.text[offset]}' of line {line}, column {column} has no '{closing}'"


def _variable_name(place: Place) -> str | None:
    adjacent = place.before is not None and place.before.end_pos == place.start
    if not (adjacent and place.previous_is("VAR") and place.token.startswith("-")):
        return None
    tail = re.compile(r"-[\w-]*").match(place.source.text, place.start)
    name = place.previous + (tail[0] if tail else "")
    return f"a variable has no '-' in its name; write {name.replace('-', '_')}"


def _prologue(place: Place) -> str | None:
    if place.word in {"@PREFIX", "@BASE"}:
        return "in a query it is PREFIX ex: <...>, without '@' and without '.'"
    if place.token == "." and place.previous_is("IRIREF") and "PREFIX" in place.wanted:
        return "a PREFIX in a query has no '.' at its end"
    return None


def _select(place: Place) -> str | None:
    in_select = "FROM" in place.wanted and "(" in place.wanted
    if place.token == "," and "FROM" in place.wanted:
        return "the columns of SELECT are separated by spaces"
    if in_select and (place.word in FUNCTIONS or place.word in AGGREGATE_FUNCTIONS):
        return f"a computed column needs brackets and a name, as in ({place.word}(?x) AS ?name)"
    if "AS" in place.wanted and "&&" in place.wanted:
        return "a computed column needs a name, as in (COUNT(?x) AS ?n)"
    if place.word == "FROM" and "SELECT" in place.wanted:
        return "FROM stands after the SELECT clause"
    return None


def _windows(place: Place) -> str | None:
    if place.wanted == {"["}:
        return "a stream needs a window, as in [RANGE 10s STEP 5s]"
    if place.token.type == "WORD" and re.fullmatch(r"P\d+[HS]", place.word):
        return f"hours and seconds stand after a T, as in PT{place.token[1:]}"
    return None


def _order_of_clauses(place: Place) -> str | None:
    if place.word in _MODIFIERS and "}" in place.wanted:
        clause = {"GROUP": "GROUP BY", "ORDER": "ORDER BY"}.get(place.word, place.word)
        return f"{clause} stands after the '}}' of its WHERE"
    if place.word in _MODIFIERS and "$END" in place.wanted:
        return "the order is GROUP BY, HAVING, ORDER BY, LIMIT and OFFSET"
    if place.word in _FORMS and "$END" in place.wanted:
        return "one text holds one query"
    return None


_FROM_STREAM: Final = re.compile(r"\bFROM\s++(?:NAMED\s++)?STREAM\b", re.I)


def _aggregate(place: Place) -> str | None:
    """Say where AGGREGATE stands in a query that is C-SPARQL."""
    if place.word != "AGGREGATE" or not _FROM_STREAM.search(place.source.text):
        return None
    if "}" in place.wanted:
        return "AGGREGATE stands after the '}' of its WHERE"
    if "HAVING" in place.wanted and "GROUP" not in place.wanted:
        return "AGGREGATE keeps every row and GROUP BY merges them; put one into a subquery"
    if "$END" in place.wanted and not place.previous_is("}"):
        return "AGGREGATE stands after the '}' of its WHERE, before ORDER BY, LIMIT and OFFSET"
    return None


def _dialect(place: Place) -> str | None:
    if place.word in DIALECT_WORDS and place.token.isalpha():
        return f"{DIALECT_WORDS[place.word]}; name the dialect with --dialect if it is another"
    return None


def _relations(place: Place) -> str | None:
    if place.word not in RELATIONS or "UNION" not in place.wanted:
        return None
    return (
        f"{place.word} stands between two blocks of a query over streams, as in "
        f"{{ ... }} {place.word} {{ ... }}; what consists of several needs braces around it"
    )


def _conditions(place: Place) -> str | None:
    if place.token == "=" and place.previous == "=":
        return "write a single = to compare"
    if place.word in _SPELLINGS:
        return _SPELLINGS[place.word]
    if "FUNCTION" in place.wanted and "(" in place.wanted and "VAR" not in place.wanted:
        return "put the condition into brackets, as in FILTER (?x > 1)"
    comparison = re.fullmatch(r"[=<>!&|+*/-]+|IN", place.word)
    if "FILTER" in place.wanted and comparison:
        return "a condition with several parts stands in brackets, as in FILTER (?x > 1)"
    return None


def _triples(place: Place) -> str | None:
    if place.wanted == {"{"}:
        return "a pattern stands between { and }"
    if place.token in {"/", "|", "^", "*", "+"} and "STRING" in place.wanted:
        if place.previous_is("VAR"):
            return "a path has no variables in it"
        return "a path stands only in a pattern, not in a template or a quoted triple"
    if place.token in {".", ";", "}"} and {"BLANK", "STRING"} <= place.wanted:
        return "a triple has three terms"
    terms = {"VAR", "IRIREF", "PNAME", "STRING", "NUMBER"}
    if {".", ";"} <= place.wanted and place.token.type in terms:
        return "a triple has three terms; a '.' or a ';' goes between two triples"
    return None


def _words(place: Place) -> str | None:
    if place.source.text.startswith("${", place.start):
        return "this is a place-holder; fill it in before running the query"
    if place.token in {"\u201c", "\u201d", "\u2018", "\u2019"}:
        return "texts stand between straight quotes"
    if place.token.type != "WORD" or "PNAME" not in place.wanted:
        return None
    called = re.compile(r"\s*\(").match(place.source.text, place.span.end)
    if called and "FUNCTION" in place.wanted:
        return (
            f"there is no function '{place.token}'; your own is called by IRI: ex:{place.token}()"
        )
    return f"a name needs a prefix, as in ex:{place.token}, or < and >, and a text quotes"


_RULES: Final[tuple[Callable[[Place], str | None], ...]] = (
    _iri,
    _brackets,
    _variable_name,
    _prologue,
    _windows,
    _select,
    _order_of_clauses,
    _aggregate,
    _dialect,
    _relations,
    _conditions,
    _triples,
    _words,
)
