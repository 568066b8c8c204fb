"""What looks like chance and is not: RAND, UUID and BNODE, made from a seed by hashing.

The seed stands for (query, instant, row), so that a retried task gives the same terms. A *place* is
one call in the text of the query: two calls differ, one call twice on the same row does not.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final
from uuid import UUID

from headrace.functions.strings import utf8
from headrace.functions.terms import simple_text
from headrace.functions.values import literal_of
from headrace.rdf.terms import BlankNode, Iri, Literal, Term

_SIZE: Final = 16
_MANTISSA_BITS: Final = 53


def random_number(seed: bytes, place: bytes) -> Literal:
    """RAND: a double that is at least 0 and less than 1."""
    bits = int.from_bytes(_digest(seed, b"number", place)) >> (8 * _SIZE - _MANTISSA_BITS)
    return literal_of(bits / 2.0**_MANTISSA_BITS)


def uuid_text(seed: bytes, place: bytes) -> Literal:
    """STRUUID."""
    return Literal(_uuid(seed, place))


def uuid_iri(seed: bytes, place: bytes) -> Iri:
    """UUID."""
    return Iri(f"urn:uuid:{_uuid(seed, place)}")


def blank_node(seed: bytes, place: bytes) -> BlankNode:
    """BNODE without an argument: another one for each call."""
    return BlankNode("b" + _digest(seed, b"node", place).hex())


def labelled_blank_node(seed: bytes, label: Term) -> BlankNode:
    """BNODE of a string: the same for the same string, anywhere in the same solution."""
    return BlankNode("b" + _digest(seed, b"label", utf8(simple_text(label))).hex())


def _uuid(seed: bytes, place: bytes) -> str:
    return str(UUID(bytes=_digest(seed, b"uuid", place), version=4))


def _digest(seed: bytes, purpose: bytes, text: bytes) -> bytes:
    # The length keeps apart a seed and what follows it.
    return blake2b(len(seed).to_bytes(8) + seed + text, digest_size=_SIZE, person=purpose).digest()
