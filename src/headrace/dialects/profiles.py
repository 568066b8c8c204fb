"""What a query means where its text is silent: one profile for each family of engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from headrace.algebra.reporting import Emit, FromNamed, OnArrival, OnClose, Scope, Semantics


class MissingStep(StrEnum):
    """What a time window without STEP is."""

    TUMBLES = "tumbles"
    MOVES = "moves with every arrival"
    WRONG = "an error"


@dataclass(frozen=True, slots=True)
class Profile:
    """The defaults of a dialect: its semantics, and how it reads a window without STEP."""

    name: str
    semantics: Semantics = field(default_factory=Semantics)
    missing_step: MissingStep = MissingStep.TUMBLES


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("sparql"),
        Profile("csparql", missing_step=MissingStep.WRONG),
        Profile(
            "cqels",
            Semantics(report=OnArrival(), emit=Emit.ISTREAM, from_named=FromNamed.KEEPS),
            MissingStep.MOVES,
        ),
        Profile("rspql", Semantics(report=OnClose())),
        Profile(
            "sparkwave",
            Semantics(report=OnArrival(), emit=Emit.ISTREAM, scope=Scope.MATCH),
            MissingStep.MOVES,
        ),
        Profile("sparqlstream", missing_step=MissingStep.MOVES),
    )
}
