"""Where Turtle-like text has syntax, and where it is only the content of a string or an IRI.

Every pattern here matches at each position of any text, in time proportional to what it
consumes: loops are possessive and a last alternative takes whatever is left. That is what makes
a scan over hostile text linear.
"""

from __future__ import annotations

import regex as re  # the possessive loops of re are wrong before Python 3.11.5

_ESCAPE = r"\\(?:[tbnrf\"'\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
_LONG = rf'"""(?:[^"\\]++|{_ESCAPE}|"(?!""))*+"""' + rf"|'''(?:[^'\\]++|{_ESCAPE}|'(?!''))*+'''"
_SHORT = rf'"(?!"")(?:[^"\\\n\r]++|{_ESCAPE})*+"' + rf"|'(?!'')(?:[^'\\\n\r]++|{_ESCAPE})*+'"
_IRI = r"<(?!<)(?:[^<>\\\x00-\x20]++|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*+>"
_COMMENT = r"#[^\n\r]*+"
_LOCAL_ESCAPE = r"\\[_~.\-!$&'()*+,;=/?#@%]"
_CONTENT = rf"{_LONG}|{_SHORT}|{_IRI}|{_COMMENT}"
_GAP = rf"(?:[ \t\r\n]++|{_COMMENT})*+"

NESTING = re.compile(
    rf"(?:[^<>()\[\]{{}}|\"'#\\]++|{_CONTENT}|{_LOCAL_ESCAPE}|\[[ \t\r\n]*+\])*+"
    r"(?P<token><<|>>|\{\||\|\}|.|\Z)",
    re.DOTALL,
)
"""Anything, up to a token that opens or closes a level, or that is out of place."""

OUT_OF_PLACE = frozenset("\"'<\\")
"""What NESTING finds only where a string, an IRI or an escape is not well-formed."""

_DIRECTED = r"@[A-Za-z]++(?:-[A-Za-z0-9]++)*+--[A-Za-z0-9]*+"
_VERSION = rf"(?:@version|(?<![\w:\-@%])(?<![\w:]\.)(?i:version))(?={_GAP}[\"'])"
_ANNOTATED_TWICE = rf"\|\}}(?={_GAP}\{{\|)"
_RDF12_TOKEN = rf"<<\(|~|{_ANNOTATED_TWICE}|{_DIRECTED}|{_VERSION}"

ONLY_RDF12 = re.compile(
    rf"(?:[^<\"'#\\~@|Vv]++|{_CONTENT}|{_LOCAL_ESCAPE}|(?!{_RDF12_TOKEN})(?:<<|[@|Vv]))*+"
    rf"(?P<token>{_RDF12_TOKEN}|.|\Z)",
    re.DOTALL,
)
"""Anything, up to a token that RDF 1.2 has and RDF-star has not."""

_REGULAR = re.compile(
    rf"(?:[^<\"'#\\%]++|{_CONTENT}|<<|%[0-9A-Fa-f]{{2}})*+",
    re.DOTALL,
)


def is_regular(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether it is certain where strings, IRIs and comments begin and end, and all of them do.

    Only then can a parser go on after an error: otherwise it might take the content of a string
    for statements. Escapes outside strings, though allowed in names, are not certain enough.

    >>> is_regular(':a :b "c . :d :e :f ."'), is_regular(':a :b "c . :d :e :f .')
    (True, False)
    """
    return _REGULAR.fullmatch(text, start, len(text) if end is None else end) is not None


def position(text: str, offset: int) -> tuple[int, int]:
    r"""Line and column of an offset, both counted from one.

    >>> position("a\r\nbc", 4)
    (2, 2)
    """
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")
