"""Every function of the language by its name, and the functions that users add by IRI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self, TypeAlias

from headrace.algebra.expressions import FunctionCall
from headrace.algebra.uncertainty import ARITIES
from headrace.errors import SettingError, nearest
from headrace.functions import (
    arithmetic,
    comparison,
    logic,
    numbers,
    patterns,
    strings,
    terms,
    times,
)
from headrace.functions.casts import CASTS
from headrace.functions.costs import Costs
from headrace.functions.hashes import HASHES
from headrace.rdf.iri import is_absolute
from headrace.rdf.terms import Iri, Term

Function: TypeAlias = Callable[..., Term]
"""Terms to a term; raises ExpressionError where it has no result."""

OPERATORS: Final[Mapping[str, Function]] = {
    "=": comparison.equals,
    "!=": comparison.differs,
    "<": comparison.less,
    "<=": comparison.less_or_equal,
    ">": comparison.greater,
    ">=": comparison.greater_or_equal,
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "u-": arithmetic.negate,
    "u+": arithmetic.plus,
    "!": logic.negation,
}
"""The operators but `||` and `&&`, which may have a result though an argument is an error."""

BUILT_INS: Final[Mapping[str, Function]] = {
    "SAMETERM": comparison.same_term,
    "ISIRI": terms.is_iri,
    "ISBLANK": terms.is_blank,
    "ISLITERAL": terms.is_literal,
    "ISNUMERIC": terms.is_numeric,
    "STR": terms.string_form,
    "LANG": terms.language,
    "DATATYPE": terms.datatype,
    "IRI": terms.iri,
    "STRDT": terms.with_datatype,
    "STRLANG": terms.with_language,
    "STRLEN": strings.length,
    "SUBSTR": strings.substring,
    "UCASE": strings.upper,
    "LCASE": strings.lower,
    "STRSTARTS": strings.starts_with,
    "STRENDS": strings.ends_with,
    "CONTAINS": strings.contains,
    "STRBEFORE": strings.before,
    "STRAFTER": strings.after,
    "ENCODE_FOR_URI": strings.encoded_for_uri,
    "CONCAT": strings.concatenated,
    "LANGMATCHES": strings.language_matches,
    "REGEX": patterns.matches,
    "REPLACE": patterns.replaced,
    "ABS": numbers.absolute,
    "ROUND": numbers.rounded,
    "CEIL": numbers.ceiling,
    "FLOOR": numbers.floor,
    "YEAR": times.year,
    "MONTH": times.month,
    "DAY": times.day,
    "HOURS": times.hours,
    "MINUTES": times.minutes,
    "SECONDS": times.seconds,
    "TIMEZONE": times.timezone,
    "TZ": times.zone,
    **HASHES,
    "TRIPLE": terms.triple,
    "SUBJECT": terms.subject,
    "PREDICATE": terms.predicate,
    "OBJECT": terms.object_,
    "ISTRIPLE": terms.is_triple,
}
"""The functions whose result depends on nothing but their arguments."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A function that is called by its IRI, and how many arguments it takes if that is fixed."""

    iri: str
    function: Function
    arity: int | None = None


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions that a query can call by IRI: casts, those of uncertainty, and those added.

    Attributes:
        extensions: those that were added.
        tally: where calls are counted, if somebody wants to know.
        costs: what conditions that call them have cost.
    """

    extensions: tuple[Extension, ...] = ()
    tally: Counter[str] | None = field(default=None, compare=False, repr=False)
    costs: Costs = field(default_factory=Costs, compare=False, repr=False)

    def counted(self, tally: Counter[str]) -> Self:
        """These functions, with each call counted by IRI: for tests and measurements."""
        return replace(self, tally=tally)

    def with_function(self, iri: str, function: Function, *, arity: int | None = None) -> Self:
        """These functions and one more, which takes terms and returns one.

        It raises ExpressionError where it has no result. It must be deterministic: it is called
        once for each distinct tuple of arguments, in any order, on any machine.

        Raises:
            SettingError: the IRI is not absolute, or it has a function already.

        >>> def twice(term: Term) -> Term:
        ...     return arithmetic.add(term, term)
        >>> functions = Functions().with_function("http://example.org/twice", twice, arity=1)
        >>> functions.find("http://example.org/twice").arity
        1
        """
        if not is_absolute(iri):
            raise SettingError(f"{iri!r} is not an absolute IRI, so no function can have it")
        if self.find(iri) is not None:
            raise SettingError(f"<{iri}> has a function already")
        return replace(self, extensions=(*self.extensions, Extension(iri, function, arity)))

    def find(self, iri: str) -> Extension | None:
        """The function of an IRI, if there is one."""
        if iri in CASTS:
            return Extension(iri, CASTS[iri], 1)
        if iri in ARITIES:
            return Extension(iri, _uncertainty(iri))
        return next((added for added in self.extensions if added.iri == iri), None)

    def problem(self, call: FunctionCall) -> str | None:
        """Why a call can never have a result, if it cannot: for whoever checks a query."""
        name, given = call.function.value, len(call.arguments)
        found = self.find(name)
        if found is None:
            near = nearest(name, (*CASTS, *ARITIES, *(added.iri for added in self.extensions)))
            hint = f"; did you mean {Iri(near)}?" if near else ""
            return f"there is no function {call.function}{hint}"
        if found.arity is not None and found.arity != given:
            plural = "" if found.arity == 1 else "s"
            return f"{call.function} takes {found.arity} argument{plural}, found {given}"
        least, most = ARITIES.get(name, (given, given))
        if not least <= given <= most:
            return f"{call.function} takes {least} to {most} arguments, found {given}"
        return None


def _uncertainty(iri: str) -> Function:
    # What it needs takes as long to load as everything else together, and few queries ask for it.
    from headrace.functions.uncertainty.calls import FUNCTIONS  # noqa: PLC0415

    return FUNCTIONS[iri]


def is_cast(call: FunctionCall) -> bool:
    """Whether a call only changes the datatype of a value."""
    return call.function.value in CASTS
