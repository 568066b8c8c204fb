"""Functions of text, with the rules for languages.

A *string* is text with or without a language. A second string is compatible with a first one if it
has no language or the same; results keep the language of the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from headrace.functions.errors import ExpressionError
from headrace.functions.terms import simple_text
from headrace.functions.values import FALSE, TRUE, literal_of, whole_number_of
from headrace.metering import current
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import RDF_LANG_STRING, XSD_STRING

MAX_LENGTH: Final = 1 << 24
"""The longest text that a function makes, in characters."""
_PART: Final = 1 << 16
"""So many bytes are encoded between two looks at the clock."""


def string(term: Term) -> Literal:
    """The term itself, if it is a string.

    Raises:
        ExpressionError: it is none.
    """
    if isinstance(term, Literal) and term.datatype in {XSD_STRING, RDF_LANG_STRING}:
        return term
    raise ExpressionError(f"{term} is not a string")


def utf8(text: str) -> bytes:
    """The bytes of a text, which a lone surrogate has none of."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ExpressionError("the text has a code point that is no character") from error


def bounded(text: str) -> str:
    """The text, unless it is too long."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the result is longer than {MAX_LENGTH} characters")
    return text


def _compatible(first: Term, second: Term) -> tuple[Literal, str]:
    """The first string and the text of the second, if their languages allow it."""
    one, other = string(first), string(second)
    if other.language is not None and other.language != one.language:
        raise ExpressionError(f"{first} and {second} are not in the same language")
    return one, other.lexical


def _like(first: Literal, text: str) -> Literal:
    return Literal(text, language=first.language)


# -- measures and parts ------------------------------------------------------------------------


def length(term: Term) -> Literal:
    """STRLEN, in characters."""
    return literal_of(len(string(term).lexical))


def substring(source: Term, start: Term, size: Term | None = None) -> Literal:
    """SUBSTR: the characters from a position, counted from one, and as many as wanted.

    >>> substring(Literal("metadata"), literal_of(4), literal_of(3)).lexical
    'ada'
    """
    text = string(source)
    first = whole_number_of(start)
    last = len(text.lexical) + 1 if size is None else first + whole_number_of(size)
    return _like(text, text.lexical[max(first, 1) - 1 : max(last, 1) - 1])


def before(source: Term, mark: Term) -> Literal:
    """STRBEFORE: what stands before a mark; without a language and empty if it is not there."""
    text, wanted = _compatible(source, mark)
    if not wanted:
        return _like(text, "")
    head, found, _ = text.lexical.partition(wanted)
    return _like(text, head) if found else Literal("")


def after(source: Term, mark: Term) -> Literal:
    """STRAFTER: what stands after a mark; without a language and empty if it is not there."""
    text, wanted = _compatible(source, mark)
    if not wanted:
        return text
    _, found, tail = text.lexical.partition(wanted)
    return _like(text, tail) if found else Literal("")


# -- questions ---------------------------------------------------------------------------------


def starts_with(source: Term, prefix: Term) -> Literal:
    """STRSTARTS."""
    text, wanted = _compatible(source, prefix)
    return TRUE if text.lexical.startswith(wanted) else FALSE


def ends_with(source: Term, suffix: Term) -> Literal:
    """STRENDS."""
    text, wanted = _compatible(source, suffix)
    return TRUE if text.lexical.endswith(wanted) else FALSE


def contains(source: Term, part: Term) -> Literal:
    """CONTAINS."""
    text, wanted = _compatible(source, part)
    return TRUE if wanted in text.lexical else FALSE


def language_matches(tag: Term, range_: Term) -> Literal:
    """LANGMATCHES: whether a language is in a range, by basic filtering (RFC 4647, 3.3.1)."""
    language, wanted = simple_text(tag).lower(), simple_text(range_).lower()
    if wanted == "*":
        return TRUE if language else FALSE
    return TRUE if language == wanted or language.startswith(wanted + "-") else FALSE


# -- makers ------------------------------------------------------------------------------------


def upper(term: Term) -> Literal:
    """UCASE."""
    text = string(term)
    return _like(text, text.lexical.upper())


def lower(term: Term) -> Literal:
    """LCASE."""
    text = string(term)
    return _like(text, text.lexical.lower())


def encoded_for_uri(term: Term) -> Literal:
    """ENCODE_FOR_URI: percent-encode all but unreserved characters."""
    text, meter = utf8(string(term).lexical), current()
    parts = []
    for start in range(0, len(text), _PART):
        meter.check("ENCODE_FOR_URI")
        parts.append(quote(text[start : start + _PART], safe="-_.~"))
    return Literal(joined(parts))


def concatenated(*terms: Term) -> Literal:
    """CONCAT: one after the other, in their language if they all have the same."""
    texts = [string(term) for term in terms]
    languages = {text.language for text in texts}
    language = languages.pop() if len(languages) == 1 else None
    return Literal(joined(text.lexical for text in texts), language=language)


def joined(texts: Iterable[str], separator: str = "") -> str:
    """Texts with a separator between them, unless that becomes too long."""
    pieces, length = list[str](), 0
    for each in texts:
        pieces.append(each)
        length += len(each) + len(separator)
        if length > MAX_LENGTH:
            raise ExpressionError(f"the result is longer than {MAX_LENGTH} characters")
    return separator.join(pieces)
