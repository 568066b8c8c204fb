"""Whether the working tree needs more or less processor time than another revision of itself.

headrace bench compare REV NAME runs benchmark NAME of both sides, in turned order and in fresh
processes, and prints the median of the ratios working tree / REV of the processor time of whole
runs, with a 95 % interval. Options that are not listed here, and all that follow --, go to NAME.
Exit code 1: other processes left too few valid pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from _paired_ratios import OTHERS, Pair, Run, Side, Summary, needed, run_pairs, summarize
from _processor_time import measure_command
from _revisions import (
    CACHE,
    Build,
    Checkout,
    benchmarks_of,
    build_environment,
    check_out,
    clean,
    commit_of,
    differences,
    last_lines,
    packages_of,
    set_up,
    working_tree,
)

from headrace.errors import HeadraceError, MachineError, SettingError
from headrace.exits import FAILED_RUN, failing

ROOT: Final = Path(__file__).resolve().parents[1]
METHOD: Final = (
    "each ratio is of the processor time (user and system, all processes) of two runs of a pair,"
    " one after the other; the interval is of the median, by order statistics"
)
_SHORT: Final = 9
_SHOWN_PACKAGES: Final = 8


class BenchmarkError(HeadraceError):
    """A benchmark failed; the message has its last lines."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared.

    Attributes:
        tree: the working tree.
        revision: the other side.
        benchmark: the name of the benchmark.
        options: its options.
        pairs: how many valid pairs are wanted.
        retries: how many pairs may be repeated.
    """

    tree: Checkout
    revision: Checkout
    benchmark: str
    options: tuple[str, ...]
    pairs: int
    retries: int

    def checkout(self, side: Side) -> Checkout:
        """The checkout of a side."""
        return self.tree if side is Side.TREE else self.revision


def options_of(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Read the options, and leave those of the benchmark."""
    before, after = list(arguments), []
    if "--" in arguments:
        split = before.index("--")
        before, after = before[:split], before[split + 1 :]
    parser = argparse.ArgumentParser(
        prog="headrace bench compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a short form may be an option of the benchmark
    )
    cleans = "--clean" in before
    parser.add_argument("revision", metavar="REV", nargs="?" if cleans else None, help="as in git")
    parser.add_argument("name", metavar="NAME", nargs="?" if cleans else None, help="a benchmark")
    parser.add_argument("--pairs", type=int, default=9, help="valid pairs of runs; 9 if not given")
    parser.add_argument(
        "--retries", type=int, help="how many pairs may be repeated; as many as pairs if not given"
    )
    parser.add_argument(
        "--same-environment",
        action="store_true",
        help="run REV with the packages of the working tree instead of an environment of its own",
    )
    parser.add_argument("--json", type=Path, help="write everything to this file too")
    parser.add_argument("--clean", action="store_true", help=f"remove what is in {CACHE}, and stop")
    asked, passed = parser.parse_known_args(before)
    if asked.pairs < 1:
        parser.error("--pairs must be at least 1")
    if asked.retries is not None and asked.retries < 0:
        parser.error("--retries must be at least 0")
    if asked.json is not None and not asked.json.parent.is_dir():
        parser.error(f"--json: there is no folder {asked.json.parent}")
    return asked, passed + after


def prepare(
    root: Path, asked: argparse.Namespace, options: Sequence[str], build: Build
) -> Comparison:
    """Check what is asked for, and make the other side.

    Raises:
        HeadraceError: it cannot be compared.
    """
    if not sys.platform.startswith("linux"):
        raise MachineError("a comparison needs Linux: it reads /proc and adopts processes")
    if (Path.cwd() / "headrace").is_dir():
        problem = f"{Path.cwd()} has a folder 'headrace', which both sides would import"
        raise SettingError(f"{problem}\nstart the comparison in another folder")
    known = sorted(path.stem for path in (root / "benchmarks").glob("[!_]*.py"))
    known = [name for name in known if name != Path(__file__).stem]
    if asked.name not in known:
        raise SettingError(f"unknown benchmark '{asked.name}'; known are {', '.join(known)}")
    tree = working_tree(root)
    commit = commit_of(root, asked.revision)
    label = commit[:_SHORT] if commit.startswith(asked.revision) else asked.revision
    there = benchmarks_of(root, commit)
    if asked.name not in there:
        problem = f"revision '{asked.revision}' has no benchmark '{asked.name}'"
        raise SettingError(f"{problem}; it has {', '.join(there) or 'none'}")
    folder = check_out(root, commit)
    python = tree.python
    if not asked.same_environment:
        python = set_up(folder, announced(build))
    revision = Checkout(label, commit, folder, python)
    retries = asked.pairs if asked.retries is None else asked.retries
    return Comparison(tree, revision, asked.name, tuple(options), asked.pairs, retries)


def announced(build: Build) -> Build:
    """Say that an environment is built, as that takes a while."""

    def announce(folder: Path) -> None:
        print(f"building an environment in {folder / '.venv'}: once, for some minutes", flush=True)
        build(folder)

    return announce


def run_once(comparison: Comparison, side: Side, output: Path) -> Run:
    """Run the benchmark of a side.

    Raises:
        BenchmarkError: it failed.
    """
    checkout = comparison.checkout(side)
    command = checkout.command(comparison.benchmark, comparison.options)
    data = comparison.tree.folder.parent / "shared" / "data"
    environment = checkout.environment(os.environ, data)
    measured = measure_command(command, environment, Path.cwd(), output)
    if measured is None or measured.exit_code != 0:
        how = "could not be run" if measured is None else f"failed with {measured.exit_code}"
        said = last_lines(output.read_text("utf-8", errors="replace"))
        problem = f"benchmark '{comparison.benchmark}' of {checkout.name} {how}"
        raise BenchmarkError(f"{problem}\n{shlex.join(command)}\n{said}")
    return Run(measured.processor, measured.wall, measured.others, measured.ended)


def compare(comparison: Comparison, measure: Callable[[Side], Run]) -> tuple[list[Pair], Summary]:
    """Warm up both sides, run the pairs, and print each of them."""
    revision = comparison.revision.name
    print("warming up", flush=True)
    for side in Side:
        measure(side)
    width = max(len(revision), 10)
    print(f"pair  working tree  {revision:>{width}}  ratio  cores of others   load", flush=True)
    pairs = []
    for pair in run_pairs(
        comparison.pairs, comparison.retries, measure, lambda: os.getloadavg()[0]
    ):
        pairs.append(pair)
        print(line_of(pair, width), flush=True)
    return pairs, summarize(pairs, comparison.pairs)


def line_of(pair: Pair, width: int) -> str:
    """The figures of a pair; others are in the order of the columns."""
    tree, revision = pair.tree, pair.revision
    others = f"{tree.others_cores:.2f} and {revision.others_cores:.2f}"
    times = f"{tree.processor:10.2f} s  {revision.processor:{width - 2}.2f} s"
    invalid = "" if pair.is_valid else "  not valid"
    return (
        f"{pair.number + 1:4}  {times}  {pair.ratio:5.3f}  {others:>15}  {pair.load:5.1f}{invalid}"
    )


def report_of(comparison: Comparison, pairs: Sequence[Pair], summary: Summary) -> str:
    """Say what was found, and how far it can be trusted."""
    invalid = summary.pairs - summary.valid
    why = f"other processes used more than {OTHERS} cores during a run"
    lines = [
        f"{invalid} of {summary.pairs} pairs not valid: {why}" if invalid else "all pairs valid"
    ]
    if not summary.is_valid:
        wanted = needed(comparison.pairs)
        lines.append(f"NO VALID RESULT: {wanted} valid pairs are needed; figures of all pairs:")
    ratio = f"working tree / {comparison.revision.name}, processor time of whole runs"
    lines.append(f"{ratio}: median {summary.median:.3f}, {interval_text(summary)}")
    ended = sum(run.ended for pair in pairs for run in (pair.tree, pair.revision))
    if ended:
        lines.append(f"{ended} processes outlived their benchmark and were ended")
    return "\n".join(lines)


def interval_text(summary: Summary) -> str:
    """The interval, how it was found, and what it shows."""
    found = summary.interval
    if found is None:
        return "too few pairs for a 95 % interval"
    used = summary.valid if summary.is_valid else summary.pairs
    ranks = f"order statistics {found.ranks[0]} and {found.ranks[1]} of {used} ratios"
    text = f"95 % interval {found.low:.3f} to {found.high:.3f} ({ranks}, {found.coverage:.1%})"
    if summary.is_valid and found.low <= 1 <= found.high:
        text += "; no difference was shown"
    return text


def head_of(comparison: Comparison, packages: Mapping[str, tuple[str, str]]) -> str:
    """Say what is compared."""
    tree, revision = comparison.tree, comparison.revision
    changed = " with changes" if tree.is_changed else ""
    command = shlex.join(["headrace", "bench", comparison.benchmark, *comparison.options])
    lines = [
        f"{command}: working tree ({tree.commit[:_SHORT]}{changed})"
        f" against {revision.name} ({revision.commit[:_SHORT]})"
    ]
    if packages:
        shown = [f"{name} {ours} and {theirs}" for name, (ours, theirs) in packages.items()]
        rest = len(shown) - _SHOWN_PACKAGES
        more = f" and {rest} more" if rest > 0 else ""
        listed = ", ".join(shown[:_SHOWN_PACKAGES]) + more
        lines.append(f"the environments differ: {listed}; --same-environment uses one for both")
    return "\n".join(lines)


def record_of(
    comparison: Comparison,
    packages: Mapping[str, tuple[str, str]],
    pairs: Sequence[Pair],
    summary: Summary,
) -> dict[str, Any]:
    """Everything, for a file."""
    tree, revision = comparison.tree, comparison.revision
    return {
        "benchmark": comparison.benchmark,
        "options": comparison.options,
        "tree": {"commit": tree.commit, "changed": tree.is_changed, "python": str(tree.python)},
        "revision": {
            "name": revision.name,
            "commit": revision.commit,
            "python": str(revision.python),
        },
        "packages": packages,
        "cores": os.cpu_count(),
        "method": METHOD,
        "others_allowed": OTHERS,
        "pairs_asked": comparison.pairs,
        "pairs": [{**asdict(pair), "ratio": pair.ratio, "valid": pair.is_valid} for pair in pairs],
        "summary": asdict(summary),
    }


def run(arguments: Sequence[str], root: Path = ROOT, build: Build = build_environment) -> int:
    """Compare, and return the exit code.

    Raises:
        HeadraceError: nothing could be compared.
    """
    asked, options = options_of(arguments)
    if asked.clean:
        working_tree(root)
        print(f"checkouts removed from {root / CACHE}: {clean(root)}")
        return 0
    comparison = prepare(root, asked, options, build)
    pythons = (comparison.tree.python, comparison.revision.python)
    is_same = pythons[0] == pythons[1]
    packages = {} if is_same else differences(*map(packages_of, pythons))
    print(head_of(comparison, packages))
    with TemporaryDirectory() as folder:
        numbers = count()

        def measure(side: Side) -> Run:
            return run_once(comparison, side, Path(folder) / f"{next(numbers)}.txt")

        pairs, summary = compare(comparison, measure)
    print(report_of(comparison, pairs, summary))
    if asked.json:
        record = record_of(comparison, packages, pairs, summary)
        asked.json.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return 0 if summary.is_valid else FAILED_RUN


def main() -> None:
    """Compare as the command line says."""
    with failing():
        code = run(sys.argv[1:])
    sys.exit(code)


if __name__ == "__main__":
    main()
