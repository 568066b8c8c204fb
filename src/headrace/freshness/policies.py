"""What a view is maintained by: its policy, and the window that it is joined with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from headrace.errors import SettingError


@dataclass(frozen=True, slots=True)
class Sliding:
    """A sliding window: how much time it holds, and how far it moves from one close to the next."""

    width: int
    slide: int

    @property
    def tumbles(self) -> bool:
        """Whether no element is in two windows."""
        return self.slide >= self.width


class Proposer(Enum):
    """Who may be refreshed."""

    WSJ = "WSJ"
    """The mappings that are compatible with what windows hold."""
    GNR = "GNR"
    """All mappings of the view."""


class Ranker(Enum):
    """Who is refreshed first."""

    WBM = "WBM"
    """What may be stale and would serve most evaluations."""
    LRU = "LRU"
    """What was refreshed longest ago."""
    RND = "RND"
    """Any."""
    WST = "WST"
    """None, which is the worst that can be done."""
    BST = "BST"
    """What is stale, as only an oracle knows."""
    WBM_STAR = "WBM*"
    """What is stale and would serve most evaluations, as only an oracle knows."""

    @property
    def needs_oracle(self) -> bool:
        """Whether it is a bound for experiments, and nothing that can be run."""
        return self in {Ranker.WST, Ranker.BST, Ranker.WBM_STAR}


@dataclass(frozen=True, slots=True)
class Policy:
    """Who may be refreshed, and who goes first."""

    proposer: Proposer = Proposer.WSJ
    ranker: Ranker = Ranker.WBM

    @classmethod
    def named(cls, name: str) -> Policy:
        """A policy as queries name it; GNR alone refreshes the whole view, the oldest first.

        >>> Policy.named("LRU") == Policy(Proposer.WSJ, Ranker.LRU)
        True

        Raises:
            SettingError: it needs an oracle, or there is no such policy.
        """
        if name == Proposer.GNR.value:
            return cls(Proposer.GNR, Ranker.LRU)
        try:
            ranker = Ranker(name)
        except ValueError:
            raise SettingError(
                f"unknown policy '{name}'; policies are {', '.join(RUNNABLE)}"
            ) from None
        if ranker.needs_oracle:
            raise SettingError(
                f"policy {name} is a bound for experiments, which know what is stale; "
                f"policies that can be run are {', '.join(RUNNABLE)}"
            )
        return cls(Proposer.WSJ, ranker)


RUNNABLE: Final = (
    *(ranker.value for ranker in Ranker if not ranker.needs_oracle),
    Proposer.GNR.value,
)
