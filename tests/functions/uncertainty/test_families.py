"""Each family beside the same one of scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.families import Histogram, LogNormal, Point
from tests.functions.uncertainty.families import CONTINUOUS, FAMILIES, reference

SHARES = np.array([1e-9, 0.001, 0.1, 0.3, 0.5, 0.77, 0.999, 1 - 1e-9])


@pytest.mark.parametrize("family", CONTINUOUS, ids=lambda each: each.__name__)
def test_a_family_is_what_it_is_to_scipy(family: type) -> None:
    @settings(max_examples=15, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        ours = data.draw(FAMILIES[family])
        theirs = reference(ours)
        at = np.append(theirs.ppf(SHARES), [theirs.ppf(0.001) - 1, theirs.ppf(0.999) + 1])
        assert ours.below(at) == pytest.approx(theirs.cdf(at), abs=1e-12)
        assert ours.above(at) == pytest.approx(theirs.sf(at), abs=1e-12)
        assert float(ours.mean) == pytest.approx(theirs.mean(), rel=1e-9, abs=1e-12)
        # That of scipy's trapezoid and histogram is a difference of large numbers.
        loose = 1e-6 if family is Histogram else 1e-8
        assert float(ours.variance) == pytest.approx(theirs.var(), rel=loose, abs=1e-12)
        if family is not Histogram:  # where a part is empty, every number in it is a quantile
            found = ours.quantile(SHARES, 1 - SHARES)
            assert found == pytest.approx(theirs.ppf(SHARES), rel=1e-6, abs=1e-9)
            inside = theirs.ppf(np.array([0.05, 0.31, 0.52, 0.9]))
            assert ours.density(inside) == pytest.approx(theirs.pdf(inside), rel=1e-8)
        assert ours.below(ours.quantile(SHARES, 1 - SHARES)) == pytest.approx(SHARES, abs=1e-9)

    check()


def test_an_exact_number_has_no_variance() -> None:
    assert Point(3.0).mean == 3
    assert Point(3.0).variance == 0


def test_moments_too_large_for_a_double_are_errors() -> None:
    with pytest.raises(ExpressionError, match="too large"):
        _ = LogNormal(800.0, 1.0).mean
    with pytest.raises(ExpressionError, match="too large"):
        _ = LogNormal(0.0, 800.0).variance
