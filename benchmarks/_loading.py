"""How long static data take to be loaded, encoded and computed beforehand, and how much memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from time import sleep

from _cqels import CLOCKS, SEED, Clock, shown, text_of
from _dblp import CREATOR, LOC, STREAM, author, graph, room

from headrace import Engine, Store
from headrace.pipeline.static import LOOK, StaticFile, StaticFiles

GIGABYTE = 1 << 20
"""In the unit in which the peak is told."""
CHANGED = 1000
"""So many triples come, and so many go, when the file is changed."""
_REFRESH, _CLOCK = "--refresh", "--clock="


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
        changed: how many triples have come and gone since they were computed in this process.
    """

    triples: int
    from_cache: bool
    encoding: float
    learning: float
    computing: dict[str, float]
    peak: float
    changed: int = 0

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


def loaded(
    path: Path, cache: Path, queries: list[str], clock: str = "wall", *, refresh: bool = False
) -> Loaded:
    """Load a file in a process of its own; then, if asked for, again when it has changed."""
    how = [*([_REFRESH] if refresh else []), f"{_CLOCK}{clock}"]
    asked = [sys.executable, __file__, *how, str(path), str(cache), *queries]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return Loaded(**json.loads(said))


def main() -> None:
    """Load a file, and print what that took as JSON."""
    refresh = _REFRESH in sys.argv
    [clock] = [CLOCKS[each.removeprefix(_CLOCK)] for each in sys.argv if each.startswith(_CLOCK)]
    path, cache, *queries = [each for each in sys.argv[1:] if not each.startswith("--")]
    from_cache = Path(cache).exists()
    if not refresh:
        figures = _figures(StaticFiles([StaticFile(Path(path))], Path(cache), SEED), queries, clock)
    else:
        with TemporaryDirectory(dir=Path(cache).parent) as folder:
            own = Path(copy(path, folder))
            files = StaticFiles([StaticFile(own)], Path(cache), SEED)
            store = Store(seed=SEED)
            _figures(files, queries, clock, store)
            _change(own)
            sleep(LOOK)
            figures = _figures(files, queries, clock, store)
    triples, *times = figures
    changed = 2 * CHANGED if refresh else 0
    values = (triples, from_cache, *times, changed)
    print(json.dumps(dict(zip(Loaded.__slots__, values, strict=True))))


def _figures(
    files: StaticFiles, queries: list[str], clock: Clock, store: Store | None = None
) -> tuple[int, float, float, dict[str, float], float]:
    """How many triples there are, and what it takes to have all that follows from them."""
    began = clock()
    data = files.current()
    encoding = clock() - began
    store = store or Store(seed=SEED)
    began = clock()
    store.use(data)
    learning = clock() - began
    computing = {query: _computed(query, store, clock) for query in queries}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIGABYTE
    return data.quads.height, encoding, learning, computing, peak


def _change(path: Path) -> None:
    """Have other authors for some papers."""
    creators = f"<{CREATOR}> <{author(0)[:-1]}".encode()
    lines = path.read_bytes().splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if creators in line]
    for place in places[:: max(1, len(places) // CHANGED)][:CHANGED]:
        lines[place] = lines[place].replace(creators, creators + b"1")
    path.write_bytes(b"".join(lines))


def _computed(query: str, store: Store, clock: Clock) -> float:
    """The seconds until a query has had its first element."""
    engine = Engine(clock=None, seed=SEED)
    engine.static = store
    stream = engine.stream(STREAM)
    registered = engine.register(text_of(query))
    began = clock()
    stream.feed_timed(
        "".join(f"{time}\t<{author(7)}> <{LOC}at> <{room(1)}> .\n" for time in (1, 2)).encode()
    )
    engine.step()
    assert registered.error is None, f"{shown(query)} has stopped: {registered.error}"
    return clock() - began


if __name__ == "__main__":
    main()
