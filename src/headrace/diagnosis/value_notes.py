"""Notes about values that the expressions of a query could not read or compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.diagnosis.note import Code, Note, Severity
from headrace.functions.value_failures import ValueFailure


def value_notes(failures: Mapping[str, Sequence[ValueFailure]]) -> tuple[Note, ...]:
    """Report the failures of each query, one note for each cause and subject.

    Args:
        failures: by the names of the queries.
    """
    return tuple(
        Note(
            Code.VALUE_FAILURE,
            Severity.WARNING,
            f"'{name}': {failure}",
            name,
            subject=failure.subject,
        )
        for name, found in failures.items()
        for failure in found
    )
