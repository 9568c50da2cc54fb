"""The kinds of leaf that the wire format has, and what each refuses.

Every function takes the field's name, for the message, and a value; it returns the value as JSON will hold it, or
raises :class:`Refused`.
"""

from __future__ import annotations

import math
import re
from typing import Any, Callable, Sequence

from . import limits
from .refusal import Refused

#: A leaf's check: (field name, value) -> value for JSON.
Check = Callable[[str, Any], Any]

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}\Z")


def count(field: str, value: Any) -> int:
    """A whole number in 0 ..= 2^53."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Refused(f"{field}: {value!r}, where a whole number is needed")
    whole = value.__index__()
    if not 0 <= whole <= limits.COUNT:
        raise Refused(f"{field}: {whole}, where a count from 0 to 2^53 is needed")
    return whole


def integer(field: str, value: Any) -> int:
    """A whole number of either sign, at most 2^53 away from 0."""
    negative = isinstance(value, int) and value < 0
    return -count(field, -value) if negative else count(field, value)


def real(field: str, value: Any) -> float:
    """A finite binary64 number; -0 becomes 0."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise Refused(f"{field}: {value!r}, where a number is needed")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(f"{field}: {value!r}, where a number is needed") from error
    if not math.isfinite(number):
        raise Refused(f"{field}: {number}, where a finite number is needed")
    return number + 0.0


def flag(field: str, value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise Refused(f"{field}: {value!r}, where True or False is needed")
    return value


def vector(field: str, values: Sequence[Any]) -> list[float]:
    """Finite numbers, at most 2^20 of them. [D]"""
    return _each(field, values, limits.VECTOR, "components", real)


def identifier(field: str, value: Any) -> str:
    """A name that reveals nothing: letters, digits and ``._:@/-``, at most 128."""
    if not isinstance(value, str) or not _IDENTIFIER.match(value):
        raise Refused(f"{field}: {value!r}, where letters, digits and ._:@/- are allowed, 128 at most")
    return value


def identifiers(field: str, values: Sequence[Any]) -> list[str]:
    """The microbatches of a window, at most 2^16."""
    return _each(field, values, limits.MICROBATCHES_OF_A_WINDOW, "microbatches", identifier)


def _each(field: str, values: Sequence[Any], most: int, what: str, check: Check) -> list[Any]:
    """Every element checked, if there are not too many."""
    if len(values) > most:
        raise Refused(f"{field}: {len(values)} {what}, beyond the limit of {most}")
    return [check(f"{field}[{at}]", value) for at, value in enumerate(values)]


def opaque(field: str, value: Any) -> str:
    """Any text of at most 128 characters."""
    if not isinstance(value, str) or len(value) > limits.NAME:
        raise Refused(f"{field}: {value!r}, where text of at most {limits.NAME} characters is needed")
    return value


def decimals(field: str, value: Any) -> int:
    """How many decimals a logged number was rounded to."""
    whole = count(field, value)
    if whole > limits.DECIMALS:
        raise Refused(f"{field}: {whole}, beyond the limit of {limits.DECIMALS}")
    return whole


def one_of(*choices: str) -> Check:
    """One of these words."""

    def check(field: str, value: Any) -> str:
        if value not in choices:
            raise Refused(f"{field}: {value!r}, where one of {', '.join(choices)} is needed")
        return value

    return check


def is_finite(value: Any) -> bool:
    """Whether a number, or every component of a vector, is finite."""
    if isinstance(value, (list, tuple)):
        return all(math.isfinite(component) for component in value)
    return math.isfinite(value)
