"""The error of an expression, which is a value of the language and not a failure of the run."""

from __future__ import annotations


class ExpressionError(Exception):
    """A type error as SPARQL has it: FILTER drops the solution, BIND leaves its variable unbound.

    It is no HeadraceError, because no person has to act on it: whoever evaluates an expression
    catches it and goes on. An extension function raises it to say that it has no result.
    """
