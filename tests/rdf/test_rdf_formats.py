"""Formats are known by names and media types; files may be compressed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from headrace.errors import DataError, SettingError
from headrace.rdf.files import content
from headrace.rdf.formats import (
    EXTENSIONS,
    MEDIA_TYPES,
    Format,
    format_of_media_type,
    format_of_path,
)
from headrace.rdf.options import Limits


@pytest.mark.parametrize("suffix", EXTENSIONS)
def test_a_name_says_the_format(suffix: str) -> None:
    for name in (f"a{suffix}", f"/b.c/a{suffix}.gz", Path(f"a.ttl.b{suffix.upper()}")):
        assert format_of_path(name) is EXTENSIONS[suffix]


@pytest.mark.parametrize("name", ["a", "a.gz", "a.txt", "", ".ttl", "a.ttl.zip"])
def test_other_names_do_not(name: str) -> None:
    with pytest.raises(SettingError, match=r"expected a name that ends in \.nt"):
        format_of_path(name)


def test_a_mistyped_name_is_understood() -> None:
    with pytest.raises(SettingError, match=r"did you mean '\.jsonld'"):
        format_of_path("a.jsnld")
    with pytest.raises(SettingError, match="did you mean 'text/turtle'"):
        format_of_media_type("text/turle")


def test_media_types() -> None:
    for media_type, form in MEDIA_TYPES.items():
        assert format_of_media_type(f"{media_type.upper()} ; charset=UTF-8") is form
    assert {format_of_media_type(form.media_type) for form in Format} == set(Format)


def test_by_line() -> None:
    assert Format.TIMED_N_QUADS.by_line
    assert not Format.TURTLE.by_line


def test_files_are_read_as_they_are_or_decompressed(tmp_path: Path) -> None:
    plain, compressed = tmp_path / "a.nt", tmp_path / "a.nt.gz"
    plain.write_bytes(b"x" * 100)
    compressed.write_bytes(gzip.compress(b"x" * 100))
    for path in (plain, compressed):
        assert content(path) == b"x" * 100
        assert content(path, Limits(size=100)) == b"x" * 100
        with pytest.raises(DataError, match="at most 99 bytes"):
            content(path, Limits(size=99))


@pytest.mark.parametrize(
    "data", [b"not gzip", gzip.compress(b"x" * 100)[:-5], b""], ids=["other", "cut", "nothing"]
)
def test_a_file_that_is_not_compressed_as_it_says(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.nt.gz"
    path.write_bytes(data)
    if data:
        with pytest.raises(DataError, match="compressed by gzip"):
            content(path)
    else:
        assert content(path) == b""
