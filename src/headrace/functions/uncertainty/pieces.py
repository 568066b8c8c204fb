"""Densities that consist of straight pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.float64]
Numbers: TypeAlias = float | Column

_HALF: Final = 0.5


@dataclass(frozen=True)
class Pieces:
    """A density of straight pieces: what uniform distributions, trapezoids and histograms are.

    Attributes:
        knots: where pieces begin and end.
        left: the density of each piece where it begins.
        right: the density of each piece where it ends.
    """

    knots: Column
    left: Column
    right: Column

    @cached_property
    def widths(self) -> Column:
        """How wide each piece is."""
        return np.diff(self.knots)

    @cached_property
    def masses(self) -> Column:
        """The probability of each piece."""
        return self.widths * (self.left + self.right) / 2

    @cached_property
    def _before(self) -> Column:
        return np.concatenate([[0.0], np.cumsum(self.masses)])

    @cached_property
    def _after(self) -> Column:
        return np.concatenate([np.cumsum(self.masses[::-1])[::-1], [0.0]])

    def _place(self, x: Numbers) -> tuple[npt.NDArray[np.intp], Column]:
        """In which piece a number lies, and at which share of it."""
        inside = np.clip(np.asarray(x, float), self.knots[0], self.knots[-1])
        piece = np.clip(np.searchsorted(self.knots, inside, "right") - 1, 0, self.widths.size - 1)
        return piece, (inside - self.knots[piece]) / self.widths[piece]

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""
        piece, share = self._place(x)
        rise = (self.right[piece] - self.left[piece]) * share / 2
        return np.minimum(
            self._before[piece] + self.widths[piece] * share * (self.left[piece] + rise), 1.0
        )

    def above(self, x: Numbers) -> Column:
        """The probability of more than x."""
        piece, share = self._place(x)
        rest = 1 - share
        rise = (self.left[piece] - self.right[piece]) * rest / 2
        return np.minimum(
            self._after[piece + 1] + self.widths[piece] * rest * (self.right[piece] + rise), 1.0
        )

    def density(self, x: Numbers) -> Column:
        """The density at x."""
        piece, share = self._place(x)
        found = self.left[piece] + (self.right[piece] - self.left[piece]) * share
        outside = (np.asarray(x) < self.knots[0]) | (np.asarray(x) > self.knots[-1])
        return np.where(outside, 0.0, found)

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides."""
        by_left = self._from_left(np.asarray(below, float))
        mirrored = Pieces(-self.knots[::-1], self.right[::-1], self.left[::-1])
        by_right = -mirrored._from_left(np.asarray(above, float))
        return np.where(np.less(below, _HALF), by_left, by_right)

    def _from_left(self, below: Column) -> Column:
        full = np.flatnonzero(self.masses > 0)
        ends = self._before[full + 1]
        piece = full[np.minimum(np.searchsorted(ends, below, "left"), full.size - 1)]
        wanted = np.maximum(below - self._before[piece], 0.0)
        start, slope = self.left[piece], (self.right - self.left)[piece] / self.widths[piece]
        # The root of slope/2 x^2 + start x = wanted, in the form that cancels nothing out.
        root = np.sqrt(np.maximum(start * start + 2 * slope * wanted, 0.0))
        divisor = start + root
        step = np.where(divisor > 0, 2 * wanted / np.where(divisor > 0, divisor, 1.0), 0.0)
        return self.knots[piece] + np.minimum(step, self.widths[piece])

    @property
    def mean(self) -> float:
        """The expected value."""
        middle = self.knots[:-1] + self.widths / 2
        lean = self.widths**2 * (self.right - self.left) / 12
        return fsum(self.masses * middle + lean)

    @property
    def variance(self) -> float:
        """The variance."""
        start = self.knots[:-1] - self.mean
        w, p, q = self.widths, self.left, self.right
        whole = (p + q) / 2 * start**2 + (p + 2 * q) / 3 * start * w + (p + 3 * q) / 12 * w**2
        return fsum(w * whole)


class Straight(ABC):
    """What distributions with a density of straight pieces have in common."""

    @property
    @abstractmethod
    def pieces(self) -> Pieces:
        """The density."""

    @property
    def support(self) -> tuple[float, float]:
        """From the first to the last knot."""
        return float(self.pieces.knots[0]), float(self.pieces.knots[-1])

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.pieces.mean

    @property
    def variance(self) -> float:
        """The variance."""
        return self.pieces.variance

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""
        return self.pieces.below(x)

    def above(self, x: Numbers) -> Column:
        """The probability of more than x."""
        return self.pieces.above(x)

    def density(self, x: Numbers) -> Column:
        """The density at x."""
        return self.pieces.density(x)

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides."""
        return self.pieces.quantile(below, above)
