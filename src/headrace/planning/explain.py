"""What a query means, shown: its profile, its windows, and its algebra."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, assert_never

from headrace.algebra.expressions import Variable
from headrace.algebra.notation import show
from headrace.algebra.query import Query
from headrace.algebra.reporting import (
    Every,
    OnArrival,
    OnChange,
    OnClose,
    Report,
    Semantics,
)
from headrace.algebra.scope import certain, possible
from headrace.algebra.windows import (
    AllWindow,
    CountWindow,
    NowWindow,
    TimeWindow,
    WindowDeclaration,
    WindowFrame,
)
from headrace.planning.partitioning import Partitioning, partitioning_of
from headrace.rdf.terms import Iri
from headrace.rdf.times import milliseconds

_UNITS = (
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "m"),
    (1_000_000, "s"),
    (1_000, "ms"),
    (1, "us"),
)
_DURATIONS = ("delay", "max_ahead")


def length(microseconds: int) -> str:
    """A duration as a person writes it.

    >>> length(90_000_000), length(86_400_000_000), length(0)
    ('90s', '1d', '0s')
    """
    if microseconds == 0:
        return "0s"
    size, unit = next(each for each in _UNITS if microseconds % each[0] == 0)
    return f"{microseconds // size}{unit}"


def frame_text(frame: WindowFrame) -> str:
    """A window's frame in words.

    >>> frame_text(TimeWindow(600_000_000, 60_000_000))
    'the last 10m, every 1m'
    """
    match frame:
        case TimeWindow(width, slide):
            if slide is None:
                return f"the last {length(width)}, at every arrival"
            tumbling = " (tumbling)" if width == slide else ""
            return f"the last {length(width)}, every {length(slide)}{tumbling}"
        case CountWindow(size, step, counted):
            return f"the last {size} {counted}, every {step}"
        case NowWindow():
            return "the elements of the instant"
        case AllWindow():
            return "all elements so far"
        case _:
            assert_never(frame)


def report_text(report: Report) -> str:
    """A report policy by the name that `--set report=` takes."""
    match report:
        case OnClose():
            return "on-close"
        case Every(period):
            return f"every:{length(period)}"
        case OnChange():
            return "on-change"
        case OnArrival():
            return "on-arrival"
        case _:
            assert_never(report)


def semantics_rows(semantics: Semantics) -> Iterator[tuple[str, str]]:
    """Every choice of a query beyond its text, by the key that `--set` takes."""
    for field in fields(semantics):
        value = getattr(semantics, field.name)
        match field.name:
            case "report":
                yield "report", report_text(value)
            case "t0":
                yield "t0", value if isinstance(value, str) else milliseconds(value)
            case "stream_delays":
                yield from ((f"delay.{stream}", length(delay)) for stream, delay in value)
            case "switched_rules":
                yield from ((f"rules.{rule}", "on" if on else "off") for rule, on in value)
            case name if name in _DURATIONS:
                yield name, length(value)
            case name:
                yield name, str(value).lower()


def as_text(query: Query, dialect: str, profile: str) -> str:
    """A query explained for a terminal."""
    lines = [*_heading(query, dialect, profile)]
    if query.is_continuous:
        lines.append("")
        lines += [f"{'window':12}{_window_text(window)}" for window in query.windows]
        lines.append("")
        for position, (key, value) in enumerate(semantics_rows(query.semantics)):
            lines.append(f"{'' if position else 'profile':12}{key:16}{value}")
        lines += ["", f"{'evaluated':12}{_parts_text(partitioning_of(query))}"]
    lines += ["", "parsed", show(query.pattern)]
    return "\n".join(lines)


def _parts_text(found: Partitioning) -> str:
    if found.key is None:
        return f"as a whole: {found.reason}"
    return f"in parts, if there are partitions: by ?{found.key.name}"


def _heading(query: Query, dialect: str, profile: str) -> Iterator[str]:
    registration = query.registration
    if registration is not None:
        yield f"{'query':12}{registration.name} (registered as a {registration.kind})"
    yield f"{'dialect':12}{dialect}, with the profile {profile}"
    yield f"{'form':12}{show(query.form)}"
    for title, graphs in (
        ("default", query.dataset.default),
        ("named", query.dataset.named),
        ("schema", query.dataset.schemas),
    ):
        for graph in graphs:
            yield f"{title:12}<{graph.value}>"
    always = certain(query.pattern)
    sometimes = possible(query.pattern) - always
    yield f"{'always':12}{_names(always) or '-'}"
    if sometimes:
        yield f"{'sometimes':12}{_names(sometimes)}"


def _names(variables: frozenset[Variable]) -> str:
    return " ".join(sorted(f"?{each.name}" for each in variables if not each.is_anonymous))


def _window_text(window: WindowDeclaration) -> str:
    where = ", also in the default graph" if window.in_default_graph else ""
    stream = f"<{window.stream.value}>" if isinstance(window.stream, Iri) else "every stream"
    named = f"<{window.name.value}> on {stream}" if window.name != window.stream else stream
    return f"{named}: {frame_text(window.frame)}{where}"


def as_json(query: Query, dialect: str, profile: str) -> dict[str, Any]:
    """A query explained for a program; times in milliseconds, patterns in the notation."""
    registration = query.registration
    return {
        "name": None if registration is None else registration.name,
        "registered": None if registration is None else str(registration.kind),
        "dialect": dialect,
        "profile": profile,
        "continuous": query.is_continuous,
        "form": show(query.form, width=1_000_000),
        "dataset": {
            "default": [graph.value for graph in query.dataset.default],
            "named": [graph.value for graph in query.dataset.named],
            "schemas": [graph.value for graph in query.dataset.schemas],
        },
        "windows": [_window_json(window) for window in query.windows],
        "semantics": dict(semantics_rows(query.semantics)),
        "variables": {
            "certain": sorted(each.name for each in certain(query.pattern)),
            "possible": sorted(each.name for each in possible(query.pattern)),
        },
        "partition_key": _key_json(query),
        "stages": [{"stage": "parsed", "algebra": show(query.pattern, width=1_000_000)}],
    }


def _key_json(query: Query) -> str | None:
    key = partitioning_of(query).key if query.is_continuous else None
    return None if key is None else key.name


def _window_json(window: WindowDeclaration) -> dict[str, Any]:
    stream = window.stream
    return {
        "name": window.name.value,
        "stream": stream.value if isinstance(stream, Iri) else f"?{stream.name}",
        "in_default_graph": window.in_default_graph,
        **_frame_json(window.frame),
    }


def _frame_json(frame: WindowFrame) -> dict[str, Any]:
    match frame:
        case TimeWindow(width, slide):
            step = None if slide is None else slide / 1000
            return {"kind": "time", "width": width / 1000, "slide": step}
        case CountWindow(size, step, counted):
            return {"kind": str(counted), "size": size, "step": step}
        case NowWindow():
            return {"kind": "now"}
        case AllWindow():
            return {"kind": "all"}
        case _:
            assert_never(frame)
