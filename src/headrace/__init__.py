"""Continuous SPARQL on Apache Spark: one engine for C-SPARQL, CQELS-QL and RSP-QL*."""

import typing as _typing

from headrace.errors import (
    DataError,
    HeadraceError,
    InternalError,
    MachineError,
    QueryError,
    QuerySyntaxError,
    ScopeError,
    SettingError,
    TooLargeError,
    UnsupportedError,
)
from headrace.version import __version__

if _typing.TYPE_CHECKING:
    from headrace.engine import Engine
    from headrace.registered import Query
    from headrace.results.evaluations import Evaluation
    from headrace.store import Store
    from headrace.stream import Stream

__all__ = [
    "DataError",
    "Engine",
    "Evaluation",
    "HeadraceError",
    "InternalError",
    "MachineError",
    "Query",
    "QueryError",
    "QuerySyntaxError",
    "ScopeError",
    "SettingError",
    "Store",
    "Stream",
    "TooLargeError",
    "UnsupportedError",
    "__version__",
]

_HOMES = {
    "Engine": "headrace.engine",
    "Evaluation": "headrace.results.evaluations",
    "Query": "headrace.registered",
    "Store": "headrace.store",
    "Stream": "headrace.stream",
}


def __getattr__(name: str) -> object:
    """Import the engine when it is first asked for: the command line shows its help without it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headrace' has no attribute '{name}'")
    from importlib import import_module  # noqa: PLC0415

    found: object = getattr(import_module(_HOMES[name]), name)
    return found
