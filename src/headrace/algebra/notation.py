"""The algebra as text: S-expressions that explain prints, tests compare, and `read` reads back.

    (project (filter (> ?v 10) (bgp [(triple ?s <x:p> ?v)])) [?s])

A value is `(tag part ...)`, where parts at the end that have their default value are left out;
`[...]` is a sequence, `-` is nothing, `'...'` is a name, and terms are written as in N-Triples,
with `<< s p o >>` for a quoted triple. Operators of the language are their own tags, and so are its
functions, in capital letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import Any, Final, get_args, get_type_hints

from headrace.algebra import expressions, operators, paths, query, reporting, windows
from headrace.algebra.expressions import BuiltIn, Operation, Variable
from headrace.errors import HeadraceError, Span
from headrace.rdf.canonical import read_term
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, canonical

_TAGS: Final[dict[str, type[Any]]] = {
    "triple": expressions.TriplePattern,
    "in": expressions.Membership,
    "call": expressions.FunctionCall,
    "timestamp": expressions.Timestamp,
    "exists": expressions.Exists,
    "aggregate": expressions.Aggregate,
    "bgp": operators.Bgp,
    "join": operators.Join,
    "left-join": operators.LeftJoin,
    "union": operators.Union,
    "minus": operators.Minus,
    "temporal": operators.Temporal,
    "filter": operators.Filter,
    "extend": operators.Extend,
    "values": operators.Values,
    "graph": operators.Graph,
    "window": operators.Window,
    "budget": operators.Budget,
    "service": operators.Service,
    "group": operators.Group,
    "annotation": operators.Annotation,
    "annotate": operators.Annotate,
    "key": operators.OrderKey,
    "order-by": operators.OrderBy,
    "project": operators.Project,
    "distinct": operators.Distinct,
    "reduced": operators.Reduced,
    "slice": operators.Slice,
    "path": paths.PathPattern,
    "inverse": paths.Inverse,
    "sequence": paths.Sequence,
    "alternative": paths.Alternative,
    "zero-or-one": paths.ZeroOrOne,
    "zero-or-more": paths.ZeroOrMore,
    "one-or-more": paths.OneOrMore,
    "none-of": paths.NegatedSet,
    "time": windows.TimeWindow,
    "count": windows.CountWindow,
    "now": windows.NowWindow,
    "all": windows.AllWindow,
    "declare": windows.WindowDeclaration,
    "on-close": reporting.OnClose,
    "every": reporting.Every,
    "on-change": reporting.OnChange,
    "on-arrival": reporting.OnArrival,
    "keep": reporting.Keep,
    "skip": reporting.Skip,
    "semantics": reporting.Semantics,
    "select": query.Select,
    "quad": query.TemplateQuad,
    "construct": query.Construct,
    "ask": query.Ask,
    "describe": query.Describe,
    "dataset": query.Dataset,
    "registration": query.Registration,
    "query": query.Query,
}
_NAMES: Final = {kind: tag for tag, kind in _TAGS.items()}
_WIDTH: Final = 96

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<quoted><<)|(?P<unquoted>>>)"
    r"|(?P<iri><[^<>\s]*>)"
    r'|(?P<literal>"(?:[^"\\]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>\s]*>)?)'
    r"|(?P<variable>\?[^\s()\[\]]+)"
    r"|(?P<blank>_:[^\s()\[\]]+)"
    r"|(?P<name>'(?:[^'\\]|\\.)*')"
    r"|(?P<number>-?[0-9][0-9.eE+-]*)"
    r"|(?P<mark>[()\[\]])"
    r"|(?P<word>[^\s()\[\]]+)|(?P<end>\Z))",
    re.DOTALL | re.ASCII,  # other white space may stand in IRIs and names
)


class NotationError(HeadraceError):
    """A text is not of the notation."""


# -- writing -------------------------------------------------------------------------------


def show(value: object, width: int = _WIDTH) -> str:
    """The text of an algebra value, broken into lines where it is long."""
    return _laid_out(value, 0, width)


def _laid_out(value: object, indent: int, width: int) -> str:
    flat = _flat(value)
    opened = _opened(value)
    if opened is None or indent + len(flat) <= width:
        return flat
    opening, parts, closing = opened
    inner = indent + 2
    lines = [_laid_out(part, inner, width) for part in parts]
    return opening + "".join(f"\n{' ' * inner}{line}" for line in lines) + closing


def _flat(value: object) -> str:
    opened = _opened(value)
    if opened is None:
        return _atom(value)
    opening, parts, closing = opened
    separator = " " if opening.startswith("(") and parts else ""
    return opening + separator + " ".join(_flat(part) for part in parts) + closing


def _opened(value: object) -> tuple[str, list[object], str] | None:
    """How a compound value opens, what it holds, and how it closes."""
    match value:
        case Variable() | Iri() | BlankNode() | Literal() | QuotedTriple():
            return None
        case Operation(symbol, arguments):
            return f"({symbol}", list(arguments), ")"
        case BuiltIn(name, arguments, place):
            return f"({name}", [*arguments, *([] if place is None else [place])], ")"
        case tuple():
            return "[", list(value), "]"
        case _ if type(value) in _NAMES:
            return f"({_NAMES[type(value)]}", _parts(value), ")"
        case _:
            return None


def _parts(value: object) -> list[object]:
    parts: list[object] = []
    kept = 0
    for position, field in enumerate(_fields(type(value))):
        part = getattr(value, field.name)
        parts.append(part)
        default = (
            field.default_factory()
            if field.default is MISSING and (field.default_factory is not MISSING)
            else field.default
        )
        if part != default or isinstance(part, bool) != isinstance(default, bool):
            kept = position + 1
    return parts[:kept]


def _fields(kind: type[Any]) -> list[Any]:
    """The fields that carry meaning: not where in a text the value was written."""
    return [field for field in fields(kind) if field.compare]


def _atom(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case Variable(name):
            return f"?{name}"
        case Iri() | BlankNode() | Literal():
            return canonical(value)
        case QuotedTriple(subject, predicate, object_):
            return f"<< {_atom(subject)} {_atom(predicate)} {_atom(object_)} >>"
        case _:
            raise NotationError(f"the notation has no form for {value!r}")


def numbered(text: str) -> tuple[str, dict[str, int]]:
    """A text with numbers for the names of its variables, and which name has which.

    >>> numbered('(project (bgp [(triple ?b <x:?b> "?a")]) [?b])')
    ('(project (bgp [(triple ?0 <x:?b> "?a")]) [?0])', {'b': 0})
    """
    numbers: dict[str, int] = {}

    def changed(token: re.Match[str]) -> str:
        variable = token["variable"]
        if variable is None:
            return token[0]
        number = numbers.setdefault(variable[1:], len(numbers))
        return f"{token[0].removesuffix(variable)}?{number}"

    return _TOKEN.sub(changed, text), numbers


# -- reading -------------------------------------------------------------------------------


def read(text: str) -> Any:
    """The value that a text of the notation shows."""
    tokens = _tokens(text)
    value = _value(next(tokens), tokens)
    kind, found = next(tokens)
    if kind != "end":
        raise NotationError(f"expected the end, found '{found}'")
    return value


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while True:
        found = _TOKEN.match(text, position)
        if found is None or found.lastgroup is None:
            raise NotationError(f"cannot read '{text[position : position + 20]}'")
        yield found.lastgroup, found[found.lastgroup]
        position = found.end()


def _value(token: tuple[str, str], tokens: Iterator[tuple[str, str]]) -> Any:
    match token:
        case ("variable", text):
            return Variable(text[1:])
        case ("iri" | "literal" | "blank", text):
            return read_term(text)
        case ("name", text):
            return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
        case ("number", text):
            return _number(text)
        case ("word", "-"):
            return None
        case ("word", "true" | "false" as text):
            return text == "true"
        case ("quoted", _):
            return _built(QuotedTriple, "<<", _until("unquoted", ">>", tokens))
        case ("mark", "["):
            return tuple(_until("mark", "]", tokens))
        case ("mark", "("):
            return _compound(tokens)
        case (_, text):
            raise NotationError(f"expected a value, found '{text}'")


def _number(text: str) -> int | float:
    try:
        return int(text) if re.fullmatch(r"-?[0-9]+", text) else float(text)
    except ValueError:
        raise NotationError(f"'{text}' is no number") from None


def _until(kind: str, closing: str, tokens: Iterator[tuple[str, str]]) -> list[Any]:
    values: list[Any] = []
    for token in tokens:
        if token == (kind, closing):
            return values
        values.append(_value(token, tokens))
    raise NotationError(f"expected '{closing}'")


def _compound(tokens: Iterator[tuple[str, str]]) -> Any:
    _, tag = next(tokens)
    parts = _until("mark", ")", tokens)
    if tag in _TAGS:
        return _built(_TAGS[tag], tag, parts)
    if tag[0].isupper():
        place = parts.pop() if parts and isinstance(parts[-1], int) else None
        return BuiltIn(tag, tuple(parts), place)
    if tag in _SYMBOLS:
        return Operation(tag, tuple(parts))
    raise NotationError(f"unknown form '{tag}'")


_SYMBOLS: Final = frozenset(
    ["||", "&&", "!", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "u-", "u+"]
)


def _built(kind: type[Any], tag: str, parts: list[Any]) -> Any:
    names = [field.name for field in _fields(kind)]
    if len(parts) > len(names):
        raise NotationError(f"'{tag}' has {len(names)} parts, found {len(parts)}")
    choices = _choices(kind)
    try:
        given = {
            name: choices[name](part) if name in choices and isinstance(part, str) else part
            for name, part in zip(names, parts, strict=False)
        }
        return kind(**given)
    except TypeError:
        raise NotationError(f"'{tag}' needs more parts than {len(parts)}") from None
    except ValueError as error:
        raise NotationError(f"'{tag}': {error}") from None


def _choices(kind: type[Any]) -> dict[str, type[StrEnum]]:
    """The fields of a class that hold a choice, which the notation writes as its name."""
    found: dict[str, type[StrEnum]] = {}
    for name, hint in get_type_hints(kind, localns=_NAMESPACE).items():
        for each in (hint, *get_args(hint)):
            if isinstance(each, type) and issubclass(each, StrEnum):
                found[name] = each
    return found


_NAMESPACE: Final = {"Span": Span} | vars(operators)
