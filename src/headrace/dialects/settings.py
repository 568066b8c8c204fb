"""The `--set key=value` settings of a run: what each key takes, and the semantics they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final, TypeVar

from headrace.algebra.operators import Budget
from headrace.algebra.reporting import (
    FIRST,
    Align,
    BlankNodes,
    Bounds,
    Consumption,
    Contents,
    Emit,
    Every,
    FromNamed,
    Keep,
    NonEmpty,
    OnArrival,
    OnChange,
    OnClose,
    Order,
    Origin,
    Pick,
    Report,
    Scope,
    Semantics,
    Skip,
    Strategy,
)
from headrace.dialects import contracts
from headrace.dialects.durations import LONGEST, UNITS, iso_duration, unit_duration
from headrace.dialects.profiles import PROFILES
from headrace.errors import SettingError, listing, nearest
from headrace.rdf.times import microseconds as time_in_microseconds

Choice = TypeVar("Choice", bound=StrEnum)
Setting = Callable[[Semantics, str], Semantics]

_REPORTS: Final[dict[str, Report]] = {
    "on-close": OnClose(),
    "on-change": OnChange(),
    "on-arrival": OnArrival(),
}


def _choice(field: str, choices: type[StrEnum]) -> Setting:
    def apply(semantics: Semantics, text: str) -> Semantics:
        try:
            value = choices(text)
        except ValueError:
            raise SettingError(
                f"'{field}' is {listing(repr(str(each)) for each in choices)}, not '{text}'"
            ) from None
        return replace(semantics, **{field: value})  # type: ignore[arg-type]  # _choice fits them

    return apply


def duration(text: str) -> int:
    """Microseconds in `5s`, `PT5S`, or a bare number of milliseconds.

    >>> duration("1.5s")
    1500000
    """
    if not isinstance(text, str):
        raise SettingError(f"expected a duration such as '5s', as text, found {text!r}")
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text[len(number) :].strip().lower() or "ms"
    microseconds: Decimal | None = None
    if text.startswith("P"):
        microseconds = iso_duration(text) if text.strip("PT") else None
    elif unit in UNITS:
        try:
            microseconds = unit_duration(number, unit)
        except InvalidOperation:
            microseconds = None
    if microseconds is None or not _is_whole(microseconds) or microseconds < 0:
        raise SettingError(f"expected a duration such as 5s, 500ms or PT5S, found '{text}'")
    return int(microseconds)


def _is_whole(microseconds: Decimal) -> bool:
    """Whether it is a number of microseconds that the clock can count, and not endless."""
    return abs(microseconds) <= LONGEST and microseconds == int(microseconds)


def _time_out(text: str) -> int:
    found = duration(text)
    if not found:
        raise SettingError("'idle' needs a duration longer than zero")
    return found


def _report(semantics: Semantics, text: str) -> Semantics:
    if text in _REPORTS:
        return replace(semantics, report=_REPORTS[text])
    kind, _, period = text.partition(":")
    if kind != "every":
        raise SettingError(f"'report' is {listing([*_REPORTS, 'every:5s'])}, not '{text}'")
    if not period or not duration(period):
        raise SettingError("'report=every:...' needs a period longer than zero")
    return replace(semantics, report=Every(duration(period)))


def _overload(semantics: Semantics, text: str) -> Semantics:
    kind, colon, patience = text.partition(":")
    if text == "keep":
        return replace(semantics, overload=Keep())
    if kind != "skip":
        raise SettingError(f"'overload' is {listing(['keep', 'skip', 'skip:5s'])}, not '{text}'")
    return replace(semantics, overload=Skip(duration(patience)) if colon else Skip())


def _t0(semantics: Semantics, text: str) -> Semantics:
    return replace(semantics, t0=_origin(text))


def _origin(text: str) -> Origin:
    if text == FIRST:
        return FIRST
    try:
        moment = unit_duration(text, "ms")
    except InvalidOperation:
        return _instant(text)
    if not _is_whole(moment):
        raise SettingError(f"'t0' is a whole number of microseconds near our time, not '{text}'")
    return int(moment)


def _instant(text: str) -> int:
    try:
        return time_in_microseconds(text)
    except ValueError:
        raise SettingError(
            f"'t0' is a number of milliseconds, an ISO 8601 time or 'first', not '{text}'"
        ) from None


def _boolean(field: str) -> Setting:
    def apply(semantics: Semantics, text: str) -> Semantics:
        if text.lower() not in {"true", "false"}:
            raise SettingError(f"'{field}' is true or false, not '{text}'")
        return replace(semantics, **{field: text.lower() == "true"})  # type: ignore[arg-type]  # a flag

    return apply


_SETTINGS: Final[dict[str, Setting]] = {
    "bounds": _choice("bounds", Bounds),
    "align": _choice("align", Align),
    "t0": _t0,
    "contents": _choice("contents", Contents),
    "report": _report,
    "emit": _choice("emit", Emit),
    "non_empty": _choice("non_empty", NonEmpty),
    "order": _choice("order", Order),
    "pick": _choice("pick", Pick),
    "scope": _choice("scope", Scope),
    "delay": lambda semantics, text: replace(semantics, delay=duration(text)),
    "idle": lambda semantics, text: replace(semantics, idle=_time_out(text)),
    "max_ahead": lambda semantics, text: replace(semantics, max_ahead=duration(text)),
    "blank_nodes": _choice("blank_nodes", BlankNodes),
    "assert_quoted": _boolean("assert_quoted"),
    "strategy": _choice("strategy", Strategy),
    "overload": _overload,
    "consumption": _choice("consumption", Consumption),
    "from_named": _choice("from_named", FromNamed),
}

KEYS: Final = (
    *_SETTINGS,
    "profile",
    "delay.<stream>",
    "idle.<stream>",
    "rules.<name>",
    *contracts.KEYS,
)


def applied(semantics: Semantics, settings: Mapping[str, str]) -> Semantics:
    """Override semantics with the settings of a run, except `profile`."""
    for key, text in settings.items():
        if not isinstance(text, str):
            raise SettingError(f"expected the value of '{key}' as text, found {text!r}")
        family, _, member = key.partition(".")
        member = member.removeprefix("<").removesuffix(">")
        if key in _SETTINGS:
            semantics = _SETTINGS[key](semantics, text)
        elif family == "delay" and member:
            delays = (*semantics.stream_delays, (member, duration(text)))
            semantics = replace(semantics, stream_delays=delays)
        elif family == "idle" and member:
            idles = (*semantics.stream_idles, (member, _time_out(text)))
            semantics = replace(semantics, stream_idles=idles)
        elif family == "rules" and member:
            if text not in {"on", "off"}:
                raise SettingError(f"'{key}' is on or off, not '{text}'")
            switched = (*semantics.switched_rules, (member, text == "on"))
            semantics = replace(semantics, switched_rules=switched)
        elif key != "profile" and key not in contracts.KEYS:
            unknown(key)
    return semantics


def service_budget(settings: Mapping[str, str]) -> Budget | None:
    """What the settings give to every SERVICE without a budget of its own."""
    within = settings.get(_WITHIN)
    return contracts.budget_of(settings, {} if within is None else {_WITHIN: duration(within)})


def service_rate(settings: Mapping[str, str]) -> float | None:
    """Read the rate of requests between evaluations from settings."""
    return contracts.rate_of(settings)


_WITHIN: Final = "service.within"


def unknown(key: str) -> None:
    """Refuse a key that nothing knows, and list those that are known."""
    near = nearest(key, KEYS)
    suggestion = f"; did you mean '{near}'?" if near else ""
    raise SettingError(f"unknown setting '{key}'{suggestion}\nknown are {', '.join(KEYS)}")


def check_settings(settings: Mapping[str, str]) -> None:
    """Check settings before there is a query.

    Raises:
        SettingError: a key is not known, or a value is not one of its kind.
    """
    applied(Semantics(), settings)
    profile_name(settings)
    service_budget(settings)
    service_rate(settings)


def profile_name(settings: Mapping[str, str]) -> str | None:
    """The profile that the settings ask for, if they do."""
    name = settings.get("profile")
    if name is not None and name not in PROFILES:
        raise SettingError(f"'profile' is {listing(PROFILES)}, not '{name}'")
    return name
