"""Hash functions of a string without a language, in lower-case hexadecimal."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from headrace.functions.strings import utf8
from headrace.functions.terms import simple_text
from headrace.rdf.terms import Literal, Term


def _hash(algorithm: str) -> Callable[[Term], Literal]:
    def hashed(term: Term) -> Literal:
        content = utf8(simple_text(term))
        return Literal(hashlib.new(algorithm, content, usedforsecurity=False).hexdigest())

    return hashed


HASHES: Final = {
    name: _hash(name.lower()) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")
}
"""The functions by name."""
