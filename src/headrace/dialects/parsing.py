"""From text to parse tree, by the grammar of a dialect."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from headrace.dialects.expected import syntax_error
from headrace.dialects.lexer import SparqlLexer
from headrace.errors import InternalError, Source


def parse_tree(source: Source, grammar: tuple[str, ...]) -> Tree[Token]:
    """Parse a text, or say what was found and what was expected."""
    parser = _parser(grammar)
    try:
        return parser.parse(source.text)
    except UnexpectedToken as error:
        stack = error.interactive_parser.parser_state.value_stack if error.interactive_parser else []
        before = next((each for each in reversed(stack) if isinstance(each, Token)), None)
        literals = {
            terminal.name: str(terminal.pattern.value)
            for terminal in parser.terminals
            if terminal.pattern is not None
        }
        raise syntax_error(source, error.token, error.expected, before, literals) from None
    except UnexpectedInput as error:
        raise InternalError(f"the lexer let something through: {error}") from error


@cache
def _parser(grammar: tuple[str, ...]) -> Lark:
    """The parser of a grammar, from the files that make it up."""
    folder = files("headrace.dialects").joinpath("grammar")
    text = "\n".join(folder.joinpath(f"{name}.lark").read_text("utf-8") for name in grammar)
    return Lark(text, parser="lalr", lexer=SparqlLexer, maybe_placeholders=True)
