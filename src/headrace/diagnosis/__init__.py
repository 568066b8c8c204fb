"""Why a query gives no rows: facts about streams and queries, and the notes that follow from them.

Everything here is pure: no input or output, no clock, no columns. Runners collect facts,
`diagnose` turns them into notes, and every front end shows the same notes.
"""

from headrace.diagnosis.diagnose import diagnose
from headrace.diagnosis.facts import Facts, FarTime, QueryFacts, StreamFacts
from headrace.diagnosis.note import Code, Note, Severity
from headrace.diagnosis.reporter import NoteReporter
from headrace.diagnosis.value_notes import value_notes

__all__ = [
    "Code",
    "Facts",
    "FarTime",
    "Note",
    "NoteReporter",
    "QueryFacts",
    "Severity",
    "StreamFacts",
    "diagnose",
    "value_notes",
]
