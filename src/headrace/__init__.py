"""Continuous SPARQL on Apache Spark: one engine for C-SPARQL, CQELS-QL and RSP-QL*."""

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

__all__ = [
    "DataError",
    "HeadraceError",
    "InternalError",
    "MachineError",
    "QueryError",
    "QuerySyntaxError",
    "ScopeError",
    "SettingError",
    "TooLargeError",
    "UnsupportedError",
    "__version__",
]
