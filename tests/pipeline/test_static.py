"""Static data in files: encoded as a store would, kept by content, read again when they change."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from headrace.errors import DataError, SettingError
from headrace.kernel.dictionary import Dictionary
from headrace.pipeline import static
from headrace.pipeline.static import StaticData, StaticFile, StaticFiles
from headrace.store import Store

LINES = (
    "# a comment\n"
    "<x:a> <x:p> _:b .\n\n"
    '_:b <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> . # another\n'
    "<< <x:a> <x:p> _:b >> <x:q> 'no # comment' .\n"
).replace("'", '"')
TURTLE = "<x:a> <x:p> [ <x:q> 1, 2.5 ], (1 2) . <x:a> <x:p> <x:b> ."
TRIG = "<x:g> { <x:a> <x:p> _:b } <x:a> <x:p> <x:c> ."


def texts(found: StaticData, seed: int) -> set[tuple[str | None, ...]]:
    dictionary = Dictionary(seed)
    dictionary.learn(found.terms)
    columns = [dictionary.texts(found.quads[name]) for name in found.quads.columns]
    return set(zip(*columns, strict=True))


def stored(files: list[StaticFile], seed: int) -> set[tuple[str | None, ...]]:
    store = Store(seed=seed)
    for each in files:
        assert store.load(each.path, each.graph) == []
    columns = [store.dictionary.texts(store.quads[name]) for name in store.quads.columns]
    return set(zip(*columns, strict=True))


@pytest.fixture
def files(tmp_path: Path) -> list[StaticFile]:
    found = []
    for name, text, graph in (
        ("a.nt", LINES, None),
        ("b.nq", LINES.replace("_:b .", "_:b <x:h> ."), "x:named"),
        ("c.ttl", TURTLE, None),
        ("d.trig", TRIG, "x:other"),
        ("e.nt.gz", LINES, "x:named"),
    ):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        found.append(StaticFile(path, graph))
    return found


@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_the_same_as_in_a_store(
    files: list[StaticFile], size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static, "PIECE", size)
    found = StaticFiles(files, tmp_path / "static", seed=7).current()
    assert texts(found, 7) == stored(files, 7)
    assert found.quads.height == len(texts(found, 7))


@pytest.mark.parametrize(
    "data",
    [
        b'\xef\xbb\xbf<x:a> <x:p> "A" .\n<x:b> <x:p> "B" .\n',
        b'<x:a> <x:p> "A" .\r<x:b> <x:p> "B" .\r',
        b'# c\r<x:a> <x:p> "A" .\n<x:b> <x:p> "B" .',
        b'<x:a> <x:p> "A" .\r\n\r\n  # d\r\n<x:b> <x:p> "B" .\r\n',
    ],
)
def test_marks_and_line_ends_are_those_of_n_triples(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(data)
    files = [StaticFile(tmp_path / "a.nt", None)]
    found = texts(StaticFiles(files, tmp_path / "static", seed=7).current(), 7)
    assert found == stored(files, 7)
    assert len(found) == 2


def test_what_is_encoded_is_not_encoded_again(files: list[StaticFile], tmp_path: Path) -> None:
    first = StaticFiles(files, tmp_path / "static", seed=7).current()

    def never(_pieces: object) -> None:
        raise AssertionError

    again = StaticFiles(files, tmp_path / "static", 7, never).current()
    assert again.version == first.version
    assert again.quads.equals(first.quads)
    with pytest.raises(AssertionError):  # another seed has other ids
        StaticFiles(files, tmp_path / "static", 8, never).current()


def test_a_file_that_changes_is_a_new_version(
    files: list[StaticFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static, "LOOK", 0)
    watched = StaticFiles(files, tmp_path / "static", seed=7)
    first = watched.current()
    assert watched.current() is first
    files[2].path.write_text("<x:new> <x:p> <x:q> .")
    second = watched.current()
    assert second.version != first.version
    assert texts(second, 7) == stored(files, 7)
    files[2].path.write_text("this is no Turtle")
    assert watched.current() is second
    assert watched.problem is not None
    assert "going on with what was there before" in watched.problem
    files[2].path.write_text(TURTLE)
    assert watched.current().version == first.version
    assert watched.problem is None


def test_what_was_interrupted_is_done_again(files: list[StaticFile], tmp_path: Path) -> None:
    def half(pieces: object) -> None:
        assert isinstance(pieces, list)
        static.encode_piece(pieces[0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        StaticFiles(files, tmp_path / "static", 7, half).current()
    assert texts(StaticFiles(files, tmp_path / "static", 7).current(), 7) == stored(files, 7)


def test_a_bad_or_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.nt"
    path.write_text("<x:a> <x:p> <x:b> .\n<x:a> <x:p> oops .\n")
    with pytest.raises(DataError, match=r"bad\.nt:2:13: "):
        StaticFiles([StaticFile(path)], tmp_path / "static", 7).current()
    with pytest.raises(SettingError, match=r"cannot read .*missing"):
        StaticFiles([StaticFile(tmp_path / "missing.nt")], tmp_path / "static", 7).current()


def test_no_files_are_no_data(tmp_path: Path) -> None:
    assert StaticFiles([], tmp_path / "static", 7).current().quads.is_empty()
