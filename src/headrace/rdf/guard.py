"""Which data are too large or too deep to be given to a parser.

pyoxigraph recurses on triple terms: some 18,000 of them within each other end the process, and
nothing can catch that. XML entities can make gigabytes out of one kilobyte. So every text is
looked at here first, in linear time and without recursion.
"""

from __future__ import annotations

import regex as re  # the possessive loops of re are wrong before Python 3.11.5

from headrace.errors import DataError
from headrace.rdf.formats import Format
from headrace.rdf.lexical import NESTING, OUT_OF_PLACE, position
from headrace.rdf.options import Limits

SURELY_SHALLOW = 1000
"""So many triple terms within each other are far from what ends the process."""

_JSON_LEVEL = re.compile(
    r"(?:[^\"\[\]{}]++|\"(?:[^\"\\]++|\\.)*+\")*+(?P<token>[\[\]{}]|.|\Z)", re.DOTALL
)
_XML_TAG = re.compile(
    r"(?:[^<]++|<!--(?:[^-]++|-(?!->))*+-->|<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+\]\]>"
    r"|<\?(?:[^?]++|\?(?!>))*+\?>)*+"
    r"(?P<token></[^<>]*+>|<(?=[^\s<>!?/])(?:[^<>\"'/]++|\"[^\"<]*+\"|'[^'<]*+'|/(?!>))*+/?>|<|\Z)"
)
_XML_DECLARATION = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_XML_ENCODING = re.compile(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_XML_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def check_size(data: str | bytes, limits: Limits, name: str | None = None) -> None:
    """Refuse what is larger than the limit.

    Raises:
        DataError: saying how large it is and how large it may be.
    """
    if limits.size is not None and len(data) > limits.size:
        raise DataError(f"expected at most {limits.size:,} bytes, found {len(data):,}", name)


def check_document(text: str, syntax: Format, limits: Limits, name: str | None = None) -> None:
    """Refuse a document that is too deep for its parser, or that can explode in it.

    Raises:
        DataError: saying where and why.
    """
    match syntax:
        case Format.JSON_LD:
            _check_json(text, limits, name)
        case Format.RDF_XML:
            _check_xml(text, limits, name)
        case _:
            check_nesting(text, limits, name)


def check_nesting(text: str, limits: Limits, name: str | None = None) -> None:
    """Refuse Turtle, or a format like it, with too many levels of triples or of blank nodes.

    Raises:
        DataError: at the first token that goes too deep.
    """
    if _is_shallow(text, limits):
        return
    quoted = nested = 0
    for match in NESTING.finditer(text):
        match match["token"]:
            case "<<" | "{|":
                quoted += 1
            case ">>" | "|}":
                quoted = max(0, quoted - 1)
            case "[" | "(":
                nested += 1
            case "]" | ")":
                nested = max(0, nested - 1)
            case token if token in OUT_OF_PLACE:
                _check_unscannable(text, match.start("token"), name)
                return
        if quoted > limits.quoted:
            raise _too_deep("triples within triples", limits.quoted, text, match, name)
        if nested > limits.nested:
            raise _too_deep("blank nodes or lists", limits.nested, text, match, name)


def _is_shallow(text: str, limits: Limits) -> bool:
    """Whether there are fewer brackets than levels allowed, so that no scan is needed."""
    return (
        text.count("<<") + text.count("{|") <= limits.quoted
        and text.count("[") + text.count("(") <= limits.nested
    )


def _check_unscannable(text: str, offset: int, name: str | None) -> None:
    # The parser will find an error here. Where it takes up reading again nobody knows, so every
    # bracket counts from here on, even one within a string.
    if text.count("<<(", offset) > SURELY_SHALLOW:
        shown = text[offset : offset + 3]
        raise DataError(
            f"the string or IRI that starts with {shown!r} is not closed, and what follows it"
            " may be nested too deeply",
            name,
            *position(text, offset),
        )


def _check_json(text: str, limits: Limits, name: str | None) -> None:
    level = 0
    for match in _JSON_LEVEL.finditer(text):
        match match["token"]:
            case "[" | "{":
                level += 1
            case "]" | "}":
                level -= 1
            case _:
                return  # the end, or a string that is not closed: no more levels
        if level > limits.nested:
            raise _too_deep("JSON", limits.nested, text, match, name)


def _check_xml(text: str, limits: Limits, name: str | None) -> None:
    declared = _XML_ENCODING.match(text)
    if declared and declared[1].lower() not in _XML_ENCODINGS:
        raise DataError(f"expected RDF/XML in UTF-8, found the encoding {declared[1]!r}", name)
    if entity := _XML_DECLARATION.search(text):
        where = position(text, entity.start())
        raise DataError("RDF/XML with a DOCTYPE or an ENTITY is refused", name, *where)
    level = 0
    for match in _XML_TAG.finditer(text):
        token = match["token"]
        if token == "<":  # nothing that may stand there: the parser would say so, less safely
            where = position(text, match.start("token"))
            raise DataError("expected a tag of XML, found '<'", name, *where)
        if token.startswith("</"):
            level -= 1
        elif token and not token.endswith("/>"):
            level += 1
        if level > limits.nested:
            raise _too_deep("XML elements", limits.nested, text, match, name)


def _too_deep(
    what: str, limit: int, text: str, match: re.Match[str], name: str | None
) -> DataError:
    where = position(text, match.start("token"))
    return DataError(f"expected at most {limit} levels of {what}, found more", name, *where)
