"""Processor time of a command with every process that it starts, and of the rest of the machine.

Three ways in which time of a process tree is lost, and what is done here against each:

* A process outlives its parent (a JVM, a daemon): the system gives it to the process that is the
  nearest *subreaper*, which is this program (PR_SET_CHILD_SUBREAPER). It waits for all processes
  that are left, so their time is in RUSAGE_CHILDREN, as is that of all whom others waited for.
* A process does not end at all: it is ended after a while, and then waited for.
* A process ignores SIGCHLD, as the daemon of PySpark does: the system then drops the time of
  its children, the workers of Spark, when they end. Children of such processes are looked at
  every tenth of a second, and what they had used when last seen is added. What they use after that
  is lost, and counts as time of other processes.

This needs no rights, which a control group would. It runs as a program of its own
(_processor_time.py RESULT COMMAND...), as RUSAGE_CHILDREN counts all children of a process.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NoReturn

PROC: Final = Path("/proc")
GRACE: Final = 10.0
"""Seconds that processes have to end by themselves after the command has ended."""
_KILLED_AFTER: Final = 5.0
_INTERVAL: Final = 0.1
_PR_SET_CHILD_SUBREAPER: Final = 36
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_TERMINATED: Final = 128 + signal.SIGTERM


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a command used.

    Attributes:
        exit_code: how the command ended; negative for a signal.
        processor: processor seconds of all its processes.
        wall: seconds until the last of them had ended.
        others: processor seconds of all other processes of the machine.
        ended: how many processes had to be ended.
    """

    exit_code: int
    processor: float
    wall: float
    others: float
    ended: int


@dataclass(frozen=True, slots=True)
class _Process:
    number: int
    parent: int
    started: int
    is_zombie: bool
    seconds: float
    """Its own, and those of the children that it has waited for."""


@dataclass(slots=True)
class _Tree:
    """The processes below this one."""

    dropped: dict[tuple[int, int], float] = field(default_factory=dict)
    """Seconds of processes whose parents ignore SIGCHLD, by number and start."""
    reaped: set[int] = field(default_factory=set)
    sampled: float = 0.0

    def reap(self) -> Iterator[tuple[int, int]]:
        """Wait for children that have ended, without blocking.

        Raises:
            ChildProcessError: no child is left.
        """
        while True:
            number, status = os.waitpid(-1, os.WNOHANG)
            if number == 0:
                return
            self.reaped.add(number)
            yield number, status

    def sample(self) -> None:
        """Look at the children of processes that ignore SIGCHLD."""
        if time.monotonic() - self.sampled < _INTERVAL:
            return
        below = list(descendants(os.getpid()))
        ignoring = {each for each in {one.parent for one in below} if _ignores_children(each)}
        for one in below:
            if one.parent in ignoring:
                self.dropped[one.number, one.started] = one.seconds
        self.sampled = time.monotonic()

    @property
    def seconds(self) -> float:
        """Processor seconds of all processes, once all have ended."""
        lost = (used for (number, _), used in self.dropped.items() if number not in self.reaped)
        return _used(resource.RUSAGE_CHILDREN) + sum(lost)


def measure_command(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, output: Path
) -> Measurement | None:
    """Measure a command in a process of its own; None if it could not be started.

    Args:
        command: the program and its arguments.
        environment: all its environment variables.
        folder: where it runs.
        output: the file for its output and errors.
    """
    with TemporaryDirectory() as made, output.open("wb") as sink:
        result = Path(made) / "result.json"
        with subprocess.Popen(
            [sys.executable, "-I", __file__, str(result), *command],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        ) as meter:
            try:
                meter.wait()
            except BaseException:
                meter.terminate()  # it ends the processes of the command, and then itself
                meter.wait()  # after Ctrl-C, `with` does not
                raise
        if not result.exists():
            return None
        return Measurement(**json.loads(result.read_text()))


def measure(command: Sequence[str], grace: float = GRACE) -> Measurement:
    """Run a command to the end of its last process; only for a process without other children."""
    _adopt_orphans()
    tree = _Tree()
    began, busy, own = time.monotonic(), _busy(), _used(resource.RUSAGE_SELF)
    resetting = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores them, and children inherit that
    child = os.posix_spawnp(command[0], list(command), os.environ, setsigdef=resetting)
    status = _wait_for(child, tree)
    ended = _wait_for_all(tree, grace)
    wall = time.monotonic() - began
    processor = tree.seconds
    others = _busy() - busy - (_used(resource.RUSAGE_SELF) - own) - processor
    exit_code = os.waitstatus_to_exitcode(status)
    return Measurement(exit_code, processor, wall, max(0.0, others), ended)


def descendants(ancestor: int) -> Iterator[_Process]:
    """List the processes below one, as far as they still exist."""
    children: dict[int, list[_Process]] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                found = _process(folder)
                children.setdefault(found.parent, []).append(found)
    numbers = [ancestor]
    for number in numbers:
        for child in children.get(number, []):
            numbers.append(child.number)
            yield child


def _process(folder: Path) -> _Process:
    # After the name, which may have spaces: the state, the parent and so on.
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    seconds = sum(map(int, fields[11:15])) / _TICKS
    is_zombie = fields[0] == "Z"
    return _Process(int(folder.name), int(fields[1]), int(fields[19]), is_zombie, seconds)


def _ignores_children(number: int) -> bool:
    with suppress(OSError):
        for line in (PROC / str(number) / "status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "SigIgn":
                return bool(int(value, 16) >> (signal.SIGCHLD - 1) & 1)
    return False


def _busy() -> float:
    """Processor seconds that the machine has spent, also for other machines on the same host."""
    fields = (PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _waiting, interrupts, soft, stolen = map(int, fields)
    return (user + nice + system + interrupts + soft + stolen) / _TICKS


def _used(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _adopt_orphans() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system has no subreapers")


def _wait_for(child: int, tree: _Tree) -> int:
    while True:
        for number, status in tree.reap():
            if number == child:
                return status
        tree.sample()
        time.sleep(_INTERVAL / 10)


def _wait_for_all(tree: _Tree, grace: float) -> int:
    """Wait until no process is left, and end those that stay; returns how many these were."""
    until = time.monotonic() + grace
    stopping: set[int] = set()
    with suppress(ChildProcessError):
        while True:
            for _ in tree.reap():
                pass
            tree.sample()
            late = time.monotonic() - until
            if late > 0:
                staying = {each.number for each in descendants(os.getpid()) if not each.is_zombie}
                new = staying - stopping if late < _KILLED_AFTER else staying
                stopping |= new
                _send(signal.SIGTERM if late < _KILLED_AFTER else signal.SIGKILL, new)
            time.sleep(_INTERVAL / 10)
    return len(stopping)


def _send(number: signal.Signals, processes: set[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _stop(_number: int, _frame: object) -> NoReturn:
    sys.exit(_TERMINATED)


def main() -> None:
    """Measure a command, and write what it used."""
    result, *command = sys.argv[1:]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whatever started this may ignore it
    signal.signal(signal.SIGTERM, _stop)
    try:
        measured = measure(command)
    except (KeyboardInterrupt, SystemExit):
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        _wait_for_all(_Tree(), 0)
        raise
    Path(result).write_text(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main()
