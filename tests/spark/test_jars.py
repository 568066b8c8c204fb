from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from headrace.errors import MachineError
from headrace.spark.jars import KAFKA, Jar, fetch

CONTENT = b"a library"
JAR = Jar("org.example.some", "thing_2.13", "1.0", sha256(CONTENT).hexdigest())


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a library in a mirror."""
    mirror = tmp_path / "mirror"
    monkeypatch.setenv("HEADRACE_MAVEN_URL", f"{mirror.as_uri()}/")
    file = mirror / "org" / "example" / "some" / "thing_2.13" / "1.0" / "thing_2.13-1.0.jar"
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    return file


def test_a_library_is_fetched_once(published: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "jars"
    [file] = fetch([JAR], cache)
    assert file.read_bytes() == CONTENT
    published.unlink()
    assert fetch([JAR], cache) == [file]
    assert list(cache.iterdir()) == [file]


@pytest.mark.usefixtures("published")
def test_a_damaged_library_is_fetched_again(tmp_path: Path) -> None:
    (tmp_path / JAR.name).write_bytes(CONTENT[:4])
    [file] = fetch([JAR], tmp_path)
    assert file.read_bytes() == CONTENT


def test_another_library_of_the_same_name_is_refused(published: Path, tmp_path: Path) -> None:
    published.write_bytes(b"something else")
    cache = tmp_path / "cache"
    with pytest.raises(MachineError, match="is not the library it should be"):
        fetch([JAR], cache)
    assert not cache.exists()


def test_without_a_network_it_is_said_what_to_do(published: Path, tmp_path: Path) -> None:
    published.unlink()
    with pytest.raises(MachineError) as caught:
        fetch([JAR], tmp_path)
    said = str(caught.value)
    assert "HEADRACE_MAVEN_URL" in said
    assert f"put it at {tmp_path / JAR.name}" in said


def test_a_mirror_that_is_no_url_is_a_problem_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADRACE_MAVEN_URL", "repo.example.org")
    with pytest.raises(MachineError, match=r"cannot fetch repo\.example\.org/org/"):
        fetch([JAR], tmp_path)


def test_every_library_is_pinned() -> None:
    assert all(len(jar.digest) == 64 for jar in KAFKA)
    assert len({jar.name for jar in KAFKA}) == len(KAFKA)
