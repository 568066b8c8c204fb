"""What a run says of every SERVICE that says nothing of its own: `service.budget=5`."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from headrace.algebra.operators import Budget
from headrace.errors import SettingError, listing

USABLE: Final = ("WBM", "LRU", "RND", "GNR")
POLICIES: Final = (*USABLE, "WST", "BST", "WBM*")
"""The others are bounds for experiments, and refused when a query is planned."""
SERVICE: Final = "service."
KEYS: Final = tuple(
    f"{SERVICE}{name}" for name in ("accuracy", "within", "policy", "budget", "rate")
)


def budget_of(settings: Mapping[str, str], duration: Mapping[str, int]) -> Budget | None:
    """Return the budget that settings give to a SERVICE without one; None if they give none.

    Args:
        settings: of a run.
        duration: `service.within` in microseconds, if it is given.

    Raises:
        SettingError: a value is wrong.
    """
    accuracy, within, policy, requests, _ = (settings.get(key) for key in KEYS)
    if accuracy is None and within is None and policy is None and requests is None:
        return None
    if policy is not None and policy.upper() not in POLICIES:
        raise SettingError(f"'{KEYS[2]}' is {listing(USABLE)}, not '{policy}'")
    if duration.get(KEYS[1]) == 0:
        raise SettingError(f"'{KEYS[1]}' is zero, and nothing is answered in no time")
    return Budget(
        None if accuracy is None else _share(accuracy),
        duration.get(KEYS[1]),
        None if policy is None else policy.upper(),
        None if requests is None else _number(requests),
        rate=rate_of(settings),
    )


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SettingError(f"'{KEYS[0]}' is a number from 0 to 1, not '{text}'")
    return value


def rate_of(settings: Mapping[str, str]) -> float | None:
    """Return the rate of requests between evaluations; None if none is set.

    Raises:
        SettingError: it is no positive number.
    """
    text = settings.get(KEYS[4])
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (0 < value < inf):
        raise SettingError(
            f"'{KEYS[4]}' is a positive number of requests in a second, not '{text}'"
        )
    return value


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise SettingError(f"'{KEYS[3]}' is a whole number, not '{text}'")
    return int(text)
