"""The error of an expression, which is a value of the language and not a failure of the run."""

from __future__ import annotations


class ExpressionError(Exception):
    """A type error as SPARQL has it: FILTER drops the solution, BIND leaves its variable unbound.

    It is no HeadraceError, because no person has to act on it: whoever evaluates an expression
    catches it and goes on. An extension function raises it to say that it has no result.
    """


class UnreadableValueError(ExpressionError):
    """A value that a function cannot read.

    Attributes:
        datatype: of the value; what kind of term it is, if it is no literal.
    """

    def __init__(self, problem: str, datatype: str) -> None:
        """Keep the datatype beside the problem."""
        super().__init__(problem)
        self.datatype = datatype
