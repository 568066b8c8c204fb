"""SUM and AVG of doubles, exact until they are rounded once: running sums of limbs.

A running sum of doubles depends on where it began, and what has left leaves its rounding behind.
So each value is written as an integer times a power of two that all share, in limbs of 32 bits.
Each limb has a running sum of its own in an int64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.execution.aggregates.counts import count_flagged
from headrace.execution.aggregates.groups import Grouping
from headrace.execution.relation.arrays import Ids

Doubles = npt.NDArray[np.float64]

_BITS: Final = 32
_MASK: Final = (1 << _BITS) - 1
_MANTISSA: Final = 53


def sum_doubles(grouping: Grouping, values: Doubles) -> Doubles:
    """Sum the doubles of each group, correctly rounded, as `math.fsum` does.

    Infinities and NaN are counted instead of added: once in a running sum they would never leave.

    Args:
        grouping: the groups.
        values: one for each member; 0 where it has none.
    """
    finite = np.isfinite(values)
    sums = _sum_finite(grouping, np.where(finite, values, 0.0))
    return sums if finite.all() else _add_specials(grouping, values, sums)


def average(sums: Doubles, counts: Ids) -> Doubles:
    """Divide sums by counts; the average of nothing is 0, as SPARQL wants it."""
    return np.where(counts > 0, sums / np.maximum(counts, 1), 0.0)


def _add_specials(grouping: Grouping, values: Doubles, sums: Doubles) -> Doubles:
    """Replace the sums of groups that have an infinity or NaN."""
    rises = count_flagged(grouping, values == np.inf) > 0
    falls = count_flagged(grouping, values == -np.inf) > 0
    broken = (count_flagged(grouping, np.isnan(values)) > 0) | (rises & falls)
    return np.select([broken, rises, falls], [np.nan, np.inf, -np.inf], sums)


def _sum_finite(grouping: Grouping, values: Doubles) -> Doubles:
    """Sum finite doubles by limbs."""
    mantissa, exponent = _as_integers(values)
    used = exponent[mantissa != 0]
    least = int(used.min()) if used.size else 0
    shift = np.where(mantissa != 0, exponent - least, 0)
    limbs = [grouping.accumulate(each) for each in _split_limbs(mantissa, shift)]
    total = _join_limbs(limbs, grouping.live.size)
    return np.array([_round_scaled(each, least) for each in total], np.float64)


def _as_integers(values: Doubles) -> tuple[Ids, Ids]:
    """Write doubles as an integer times a power of two."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(mantissa, _MANTISSA).astype(np.int64), exponent.astype(np.int64) - _MANTISSA


def _split_limbs(mantissa: Ids, shift: Ids) -> Iterator[Ids]:
    """Split shifted integers into limbs of 32 bits, each with the sign of its number.

    A mantissa has 53 bits, and touches three limbs.
    """
    place, inside = shift // _BITS, shift % _BITS
    size, sign = np.abs(mantissa), np.sign(mantissa)
    low = (size & _MASK) << inside
    high = ((size >> _BITS) << inside) + (low >> _BITS)
    parts = [sign * part for part in (low & _MASK, high & _MASK, high >> _BITS)]
    for number in range(int(place.max()) + len(parts) if place.size else 0):
        limb = np.zeros(mantissa.size, np.int64)
        for offset, part in enumerate(parts):
            limb += np.where(place + offset == number, part, 0)
        yield limb


def _join_limbs(limbs: list[Ids], height: int) -> list[int]:
    """Join limbs, which may be negative and exceed 32 bits, to Python numbers."""
    words, carry = [], np.zeros(height, np.int64)
    for each in limbs:
        carry = carry + each
        words.append((carry & _MASK).astype("<u4"))
        carry = carry >> _BITS
    words.append((carry & _MASK).astype("<u4"))  # as two's complement
    width = len(words) * words[0].itemsize
    data = np.stack(words, axis=1).tobytes()
    starts = range(0, len(data), width)
    return [int.from_bytes(data[start : start + width], "little", signed=True) for start in starts]


def _round_scaled(number: int, exponent: int) -> float:
    """Round an integer times a power of two once; what is too large is infinite."""
    try:
        return float(number << exponent) if exponent >= 0 else number / (1 << -exponent)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
