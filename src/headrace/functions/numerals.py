"""Numbers of XML Schema: from their lexical forms to exact values and back.

Integers and decimals are exact and have no range but a limit of digits, beyond which they are no
values: a query must not be able to fill the memory with one number. Floats are 32 bits wide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow
from enum import IntEnum
from struct import pack, unpack
from typing import Final, TypeVar

from headrace.functions.errors import ExpressionError
from headrace.rdf.vocabulary import XSD, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

MAX_DIGITS: Final = 4_000

EXACT: Final = Context(
    prec=MAX_DIGITS,
    Emax=MAX_DIGITS,
    Emin=-MAX_DIGITS,
    clamp=0,
    traps=[Inexact, InvalidOperation, Overflow],
)
"""Decimal arithmetic that is exact or an error."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE: Final = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"
)
_SINGLE_DIGITS: Final = range(5, 9)
_PLAIN_FROM, _PLAIN_BELOW = 1e-6, 1e6

INTEGER_RANGES: Final[dict[str, tuple[int | None, int | None]]] = {
    XSD_INTEGER: (None, None),
    XSD + "long": (-(2**63), 2**63 - 1),
    XSD + "int": (-(2**31), 2**31 - 1),
    XSD + "short": (-(2**15), 2**15 - 1),
    XSD + "byte": (-(2**7), 2**7 - 1),
    XSD + "unsignedLong": (0, 2**64 - 1),
    XSD + "unsignedInt": (0, 2**32 - 1),
    XSD + "unsignedShort": (0, 2**16 - 1),
    XSD + "unsignedByte": (0, 2**8 - 1),
    XSD + "nonNegativeInteger": (0, None),
    XSD + "positiveInteger": (1, None),
    XSD + "nonPositiveInteger": (None, 0),
    XSD + "negativeInteger": (None, -1),
}
"""Least and greatest value of xsd:integer and of all types derived from it."""


class Kind(IntEnum):
    """The four numeric types that arithmetic knows, each promoted to the next."""

    INTEGER = 0
    DECIMAL = 1
    FLOAT = 2
    DOUBLE = 3


DATATYPES: Final = {
    Kind.INTEGER: XSD_INTEGER,
    Kind.DECIMAL: XSD_DECIMAL,
    Kind.FLOAT: XSD_FLOAT,
    Kind.DOUBLE: XSD_DOUBLE,
}


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric value: an int, a Decimal or a float, by its kind."""

    kind: Kind
    value: int | Decimal | float


# -- from lexical forms ------------------------------------------------------------------------


def integer_of(lexical: str, datatype: str = XSD_INTEGER) -> Number | None:
    """The value of an integer of some type, if it is one and in range.

    >>> integer_of("+07"), integer_of("300", XSD + "byte")
    (Number(kind=<Kind.INTEGER: 0>, value=7), None)
    """
    if len(lexical) > MAX_DIGITS or not _INTEGER.fullmatch(lexical):
        return None
    value = int(lexical)
    return Number(Kind.INTEGER, value) if in_range(value, datatype) else None


def in_range(value: int, datatype: str) -> bool:
    """Whether an integer type has this value."""
    least, most = INTEGER_RANGES[datatype]
    return (least is None or value >= least) and (most is None or value <= most)


def decimal_of(lexical: str) -> Number | None:
    """The exact value of a decimal, if it is one."""
    if len(lexical) > MAX_DIGITS or not _DECIMAL.fullmatch(lexical):
        return None
    return Number(Kind.DECIMAL, Decimal(lexical))


def double_of(lexical: str) -> Number | None:
    """The nearest double, if the text is one; beyond the greatest one it is INF."""
    if len(lexical) > MAX_DIGITS or not _DOUBLE.fullmatch(lexical):
        return None
    return Number(Kind.DOUBLE, float(lexical))


def float_of(lexical: str) -> Number | None:
    """The nearest 32-bit float, if the text is one.

    >>> float_of("1.00000005960464477539062501")  # the nearest double is halfway to 1
    Number(kind=<Kind.FLOAT: 2>, value=1.0000001192092896)
    """
    number = double_of(lexical)
    if number is None:
        return None
    return Number(Kind.FLOAT, single(_rounded_to_odd(lexical, float(number.value))))


def _rounded_to_odd(lexical: str, nearest: float) -> float:
    """A double beside a number from which the same float is the nearest as from the number itself.

    If it is not the number, its last bit is set, so that it is never halfway between two floats.
    """
    (bits,) = unpack("<q", pack("<d", nearest))
    if not math.isfinite(nearest) or bits & 1:
        return nearest
    difference = Decimal(lexical).compare(Decimal(nearest))
    return math.nextafter(nearest, math.inf * int(difference)) if difference else nearest


# -- to lexical forms --------------------------------------------------------------------------


def lexical_of(number: Number) -> str:
    """The canonical lexical form.

    >>> lexical_of(Number(Kind.DECIMAL, Decimal("1.50")))
    '1.5'
    >>> lexical_of(Number(Kind.DOUBLE, 1.0)), lexical_of(Number(Kind.FLOAT, single(0.1)))
    ('1.0E0', '1.0E-1')
    """
    value = number.value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if number.kind is Kind.DOUBLE:
        return double_text(value)
    return _scientific(_shortest_single(value)) if math.isfinite(value) else _special(value)


def double_text(value: float) -> str:
    """The canonical lexical form of a double, which is made for every computed one.

    >>> double_text(0.00123), double_text(-1234.5), double_text(1e300), double_text(0.0)
    ('1.23E-3', '-1.2345E3', '1.0E300', '0.0E0')
    """
    if not math.isfinite(value):
        return _special(value)
    shortest = repr(value)
    if shortest[0] > "0" and "e" not in shortest:  # most of them: positive, from 1 on
        point = shortest.index(".")
        fraction = shortest[point + 1 :]
        rest = shortest[1:point]
        digits = (rest.rstrip("0") or "0") if fraction == "0" else rest + fraction
        return f"{shortest[0]}.{digits}E{point - 1}"
    sign = "-" if shortest[0] == "-" else ""
    mantissa, _, exponent = shortest.removeprefix("-").partition("e")
    if exponent:
        return f"{sign}{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
    whole, _, fraction = mantissa.partition(".")
    if whole != "0":
        digits, power = (whole + fraction).rstrip("0"), len(whole) - 1
    else:
        digits = fraction.lstrip("0")
        power = len(digits) - len(fraction) - 1 if digits else 0
    return f"{sign}{digits[:1] or '0'}.{digits[1:] or '0'}E{power}"


def string_of(number: Number) -> str:
    """The text that a cast to xsd:string gives, where small floats have no exponent.

    >>> string_of(Number(Kind.DOUBLE, 1.0)), string_of(Number(Kind.DOUBLE, 1e7))
    ('1', '1.0E7')
    """
    value = number.value
    if isinstance(value, float) and math.isfinite(value):
        if value == 0:
            return "-0" if math.copysign(1, value) < 0 else "0"
        if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
            return _decimal_text(Decimal(lexical_of(number)))
    return lexical_of(number)


def _decimal_text(value: Decimal) -> str:
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "INF" if value > 0 else "-INF"


def _shortest_single(value: float) -> str:
    """As few digits as tell a 32-bit float from its neighbours."""
    for digits in _SINGLE_DIGITS:
        text = f"{value:.{digits}e}"
        if single(float(text)) == value:
            return text
    return repr(value)


def _scientific(digits: str) -> str:
    sign, figures, exponent = Decimal(digits).as_tuple()
    assert isinstance(exponent, int)  # it is finite
    text = "".join(map(str, figures))
    exponent += len(text) - 1
    text = text.rstrip("0") or "0"
    if text == "0":
        exponent = 0
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{exponent}"


# -- between the kinds -------------------------------------------------------------------------


def single(value: float) -> float:
    """The nearest 32-bit float."""
    try:
        (rounded,) = unpack("f", pack("f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(rounded)


def as_float(value: int | Decimal | float) -> float:
    """The nearest double; beyond the greatest one it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_decimal(number: Number) -> Decimal:
    """The same number as a decimal, which infinities and NaN are not.

    A fraction is as short as tells a double from its neighbours: 0.1, and not all of its 55 digits.

    >>> as_decimal(Number(Kind.DOUBLE, 0.1)), as_decimal(Number(Kind.DOUBLE, 1e22))
    (Decimal('0.1'), Decimal('10000000000000000000000'))
    """
    value = number.value
    if not isinstance(value, float):
        return Decimal(value)
    if not math.isfinite(value):
        raise ExpressionError(f"{_special(value)} is no decimal number")
    return Decimal(int(value)) if value.is_integer() else Decimal(repr(value))


Result = TypeVar("Result")


def exactly(operation: Callable[[], Result]) -> Result:
    """The result of decimal arithmetic, unless it has too many digits to be exact."""
    try:
        return operation()
    except DecimalException as error:
        raise ExpressionError(f"a number has more than {MAX_DIGITS} digits") from error
