"""Which dialect a text is written in, from the words it uses."""

from __future__ import annotations

import re
from typing import Final

# Strings, comments and IRIs are passed over; what remains is words, marks and stand-ins. What may
# end a token may be missing, so that no loop ever has to go back.
_TOKENS: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*(?:\'\'\')?'
    r'|"(?:[^"\\\n\r]|\\.)*"?|\'(?:[^\'\\\n\r]|\\.)*\'?'
    r"|\#[^\n\r]*"
    r"|(?P<iri><[^\x00-\x20<>\"{}|^`\\]*>|:[\w.:%-]*)"
    r"|(?P<variable>[?$]\w+)"
    r"|(?P<word>\w[\w.-]*(?P<local>:[\w.:%-]*)?)"
    r"|(?P<mark>[\]\[{-])",
    re.DOTALL,
)

# In order: the first form that a text has says its dialect. `I` is an IRI, `V` a variable.
_FORMS: Final = (
    ("rspql", re.compile(r" (FROM NAMED WINDOW|WINDOW [IV] \{|REGISTER [RID]STREAM) ")),
    ("sparqlstream", re.compile(r" FROM NAMED STREAM I \[ NOW -")),
    ("sparqlstream", re.compile(r"^(?!.* (GRAPH|REGISTER|AGGREGATE) ).* FROM NAMED STREAM ")),
    ("csparql", re.compile(r" (FROM (NAMED )?STREAM|AGGREGATE \{) ")),
    ("cqels", re.compile(r" (STREAM [IV] \[|FROM NAMED I \[) ")),
    ("rspql", re.compile(r" REGISTER (STREAM|QUERY) I ")),
    ("csparql", re.compile(r" REGISTER (STREAM|QUERY) ")),
    # A window says that there is a stream, even where the word before it is misspelt.
    ("csparql", re.compile(r" FROM (NAMED )?\w+ I \[ ")),
    ("cqels", re.compile(r" [IV] \[ (RANGE|NOW|ALL|TRIPLES) ")),
)


def detect(text: str) -> str:
    """The name of the dialect of a text; plain SPARQL if nothing speaks for another.

    >>> detect("SELECT * { STREAM <s> [RANGE 5s] { ?a ?b ?c } }")
    'cqels'
    >>> detect("SELECT * { ?a ?b 'FROM STREAM' }")
    'sparql'
    """
    words = [
        "I" if found["iri"] or found["local"] else "V" if found["variable"] else found[0].upper()
        for found in _TOKENS.finditer(text)
        if found["iri"] or found["variable"] or found["word"] or found["mark"]
    ]
    skeleton = f" {' '.join(words)} "
    return next((dialect for dialect, form in _FORMS if form.search(skeleton)), "sparql")
