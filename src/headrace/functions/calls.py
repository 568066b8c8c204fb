"""Calls of functions by IRI within one evaluation: each made once, and counted.

Only what is called by IRI and is no cast: such a function may cost anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from headrace.functions.errors import ExpressionError, UnreadableValueError
from headrace.functions.value_failures import Cause, Recorder
from headrace.rdf.terms import Term

if TYPE_CHECKING:  # what it needs takes time to load
    from headrace.functions.uncertainty.kept import KeptColumns

Arguments: TypeAlias = tuple[Term, ...]


@dataclass
class Calls:
    """What functions have given in one evaluation.

    Attributes:
        cached: whether no call is made twice.
        tally: how many calls were made of each function; shared with who wants to know.
        failures: counts the calls that have no result.
    """

    cached: bool = True
    tally: Counter[str] | None = None
    failures: Recorder = field(default_factory=Recorder)
    _results: dict[tuple[str, Arguments], Term | ExpressionError] = field(default_factory=dict)
    _columns: KeptColumns | None = None

    def result(self, iri: str, function: Callable[..., Term], arguments: Arguments) -> Term:
        """Call a function with some terms.

        Raises:
            ExpressionError: it has no result.
        """
        if not self.cached:
            self.count(iri, 1)
            try:
                return function(*arguments)
            except ExpressionError as error:
                self.note(iri, error, arguments)
                raise
        key = (iri, arguments)
        found = self._results.get(key)
        if found is None:
            self.count(iri, 1)
            try:
                found = function(*arguments)
            except ExpressionError as error:
                found = error
                self.note(iri, error, arguments)
            self._results[key] = found
        if isinstance(found, ExpressionError):
            raise found
        return found

    def note(self, iri: str, error: ExpressionError, arguments: Arguments) -> None:
        """Count a call that has no result."""
        if isinstance(error, UnreadableValueError):
            self.failures.note(Cause.VALUE, error.datatype, str(error))
        else:
            self.failures.note(Cause.CALL, iri, str(error), arguments)

    def count(self, iri: str, calls: int) -> None:
        """Take note of calls that are made."""
        if self.tally is not None:
            self.tally[iri] += calls

    @property
    def columns(self) -> KeptColumns:
        """The same for functions on columns."""
        if self._columns is None:
            # What it needs takes as long to load as everything else, and few queries ask for it.
            from headrace.functions.uncertainty.kept import KeptColumns  # noqa: PLC0415

            self._columns = KeptColumns(self.cached, self.count, self.failures)
        return self._columns
