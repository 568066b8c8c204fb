"""A graph like DBLP's, and people with RFID tags who walk about at a conference.

The graph is made of authors with a name and papers with a title, creators and references; where
rooms have names is a graph of its own. Everything follows from a seed.

* There is one author for two papers. Authors are of fields of 500 each.
* A paper has 1 to 5 authors, of one field: 20, 30, 25, 15 and 10 in a hundred papers have so many.
  An author of rank r in the field is chosen with a weight of (r + 3) ** -0.8, so that papers per
  author have a heavy tail: the median is 3, the mean 5, the most prolific have some 80.
* A paper has 0 to 20 references to older papers, 1.5 on average, geometrically distributed; four in
  five are within the field. Of n older papers, number n * u ** 2 for an even u is cited: citations
  have a heavy tail too, and the oldest papers have most.

A conference has as many attendees as there are updates in a second: each tag is heard once a second
or so. They are the most prolific authors of a few neighbouring fields, because people who go to the
same conference are likely to know and to cite each other: 250 of each field. There are ten
rooms, of which the largest holds about a fifth of all. Somebody stays in a room for five minutes on
average; the rest of the updates say where people still are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

DBLP = "http://dblp.l3s.de/d2r/resource/"
LOC = "http://deri.org/localization/"
STREAM = "http://deri.org/locstreams"
CREATOR = "http://purl.org/dc/elements/1.1/creator"
TITLE = "http://purl.org/dc/elements/1.1/title"
REFERENCES = "http://purl.org/dc/terms/references"
NAME = "http://xmlns.com/foaf/0.1/name"

FIELD, PER_FIELD = 500, 250
"""How many authors there are in a field, and how many of them come to a conference."""
AUTHORS_OF_A_PAPER = (0.2, 0.3, 0.25, 0.15, 0.1)
REFERENCES_OF_A_PAPER, MOST_REFERENCES, WITHIN_A_FIELD = 1.5, 20, 0.8
TRIPLES_OF_A_PAPER = 5.65
"""Of one paper and half an author."""
ROOMS = 10
STAY = 300
"""Seconds that somebody stays in a room, on average."""

Numbers = npt.NDArray[np.int64]


def author(number: int) -> str:
    """The IRI of an author."""
    return f"{DBLP}authors/A{number}"


def author_name(number: int) -> str:
    """The name of an author, which nobody else has."""
    return f"Author Number {number}"


def room(number: int) -> str:
    """The IRI of a room."""
    return f"{LOC}room{number}"


def room_name(number: int) -> str:
    """The name of a room."""
    return f"Room {number}"


@dataclass(frozen=True)
class Graph:
    """Who has written what, and which paper cites which; all by number.

    Attributes:
        authors: how many there are.
        papers: how many there are.
        creators: paper and author, side by side, each pair once.
        references: paper and cited paper, side by side, each pair once.
    """

    authors: int
    papers: int
    creators: Numbers
    references: Numbers

    @property
    def triples(self) -> int:
        """How many statements it is, with the names of rooms."""
        pairs = self.creators.shape[1] + self.references.shape[1]
        return int(self.authors + self.papers + pairs + ROOMS)

    @cached_property
    def papers_of_authors(self) -> Numbers:
        """How many papers each author has."""
        return np.bincount(self.creators[1], minlength=self.authors)

    def write(self, path: Path) -> None:
        """Write it as N-Quads."""
        rooms = "".join(
            f'<{room(number)}> <{LOC}name> "{room_name(number)}" <{LOC}> .\n'
            for number in range(ROOMS)
        )
        with path.open("wb") as file:
            file.write(rooms.encode())
            for lines in self._lines():
                text = pl.DataFrame({"line": lines})
                text.write_csv(file, include_header=False, quote_style="never")

    def _lines(self) -> list[pl.Series]:
        people = np.arange(self.authors)
        papers = np.arange(self.papers)
        return [
            _formatted(f'<{author(0)[:-1]}{{}}> <{NAME}> "{author_name(0)[:-1]}{{}}" .', people),
            _formatted(f'<{_PAPER}{{}}> <{TITLE}> "On Subject {{}}" .', papers),
            _formatted(f"<{_PAPER}{{}}> <{CREATOR}> <{author(0)[:-1]}{{}}> .", *self.creators),
            _formatted(f"<{_PAPER}{{}}> <{REFERENCES}> <{_PAPER}{{}}> .", *self.references),
        ]


_PAPER = f"{DBLP}publications/P"


def _formatted(template: str, first: Numbers, second: Numbers | None = None) -> pl.Series:
    """A line for each pair of numbers."""
    columns = {"first": first, "second": first if second is None else second}
    return pl.DataFrame(columns).select(pl.format(template, "first", "second")).to_series()


def graph(triples: int, seed: int = 7) -> Graph:
    """A graph of about so many statements."""
    chance = np.random.default_rng(seed)
    papers = max(20, round(triples / TRIPLES_OF_A_PAPER))
    authors = papers // 2
    fields = max(1, authors // FIELD)
    field_of_paper = chance.integers(fields, size=papers)
    sizes = chance.choice(np.arange(1, 6), p=AUTHORS_OF_A_PAPER, size=papers)
    of_paper = np.repeat(np.arange(papers), sizes)
    ranks = _ranks(chance, of_paper.size, authors // fields)
    creators = _once(of_paper, ranks * fields + field_of_paper[of_paper])
    return Graph(authors, papers, creators, _citations(chance, field_of_paper, fields))


def _ranks(chance: np.random.Generator, number: int, authors: int) -> Numbers:
    """Ranks of authors in their fields, the first more often than the last."""
    weights = np.cumsum((np.arange(authors) + 4.0) ** -0.8)
    found: Numbers = np.searchsorted(weights, chance.random(number) * weights[-1])
    return found


def _citations(chance: np.random.Generator, fields_of: Numbers, fields: int) -> Numbers:
    """Which paper cites which older one."""
    share = 1 / (1 + REFERENCES_OF_A_PAPER)
    sizes = np.minimum(chance.geometric(share, size=fields_of.size) - 1, MOST_REFERENCES)
    citing = np.repeat(np.arange(fields_of.size), sizes)
    anywhere = np.floor(citing * chance.random(citing.size) ** 2).astype(np.int64)
    # Papers field by field, in the order of their numbers: an older one of a field is before.
    order = np.argsort(fields_of, kind="stable")
    starts = np.searchsorted(fields_of[order], np.arange(fields))
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    start = starts[fields_of[citing]]
    older = place[citing] - start
    near = order[start + np.floor(older * chance.random(citing.size) ** 2).astype(np.int64)]
    cited = np.where((chance.random(citing.size) < WITHIN_A_FIELD) & (older > 0), near, anywhere)
    kept = cited < citing
    return _once(citing[kept], cited[kept])


def _once(first: Numbers, second: Numbers) -> Numbers:
    """Each pair once, in order."""
    keys = np.unique(first << 32 | second)
    return np.stack([keys >> 32, keys & 0xFFFFFFFF])


@dataclass(frozen=True, slots=True)
class Updates:
    """Who was heard where and when: milliseconds, numbers of authors and of rooms."""

    times: Numbers
    people: Numbers
    places: Numbers

    def __len__(self) -> int:
        """How many there are."""
        return self.times.size

    def timed(self, start: int = 0, stop: int | None = None) -> bytes:
        """Some of them as timed N-Quads."""
        chosen = slice(start, stop)
        template = f"{{}}\t<{author(0)[:-1]}{{}}> <{LOC}at> <{room(0)[:-1]}{{}}> ."
        columns = {
            "time": self.times[chosen],
            "person": self.people[chosen],
            "place": self.places[chosen],
        }
        lines = pl.DataFrame(columns).select(pl.format(template, *columns)).to_series()
        return ("\n".join(lines) + "\n").encode()


def attendees(made: Graph, number: int) -> Numbers:
    """The most prolific authors of as many fields as are needed, an equal part of each."""
    fields = max(1, made.authors // FIELD)
    wanted = min(fields, -(-number // PER_FIELD))
    ranked = np.argsort(-made.papers_of_authors, kind="stable")
    field = ranked % fields
    parts = [ranked[field == each][: -(-number // wanted)] for each in range(wanted)]
    return np.sort(np.concatenate(parts)[:number])


def conference(people: Numbers, rate: int, seconds: float, seed: int = 11) -> Updates:
    """So many updates a second, for some seconds; whom each is about is chosen evenly."""
    chance = np.random.default_rng(seed)
    number = round(rate * seconds)
    weights = (np.arange(ROOMS) + 1.0) ** -0.5
    weights /= weights.sum()
    times = 1 + np.arange(number) * 1000 // rate
    heard = chance.integers(people.size, size=number)
    where = chance.choice(ROOMS, p=weights, size=people.size)
    moves = chance.random(number) < people.size / (rate * STAY)
    places = where[heard]
    goals = chance.choice(ROOMS, p=weights, size=number)
    for update in np.flatnonzero(moves):
        later = heard[update:] == heard[update]
        places[update:][later] = goals[update]
    return Updates(times, people[heard], places)
