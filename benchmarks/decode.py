"""How fast timed N-Quads become columns, against pyoxigraph parsing the same statements.

Lines like those of sensors: most tokens come again and again, some are new. pyoxigraph is timed to
the end of its iterator, over the statements without their times; the columnar reader to columns of
ids with the texts of their terms; the reader of single elements, on fewer lines, to its terms.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

import pyoxigraph as ox

from headrace.rdf.columns import read_timed_columns
from headrace.rdf.timed import read_timed

SSN = "http://example.org/sensors/"
WARM_UP, REPEATS = 1, 5


def text(lines: int) -> bytes:
    """So many lines, the same every time."""
    chance = Random(7)
    made = []
    for number in range(0, lines, 4):
        seen = f"<{SSN}observation/{number}>"
        for predicate, value in (
            ("madeBySensor", f"<{SSN}sensor/{chance.randrange(200)}>"),
            ("observedProperty", f"<{SSN}temperature>"),
            ("hasUnit", f"<{SSN}celsius>"),
            (
                "hasValue",
                f'"{chance.randrange(400) / 10}"^^<http://www.w3.org/2001/XMLSchema#double>',
            ),
        ):
            made.append(f"{number * 10}\t{seen} <{SSN}{predicate}> {value} .\n")
    return "".join(made).encode()


def per_second(actions: Mapping[str, tuple[int, Callable[[], object]]]) -> dict[str, float]:
    """Time actions over so many lines by turns; the median of lines in a second of each."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(WARM_UP + REPEATS):
        for name, (_, action) in actions.items():
            began = perf_counter()
            action()
            if turn >= WARM_UP:
                times[name].append(perf_counter() - began)
    return {name: lines / median(times[name]) for name, (lines, _) in actions.items()}


def parsed(statements: bytes) -> int:
    """Let pyoxigraph parse statements."""
    return sum(1 for _ in ox.parse(statements, format=ox.RdfFormat.N_TRIPLES))


def main() -> None:
    """Print the figures, and write them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--lines", type=int, default=400_000)
    asked = options.parse_args()
    data = text(asked.lines)
    few = data[: data.find(b"\n", len(data) // 20) + 1]
    statements = b"\n".join(line.partition(b"\t")[2] for line in data.splitlines())
    rates = per_second(
        {
            "columns": (asked.lines, lambda: read_timed_columns(data)),
            "elements": (few.count(b"\n"), lambda: sum(1 for _ in read_timed(few))),
            "pyoxigraph": (asked.lines, lambda: parsed(statements)),
        }
    )
    print(f"{asked.lines:,} lines of {len(data) / asked.lines:.0f} bytes")
    for name, rate in rates.items():
        print(
            f"{name:10} {rate / 1e6:6.2f} M lines/s {rate / rates['pyoxigraph']:6.1f}x pyoxigraph"
        )
    print(f"columns against elements: {rates['columns'] / rates['elements']:.0f}x")
    if asked.json:
        asked.json.write_text(json.dumps(rates, indent=2) + "\n")


if __name__ == "__main__":
    main()
