"""Failures of expressions to compute a value, counted by cause and subject, with an example.

SPARQL makes such a value an error, which drops a solution or leaves a variable unbound. Each is
counted once for each evaluation in which it is met, however many solutions it stands in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

_EXAMPLE: Final = 200
_SUBJECTS: Final = 100
"""The most subjects of a query that are counted by themselves; others are counted together."""
_OTHERS: Final = "others"


class Cause(StrEnum):
    """The cause of a missing value."""

    VALUE = "value"
    """A value of the data that could not be read; the subject is its datatype."""
    CALL = "call"
    """A call of a function that has no result; the subject is its IRI."""
    AGGREGATE = "aggregate"
    """A group whose SUM or AVG of distributions has no result; the subject is its name."""
    PATTERN = "pattern"
    """A computed pattern that RE2 does not take; the subject is REGEX or REPLACE."""


@dataclass(frozen=True, slots=True)
class ValueFailure:
    """The failures of one cause and subject.

    Attributes:
        cause: why.
        subject: the datatype or the function at fault.
        count: how often.
        example: the first of them, with the reason.
    """

    cause: Cause
    subject: str
    count: int
    example: str

    def __str__(self) -> str:
        """Write one sentence for people."""
        many, number = self.count != 1, f"{self.count:,}"
        match self.cause:
            case Cause.VALUE:
                said = f"{number} value{'s' * many} of {_shown(self.subject)} could not be read"
            case Cause.CALL:
                said = f"{number} call{'s' * many} of {_shown(self.subject)} had no result"
            case Cause.AGGREGATE:
                said = f"{number} group{'s' * many} had no {self.subject}"
            case Cause.PATTERN:
                said = f"{number} pattern{'s' * many} of {self.subject} could not be used"
        return f"{said}; the first: {self.example}"


def _shown(subject: str) -> str:
    return f"<{subject}>" if ":" in subject else subject


@dataclass
class ValueFailures:
    """The failures of one query so far."""

    _found: dict[tuple[Cause, str], ValueFailure] = field(default_factory=dict)

    def add(self, failure: ValueFailure) -> None:
        """Count failures of one cause and subject; the first example stays."""
        key = (failure.cause, failure.subject)
        if key not in self._found and len(self._found) >= _SUBJECTS:
            key = (failure.cause, _OTHERS)
        before = self._found.get(key)
        if before is None:
            example = failure.example[:_EXAMPLE]
            self._found[key] = ValueFailure(*key, failure.count, example)
        else:
            self._found[key] = ValueFailure(*key, before.count + failure.count, before.example)

    def __iter__(self) -> Iterator[ValueFailure]:
        """Iterate over causes and subjects in a fixed order."""
        return iter(sorted(self._found.values(), key=lambda each: (each.cause, each.subject)))


@dataclass
class FailuresByQuery:
    """The failures of all queries of a deployment."""

    _queries: dict[str, ValueFailures] = field(default_factory=dict)

    def recorder(self, names: Sequence[str]) -> Recorder:
        """Make the recorder of one evaluation of some queries."""
        return Recorder(self, names)

    def add(self, name: str, failure: ValueFailure) -> None:
        """Count failures of a query."""
        self._queries.setdefault(name, ValueFailures()).add(failure)

    def remove(self, name: str) -> None:
        """Forget the failures of a query."""
        self._queries.pop(name, None)

    def by_query(self) -> dict[str, tuple[ValueFailure, ...]]:
        """List all failures by the names of their queries."""
        return {name: tuple(each) for name, each in self._queries.items()}


@dataclass
class Recorder:
    """Counts the failures of one evaluation for the queries that are evaluated.

    Attributes:
        failures: where they are counted; without it, nothing is.
        names: of the queries.
    """

    failures: FailuresByQuery | None = None
    names: Sequence[str] = ()
    _seen: set[tuple[Cause, str, object]] = field(default_factory=set)

    @property
    def is_on(self) -> bool:
        """True if failures are counted."""
        return self.failures is not None

    def note(self, cause: Cause, subject: str, example: str, key: object = None) -> None:
        """Count a failure once for each evaluation.

        Args:
            cause: why there is no value.
            subject: the datatype or the function at fault.
            example: what is shown of it.
            key: tells it from others of the same subject; the example does, if not given.
        """
        known = (cause, subject, example if key is None else key)
        if self.is_on and known not in self._seen:
            self._seen.add(known)
            self.count(ValueFailure(cause, subject, 1, example))

    def count(self, failure: ValueFailure) -> None:
        """Count failures that are known to differ."""
        if self.failures is not None:
            for name in self.names:
                self.failures.add(name, failure)
