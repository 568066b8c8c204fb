"""The home from which Spark starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.spark.home import VARIABLE, light_home


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_it_has_all_but_the_archive(tmp_path: Path) -> None:
    for _ in range(2):  # made, and found
        with light_home(tmp_path / "cache"):
            home = Path(os.environ[VARIABLE])
            assert home.is_relative_to(tmp_path)
            assert (home / "bin" / "spark-submit").is_file()
            assert list((home / "jars").glob("spark-core_*.jar"))
            assert not (home / "python").exists()
        assert VARIABLE not in os.environ
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_what_is_missing_is_put_back(tmp_path: Path) -> None:
    with light_home(tmp_path):
        (Path(os.environ[VARIABLE]) / "jars").unlink()
    with light_home(tmp_path):
        assert (Path(os.environ[VARIABLE]) / "jars").is_dir()


def test_the_home_of_the_user_goes_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/opt/spark")
    with light_home(tmp_path):
        assert os.environ[VARIABLE] == "/opt/spark"
    assert os.environ[VARIABLE] == "/opt/spark"


def test_without_a_place_for_it_spark_starts_as_it_would(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with light_home(tmp_path / "file"):
        assert VARIABLE not in os.environ
