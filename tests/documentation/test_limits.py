"""The page of limits has all of them, with their defaults."""

from __future__ import annotations

import re
from dataclasses import fields

from headrace.metering import MEGABYTE, RunLimits
from headrace.serve.limits import DEFAULT
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "limits.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE))
UNITS = {" GB": 1_000 * MEGABYTE, " MB": MEGABYTE, "": 1}


def number(text: str) -> float:
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return float(text.removesuffix(unit).replace(",", "")) * factor
    raise AssertionError(text)


def cells(name: str) -> list[str]:
    [line] = re.findall(rf"^\| `{name}` \|(.*)$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


def test_the_page_has_every_limit_of_a_server() -> None:
    for each in fields(DEFAULT):
        found = cells(each.name)
        default = found[1] if len(found) > 3 else found[0]
        if getattr(DEFAULT, each.name) is None:
            assert default == "half of the machine"
            continue
        assert number(default) == getattr(DEFAULT, each.name), each.name


def test_the_page_has_every_limit_of_a_run() -> None:
    for each in fields(RunLimits()):
        default = getattr(RunLimits(), each.name)
        assert (
            cells(each.name)[0] == "80 % of the machine" or number(cells(each.name)[0]) == default
        )


def test_the_page_has_no_other_limit() -> None:
    known = {each.name for each in (*fields(DEFAULT), *fields(RunLimits()))}
    assert set(ROWS) <= known
