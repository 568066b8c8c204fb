"""What the next token is: one regular expression, and the parser's state where the text is unclear.

A word is a keyword only where the parser can use it, so that a query may be called `count` and a
second be written `s`. What looks like an IRI is one, as the standard's longest-token rule says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from lark import Token
from lark.common import LexerConf
from lark.lexer import Lexer, LexerState

from headrace.dialects.vocabulary import AGGREGATE_FUNCTIONS, FUNCTIONS

_LETTERS: Final = "A-Za-z"
_MORE_LETTERS: Final = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_MORE_INNER: Final = "\u00b7\u0300-\u036f\u203f-\u2040"
_UNIT: Final = re.compile(r"[A-Za-z]+(?=[0-9])")
_CALLED: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n\r]*)*\(")
_IRIREF: Final = re.compile(r"<[^\x00-\x20<>\"{}|^`\\]*>")


@cache
def _token(ascii_only: bool) -> re.Pattern[str]:
    """What a token looks like; for plain ASCII without the ranges that are slow to compile."""
    base = _LETTERS if ascii_only else _LETTERS + _MORE_LETTERS
    start = base + "_"
    inner = start + "0-9" + ("" if ascii_only else _MORE_INNER)
    chars = inner + "\\-"
    escape = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
    prefix = rf"[{base}](?:[{chars}]|\.+(?=[{chars}]))*"
    local = rf"(?:[{start}:0-9]|{escape})(?:[{chars}:]|{escape}|\.+(?=[{chars}:%\\]))*"
    number = r"(?:[0-9]+\.[0-9]*[eE][+-]?[0-9]+|\.?[0-9]+[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+)"
    string = (
        r'"""(?:"{0,2}(?:[^"\\]|\\[tbnrf\\"\']))*"""'
        r"|'''(?:'{0,2}(?:[^'\\]|\\[tbnrf\\\"']))*'''"
        r'|"(?:[^"\\\n\r]|\\[tbnrf\\"\'])*"'
        r"|'(?:[^'\\\n\r]|\\[tbnrf\\\"'])*'"
    )

    return re.compile(
        r"(?:[ \t\r\n]+|\#[^\n\r]*)*(?:"
        rf"(?P<VAR>[?$][{start}0-9][{inner}]*)"
        rf"|(?P<BLANK>_:[{start}0-9](?:[{chars}]|\.+(?=[{chars}]))*)"
        rf"|(?P<PNAME>(?:{prefix})?:(?:{local})?)"
        r"|(?P<DURATION>P(?=[0-9]|T[0-9])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+W)?(?:[0-9]+D)?"
        r"(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?(?![A-Za-z0-9_]))"
        r"|(?P<WORD>[A-Za-z_][A-Za-z0-9_]*)"
        rf"|(?P<NUMBER>{number})"
        rf"|(?P<SIGNED>[+-]{number})"
        rf"|(?P<STRING>{string})"
        r"|(?P<LANGTAG>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)"
        r"|(?P<ANGLE><)"
        r"|(?P<MARK>\{\||\|\}|\|\||&&|!=|<=|>=|>>|\^\^|[][(){}.;,|/^?*+!=<>-])"
        r"|(?P<END>\Z)"
        r"|(?P<UNKNOWN>.)"
        r")",
        re.DOTALL,
    )


class SparqlLexer(Lexer):
    """Tokens of SPARQL and its dialects; which words are keywords is read from the grammar."""

    __future_interface__ = True

    def __init__(self, conf: LexerConf) -> None:
        """Sort the grammar's literal terminals into keywords and marks."""
        literal = {
            str(terminal.pattern.value): terminal.name
            for terminal in conf.terminals
            if terminal.pattern is not None
        }
        self._keywords = {text: name for text, name in literal.items() if text.isalpha()}
        self._marks = {text: name for text, name in literal.items() if not text.isalpha()}

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:
        """Yield tokens, each chosen by what the parser accepts after the one before."""
        text = str(lexer_state.text.text)
        states = parser_state.parse_conf.parse_table.states
        position = 0
        match = _token(text.isascii()).match
        while True:
            found = match(text, position)
            kind = found.lastgroup if found else None
            if found is None or kind is None or kind == "END":
                return
            value = found[kind]
            end = found.end()
            if kind == "WORD" and text[end - len(value) - 1].isdigit() and _UNIT.match(value):
                # In `1h30m` a unit ends where the next number begins.
                value = _UNIT.match(value)[0]  # type: ignore[index]  # it has just matched
                end = found.start(kind) + len(value)
            start = end - len(value)
            accepted: Mapping[str, object] = states[parser_state.state_stack[-1]]
            if kind == "WORD" or (kind == "DURATION" and "DURATION" not in accepted):
                kind = self._word(value, accepted, called=_CALLED.match(text, end) is not None)
            elif kind == "MARK":
                kind = self._marks.get(value, "UNKNOWN")
            elif kind == "ANGLE":
                kind, end = self._angle(text, start, accepted)
                value = text[start:end]
            yield Token(kind, value, start, None, None, None, None, end)
            position = end

    def _word(self, word: str, accepted: Mapping[str, object], *, called: bool) -> str:
        """What a word is here: `a` is only so in lower case, other keywords in any case.

        CONTAINS is both a function and a relation: before a bracket it is the function.
        """
        upper = word.upper()
        keyword = self._keywords.get("a" if word == "a" else upper)
        function = upper in FUNCTIONS and "FUNCTION" in accepted
        if keyword in accepted and not (function and called):
            return str(keyword)
        if function:
            return "FUNCTION"
        if upper in AGGREGATE_FUNCTIONS and "AGGREGATE_FUNCTION" in accepted:
            return "AGGREGATE_FUNCTION"
        if "WORD" in accepted:
            return "WORD"
        return keyword or "WORD"

    def _angle(self, text: str, start: int, accepted: Mapping[str, object]) -> tuple[str, int]:
        """What a `<` opens: an IRI, a quoted triple where one can stand, else it compares."""
        iri = _IRIREF.match(text, start)
        if iri:
            return "IRIREF", iri.end()
        if text.startswith("<<", start) and self._marks["<<"] in accepted:
            return self._marks["<<"], start + 2
        if text.startswith("<=", start) and self._marks["<="] in accepted:
            return self._marks["<="], start + 2
        return self._marks["<"], start + 1
