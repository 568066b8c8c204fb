"""From text to parse tree, by the grammar of a dialect."""

from __future__ import annotations

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from headrace.dialects.tables import parser
from headrace.dialects.translate.trees import tokens
from headrace.errors import InternalError, QueryError, Source


def parse_tree(source: Source, grammar: tuple[str, ...]) -> Tree[Token]:
    """Parse a text, or say what was found and what was expected."""
    try:
        return parser(grammar).parse(source.text)
    except UnexpectedToken as error:
        raise _explained(error, source, parser(grammar)) from None
    except UnexpectedInput as error:
        raise InternalError(f"the lexer let something through: {error}") from error


def _explained(error: UnexpectedToken, source: Source, used: Lark) -> QueryError:
    from headrace.dialects.expected import syntax_error  # noqa: PLC0415 - right queries need none

    state = error.interactive_parser
    if state is None:
        raise InternalError("the parser lost its state") from error
    # What the table lists includes tokens that only another context could use: try each.
    expected = state.accepts()  # type: ignore[no-untyped-call]  # lark leaves it untyped
    literals = {
        terminal.name: str(terminal.pattern.value)
        for terminal in used.terminals
        if terminal.pattern is not None
    }
    before = _last_token(state.parser_state.value_stack)
    return syntax_error(source, error.token, expected, before, literals)


def _last_token(stack: list[Tree[Token] | Token]) -> Token | None:
    """The token before the wrong one, as far as the parser has kept it."""
    last = stack[-1] if stack else None
    found = [last] if isinstance(last, Token) else list(tokens(last))
    return found[-1] if found else None


def keywords(grammar: tuple[str, ...]) -> list[str]:
    """The words that a grammar has a meaning for."""
    patterns = (each.pattern for each in parser(grammar).terminals if each.pattern is not None)
    words = {str(each.value) for each in patterns if each.type == "str"}
    return sorted(word.upper() for word in words if word.isalpha() and len(word) > 1)
