"""A run on a standalone cluster: a master and two workers, here, with a secret."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.errors import MachineError
from headrace.spark.java import find_java
from tests.operating import PATIENCE, count, elements, rows, running
from tests.spark.test_sockets import free_port

pytestmark = [pytest.mark.spark, pytest.mark.long]

HOME = Path(pyspark.__file__).parent
DEPLOY = "org.apache.spark.deploy"
SETTINGS = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.master.rest.enabled": "false",
    "spark.executor.memory": "512m",
}


@dataclass
class Cluster:
    """A master and its workers, each a process of ours."""

    folder: Path
    java: Path
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    @property
    def conf(self) -> Path:
        """The folder that whoever may use the cluster has."""
        return self.folder / "conf"

    @property
    def unshared(self) -> Path:
        """A folder in which one worker does not see what others do, if that can be arranged."""
        return self.folder / "unshared"

    def start(self) -> None:
        self.conf.mkdir(parents=True)
        self.unshared.mkdir()
        settings = SETTINGS | {"spark.authenticate.secret": secrets.token_hex(16)}
        file = self.conf / "spark-defaults.conf"
        file.touch(0o600)
        file.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        self._launch("master.Master", self.port, "I have been elected leader")
        for number in range(2):
            self._launch(
                "worker.Worker",
                free_port(),
                "Successfully registered with master",
                *("--cores", "1", "--memory", "512m"),
                *("--work-dir", str(self.folder / f"work-{number}"), self.url),
                apart=number == 0,
            )

    def _launch(self, name: str, port: int, ready: str, *options: str, apart: bool = False) -> None:
        log = self.folder / f"{name}-{port}.log"
        command = [
            *(str(self.java / "bin" / "java"), "-Xmx192m", "-XX:+UseSerialGC"),
            *("-cp", f"{self.conf}{os.pathsep}{HOME / 'jars' / '*'}", f"{DEPLOY}.{name}"),
            *("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())),
            *("--properties-file", str(self.conf / "spark-defaults.conf"), *options),
        ]
        if apart and can_hide_folders():
            hide = f'mount -t tmpfs none "{self.unshared}" && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", hide, "sh", *command]
        environment = os.environ | {
            "JAVA_HOME": str(self.java),
            "SPARK_HOME": str(HOME),
            "SPARK_CONF_DIR": str(self.conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SCALA_VERSION": "2.13",
        }
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        self.processes.append(process)
        give_up = time.monotonic() + PATIENCE
        while ready not in log.read_text():
            if process.poll() is not None or time.monotonic() > give_up:
                raise AssertionError(log.read_text())
            time.sleep(0.1)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()


def can_hide_folders() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        java = find_java().home
    except MachineError as error:
        pytest.skip(str(error))
    made = Cluster(tmp_path_factory.mktemp("cluster"), java)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def run(
    cluster: Cluster, folder: Path, checkpoint: Path, *options: str, conf: Path | None = None
) -> tuple[int, str]:
    """The exit code of a run on the cluster, and what it said."""
    arguments = (count("q"), "--stream", f"x:s={folder / 's'}", "--once", "--batch", "2")
    places = ("--out", str(folder / "out.ndjson"), "--checkpoint", str(checkpoint))
    environment = {"SPARK_CONF_DIR": str(conf or cluster.conf)}
    every = (*arguments, *places, "--master", cluster.url, *options)
    with running(folder, *every, environment=environment) as live:
        return live.ended()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s").mkdir()
    for number in range(5):
        part = elements(number * 30, number * 30 + 30)
        (tmp_path / "s" / f"{number}.tnq").write_text(part)
    return tmp_path


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_cluster_finds_what_one_process_finds(
    cluster: Cluster, folder: Path, partitions: int
) -> None:
    code, said = run(cluster, folder, folder / "run", "--partitions", str(partitions))
    assert code == 0, said
    alone = folder / "alone.ndjson"
    options = ["--stream", f"x:s={folder / 's'}", "--out", str(alone), "--once"]
    assert (
        CliRunner().invoke(app, ["run", count("q"), *options, "--runner", "inline"]).exit_code == 0
    )
    assert rows(folder / "out.ndjson") == rows(alone)
    assert len(rows(alone)) > 60
    assert not list((folder / "run").glob(".shared-*"))


def test_a_checkpoint_that_workers_do_not_see_is_refused(cluster: Cluster, folder: Path) -> None:
    if not can_hide_folders():
        pytest.skip("a folder cannot be hidden from a process here")
    code, said = run(cluster, folder, cluster.unshared / "run")
    assert code == 2, said
    assert "is not shared with the machines of the cluster" in said
    assert not rows(folder / "out.ndjson")


def test_without_the_secret_there_is_no_way_in(cluster: Cluster, folder: Path) -> None:
    (folder / "conf").mkdir()
    code, said = run(cluster, folder, folder / "run", conf=folder / "conf")
    assert code == 2, said
    assert "write spark.authenticate.secret" in said
    assert "Traceback" not in said
