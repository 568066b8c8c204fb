"""SPARQL 1.1 with SPARQL-star: the language that the others extend."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dialects.profiles import Profile
from headrace.dialects.settings import applied
from headrace.dialects.translate.queries import QueryTranslator
from headrace.errors import Source


class Sparql(QueryTranslator):
    """Plain SPARQL: no streams, so no semantics to choose."""

    grammar = ("sparql",)

    def __init__(self, source: Source, profile: Profile, settings: Mapping[str, str]) -> None:
        """Check the settings, which a plain query does not use."""
        super().__init__(source)
        applied(profile.semantics, settings)
