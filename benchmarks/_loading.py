"""How long static data take to be loaded, encoded and computed beforehand, and how much memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from _cqels import SEED, shown, text_of
from _dblp import LOC, STREAM, author, graph, room

from headrace import Engine, Store
from headrace.pipeline.static import StaticFile, StaticFiles

GIGABYTE = 1 << 20
"""In the unit in which the peak is told."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one process needed.

    Attributes:
        triples: how many there are.
        from_cache: whether they had been encoded before.
        encoding: seconds until they are columns of ids in memory.
        learning: seconds until the dictionary knows their terms.
        computing: seconds until the static parts of each query are tables, by query.
        peak: gigabytes of memory at most.
    """

    triples: int
    from_cache: bool
    encoding: float
    learning: float
    computing: dict[str, float]
    peak: float

    @property
    def total(self) -> float:
        """Seconds of all together."""
        return self.encoding + self.learning + sum(self.computing.values())


def written(triples: int, folder: Path) -> Path:
    """A file of a graph of some size."""
    path = folder / f"dblp-{triples}.nq"
    if not path.exists():
        graph(triples).write(path)
    return path


def loaded(path: Path, cache: Path, queries: list[str]) -> Loaded:
    """Load a file in a process of its own."""
    asked = [sys.executable, __file__, str(path), str(cache), *queries]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return Loaded(**json.loads(said))


def main() -> None:
    """Load a file, and print what that took as JSON."""
    path, cache, *queries = sys.argv[1:]
    from_cache = Path(cache).exists()
    began = perf_counter()
    data = StaticFiles([StaticFile(Path(path))], Path(cache), SEED).current()
    encoding = perf_counter() - began
    store = Store(seed=SEED)
    began = perf_counter()
    store.use(data)
    triples = data.quads.height
    del data
    learning = perf_counter() - began
    computing = {query: _computed(query, store) for query in queries}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIGABYTE
    figures = (triples, from_cache, encoding, learning, computing, peak)
    print(json.dumps(dict(zip(Loaded.__slots__, figures, strict=True))))


def _computed(query: str, store: Store) -> float:
    """The seconds until a query has had its first element."""
    engine = Engine(clock=None, seed=SEED)
    engine.static = store
    stream = engine.stream(STREAM)
    registered = engine.register(text_of(query))
    began = perf_counter()
    stream.feed_timed(
        "".join(f"{time}\t<{author(7)}> <{LOC}at> <{room(1)}> .\n" for time in (1, 2)).encode()
    )
    engine.step()
    assert registered.error is None, f"{shown(query)} has stopped: {registered.error}"
    return perf_counter() - began


if __name__ == "__main__":
    main()
