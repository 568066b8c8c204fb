"""Which number stands for a term in columns.

The same term has the same id on every machine of a deployment, with no shared dictionary. The
seed is the deployment's own, so that nobody outside can look for two terms with one id.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from struct import Struct
from typing import NewType

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from headrace.rdf.terms import QuotedTriple, Term, canonical

TermId = NewType("TermId", int)
"""A signed 64-bit number, because columns of ids are Int64."""

_THREE_IDS = Struct("<3q")
_SIGN = 1 << 63


def term_id(term: Term, seed: int = 0) -> TermId:
    """The id of a term in the deployment with this seed.

    >>> from headrace.rdf.terms import Iri, Literal
    >>> term_id(Iri("http://example.org/a"))
    2104508240554106038
    >>> term_id(Literal("a")) == term_id(Literal("a"), seed=1)
    False
    """
    if isinstance(term, QuotedTriple):
        return quoted_id(
            term_id(term.subject, seed),
            term_id(term.predicate, seed),
            term_id(term.object, seed),
            seed,
        )
    return text_id(canonical(term).encode(), seed)


def quoted_id(subject: TermId, predicate: TermId, object_: TermId, seed: int = 0) -> TermId:
    """The id of a quoted triple from the ids of its parts, without their texts."""
    return text_id(_THREE_IDS.pack(subject, predicate, object_), seed)


def text_id(canonical_text: bytes, seed: int = 0) -> TermId:
    """The id of the term with this canonical N-Triples form."""
    digest = xxh3_64_intdigest(canonical_text, seed)
    return TermId(digest - (digest & _SIGN) * 2)


def text_ids(canonical_texts: Sequence[bytes], seed: int = 0) -> npt.NDArray[np.int64]:
    """The ids of the terms with these canonical N-Triples forms."""
    digests = map(xxh3_64_intdigest, canonical_texts, repeat(seed))
    return np.fromiter(digests, np.uint64, len(canonical_texts)).view(np.int64)
