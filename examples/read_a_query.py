"""Read a query of any dialect, and look at what it means: python examples/read_a_query.py."""

from __future__ import annotations

from pathlib import Path

from headrace.algebra.notation import show
from headrace.dialects import parse
from headrace.errors import QueryError

QUERY = Path(__file__).parent / "papers" / "csparql-2.3-cars-per-tollgate.csparql"


def main() -> None:
    """Print a query's dialect, windows and algebra, and the error of a wrong one."""
    parsed = parse(QUERY.read_text("utf-8"))
    print(parsed.dialect)
    for window in parsed.query.windows:
        print(window.stream, window.frame)
    print(show(parsed.query.pattern))

    try:
        parse("SELECT ?gate FROM STREEM <s> [RANGE 10m STEP 1m] { ?gate ?p ?car }")
    except QueryError as error:
        print(error)


if __name__ == "__main__":
    main()
