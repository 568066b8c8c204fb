"""Errors that nobody expects, where the engine goes on another way and nobody would see them."""

from __future__ import annotations

import logging
from typing import Final

from headrace.errors import HeadraceError

LOG: Final = logging.getLogger("headrace.unexpected")


def note_unexpected(query: str, error: BaseException) -> None:
    """Log an error of a query at the level DEBUG, unless it is one that users can cause."""
    if not isinstance(error, HeadraceError):
        LOG.debug("'%s': %r", query, error)
