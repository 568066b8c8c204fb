"""How accurate answers from a local view are under a budget of refreshes: ACQUA's experiments.

The paper's Twitter data are not public, so this is a replay of what it says of them, by a seed:

* 400 users. The times between changes of their follower counts are log-spaced from 1 to 250
  minutes and dealt to the users at random. A count changes at every multiple of its user's time,
  counted from the start (phase 0), and never comes back to an earlier value.
* Mentions of users come at random, 18 a minute on average, over three hours. The user of rank k is
  mentioned in proportion to 1 / sqrt(k); ranks are dealt at random.
* A window of 2 minutes slides every minute, which makes 180 evaluations. The users that are
  mentioned in it, 33 on average, are joined with their counts from the view. The view is filled at
  the start, when all best-before times are the start.

Accuracy is the share of an evaluation's rows whose count is the endpoint's; a run's is the mean of
its evaluations. Variants: each count has a phase of its own, at random; changes come by chance
(Poisson). How rates are learned that drift is seen over twelve hours, after the first three of
which the times between changes are dealt anew. How long evaluations take is seen beside an endpoint
on loopback that takes 5, 50 and 500 milliseconds for each request (_endpoint.py). The part
`engine` runs the same replays through the engine over HTTP (_local_views.py).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.freshness.accuracy import estimated
from headrace.freshness.election import Oracle, elected
from headrace.freshness.policies import Proposer, Ranker, Sliding
from headrace.freshness.rates import Learning
from headrace.freshness.view import LocalView

if TYPE_CHECKING:
    from _local_views import Measured

USERS: Final = 400
MINUTE: Final = 60
EVALUATIONS: Final = 180
WINDOW: Final = Sliding(2 * MINUTE, MINUTE)
MENTIONS: Final = 0.3
"""How many mentions come in a second."""
SKEW: Final = 0.5
SHORTEST, LONGEST = 1 * MINUTE, 250 * MINUTE
BUDGETS: Final = (3, 5, 10)
ENOUGH: Final = 0.8
DELAYS: Final = (0.005, 0.05, 0.5)
WITHIN: Final = 0.2
REFRESHES: Final = 20
TIMED: Final = 200
SHOWN: Final = ["WST", "WSJ-RND", "WSJ-LRU", "WSJ-WBM", "WSJ-WBM*"]
NEVER: Final = -1
ENGINE_SEEDS: Final = 5
ENGINE_EVALUATIONS: Final = 60
SIMULATED: Final = {
    "WST": "WST",
    "GNR": "GNR-LRU",
    "RND": "WSJ-RND",
    "LRU": "WSJ-LRU",
    "WBM": "WSJ-WBM",
}
"""The policies as the simulation calls them; what needs an oracle cannot be run by an engine."""
CLAIMS: Final = (("WST-0", "GNR"), ("GNR", "LRU"), ("RND", "WBM"), ("LRU", "WBM"))
"""The paper's orders, lower first."""

PERIODIC, PHASES, POISSON, DRIFT = "periodic", "random phases", "Poisson", "drift"
DRIFTING: Final = 4 * EVALUATIONS
"""Rates that change are learned over twelve hours; they are dealt anew after the first three."""

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

PAPER: Final = {
    "WST": (0.23, 0.23, 0.23),
    "GNR-RND": (0.26, 0.26, 0.32),
    "GNR-LRU": (0.27, 0.28, 0.33),
    "WSJ-RND": (0.40, 0.48, 0.64),
    "WSJ-LRU": (0.38, 0.51, 0.76),
    "BST": (0.49, 0.66, 0.94),
    "WSJ-WBM": (0.46, 0.60, 0.81),
    "WSJ-WBM*": (0.52, 0.71, 0.94),
}
"""The paper's Tables 1 and 2, for synthetic background data."""
POLICIES: Final = {
    "WST": (Proposer.WSJ, Ranker.WST),
    "GNR-RND": (Proposer.GNR, Ranker.RND),
    "GNR-LRU": (Proposer.GNR, Ranker.LRU),
    "WSJ-RND": (Proposer.WSJ, Ranker.RND),
    "WSJ-LRU": (Proposer.WSJ, Ranker.LRU),
    "BST": (Proposer.WSJ, Ranker.BST),
    "WSJ-WBM": (Proposer.WSJ, Ranker.WBM),
    "WSJ-WBM*": (Proposer.WSJ, Ranker.WBM_STAR),
}


# -- what happens ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class World:
    """What happens by one seed.

    Attributes:
        seed: which.
        intervals: between the changes of each user's count, at the start.
        entered: at each evaluation, when each user was mentioned last in the window, or NEVER.
        versions: at each evaluation, how often each count has changed.
        following: at each evaluation, when each count changes next.
        mentions: when users are mentioned, in seconds, and who.
    """

    seed: int
    intervals: Ints
    entered: Ints
    versions: Ints
    following: Ints
    mentions: tuple[Ints, Ints]


@cache
def world(seed: int, process: str = PERIODIC) -> World:
    """All that happens, and nothing that depends on who is refreshed."""
    chance = np.random.default_rng(seed)
    spaced = np.geomspace(SHORTEST, LONGEST, USERS)
    intervals = chance.permutation(np.rint(spaced).astype(np.int64))
    shares = chance.permutation(np.arange(1, USERS + 1) ** -SKEW)
    evaluations = DRIFTING if process == DRIFT else EVALUATIONS
    ends = evaluations * MINUTE
    times = np.sort(chance.integers(-WINDOW.width, ends, chance.poisson(MENTIONS * ends)))
    users = chance.choice(USERS, times.size, p=shares / shares.sum())
    closes = MINUTE * np.arange(1, evaluations + 1)
    entered = np.full((evaluations, USERS), NEVER, np.int64)
    for row, close in enumerate(closes):
        first, last = np.searchsorted(times, [close - WINDOW.width, close], side="right")
        np.maximum.at(entered[row], users[first:last], times[first:last])
    changes = [_changes(intervals[user], process, chance, intervals) for user in range(USERS)]
    places = [np.searchsorted(each, closes, side="right") for each in changes]
    versions = np.stack(places, axis=1)
    following = np.stack([each[at] for each, at in zip(changes, places, strict=True)], axis=1)
    mentions = times.astype(np.int64), users.astype(np.int64)
    return World(seed, intervals, entered, versions.astype(np.int64), following, mentions)


def _changes(
    interval: np.int64, process: str, chance: np.random.Generator, intervals: Ints
) -> Ints:
    """When a count changes, to beyond the end."""
    until = (DRIFTING if process == DRIFT else EVALUATIONS) * MINUTE + 2 * LONGEST
    match process:
        case "periodic":
            return np.arange(int(interval), until, int(interval))
        case "random phases":
            return np.arange(int(chance.integers(1, int(interval) + 1)), until, int(interval))
        case "Poisson":
            gaps = chance.exponential(interval, 2 * until // int(interval) + 50)
            return np.ceil(np.cumsum(gaps)).astype(np.int64)
        case "drift":
            turn = EVALUATIONS * MINUTE
            then = chance.choice(intervals)
            return np.concatenate(
                [np.arange(interval, turn, interval), np.arange(turn + then, until, then)]
            )
        case _:
            raise ValueError(process)


# -- a run ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """What one run gives, evaluation by evaluation."""

    accuracy: Floats
    estimate: Floats
    sizes: Ints
    requests: Ints

    @property
    def mean(self) -> float:
        """Its accuracy."""
        return float(self.accuracy.mean())


def run(
    seed: int,
    policy: str,
    budget: int,
    process: str = PERIODIC,
    *,
    learning: Learning | None = None,
    declared: bool = True,
) -> Run:
    """Keep a view fresh by a policy within a budget.

    Args:
        seed: of all that happens.
        policy: who is refreshed.
        budget: how many in each evaluation.
        process: how counts change.
        learning: how rates are learned; the declared ones hold forever, if not given.
        declared: whether the rates at the start are known.
    """
    what = world(seed, process)
    proposer, ranker = POLICIES[policy]
    view = LocalView(expected=10 * MINUTE, learning=learning)
    view.add(np.arange(USERS), 0, what.intervals if declared else None)
    version = np.zeros(USERS, np.int64)
    number = len(what.entered)
    counts = np.zeros((2, number), np.int64)
    found = Run(np.ones(number), np.ones(number), *counts)
    for row in range(number):
        now = MINUTE * (row + 1)
        used = np.flatnonzero(what.entered[row] != NEVER)
        places = used if proposer is Proposer.WSJ else np.arange(USERS)
        entered = np.where(what.entered[row, places] == NEVER, now, what.entered[row, places])
        stale = version != what.versions[row]
        oracle = Oracle(stale[places], what.following[row, places])
        candidates = view.candidates(places, entered)
        chosen = elected(candidates, ranker, budget, WINDOW, now, seed=seed, oracle=oracle)
        asked = places[chosen]
        view.spared(asked.size < budget)
        if asked.size:
            view.refresh(asked, stale[asked], now)
            version[asked] = what.versions[row, asked]
        found.sizes[row], found.requests[row] = used.size, asked.size
        if used.size:
            found.accuracy[row] = (version[used] == what.versions[row, used]).mean()
            found.estimate[row] = estimated(view.probably_fresh(used, now))
    return found


# -- what is compared -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """Accuracies of one policy with one budget, a run for each seed."""

    policy: str
    budget: int
    process: str
    values: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Over all seeds."""
        return fmean(self.values)

    @property
    def deviation(self) -> float:
        """From seed to seed."""
        return stdev(self.values) if len(self.values) > 1 else 0.0

    def above(self, other: Figure) -> float | None:
        """By how many standard errors of the differences it is above another one.

        None if that is not known: of one seed, or where all differences are the same.
        """
        gaps = [one - two for one, two in zip(self.values, other.values, strict=True)]
        error = stdev(gaps) / sqrt(len(gaps)) if len(gaps) > 1 else 0.0
        return fmean(gaps) / error if error else None


Figures: TypeAlias = dict[tuple[str, int], Figure]


def figures(seeds: Sequence[int], process: str, policies: Sequence[str]) -> Figures:
    """The accuracies of some policies, with each budget."""
    return {
        (policy, budget): Figure(
            policy, budget, process, [run(seed, policy, budget, process).mean for seed in seeds]
        )
        for policy in policies
        for budget in BUDGETS
    }


def table(found: Figures, policies: Sequence[str]) -> list[str]:
    """A table of accuracies, the paper's beside them."""
    lines = ["budget  " + "  ".join(f"{policy:>19}" for policy in policies)]
    for place, budget in enumerate(BUDGETS):
        cells = []
        for policy in policies:
            each = found[policy, budget]
            cells.append(f"{each.mean:.3f}±{each.deviation:.3f} ({PAPER[policy][place]:.2f})")
        lines.append(f"{budget:6}  " + "  ".join(f"{cell:>19}" for cell in cells))
    return lines


def orders(found: Figures) -> dict[str, bool]:
    """What the paper's tables say of the order of policies, and whether it is so here."""
    said: dict[str, bool] = {}
    for budget in BUDGETS:

        def less(low: str, high: str, budget: int = budget) -> bool:
            return found[low, budget].mean < found[high, budget].mean

        for ranker in ("RND", "LRU"):
            chain = ["WST", f"GNR-{ranker}", f"WSJ-{ranker}", "BST"]
            holds = all(less(*pair) for pair in pairwise(chain))
            said[f"{' < '.join(chain)} at {budget}"] = holds
        said[f"WBM < WBM* at {budget}"] = less("WSJ-WBM", "WSJ-WBM*")
        for other in ("RND", "LRU"):
            errors = found["WSJ-WBM", budget].above(found[f"WSJ-{other}", budget])
            if errors is not None:
                beyond = f"WBM above {other} beyond two standard errors at {budget}"
                said[beyond] = errors > 2  # noqa: PLR2004
    return said


def saved(seeds: Sequence[int]) -> tuple[int, float, float]:
    """The least budget with enough accuracy, that accuracy, and how many fewer requests it takes.

    Without a view, each evaluation asks for each user in its window.
    """
    for budget in range(1, 34):
        runs = [run(seed, "WSJ-WBM", budget) for seed in seeds]
        accuracy = fmean(each.mean for each in runs)
        if accuracy >= ENOUGH:
            asked = sum(int(each.requests.sum()) for each in runs)
            without = sum(int(each.sizes.sum()) for each in runs)
            return budget, accuracy, without / asked
    raise AssertionError("a budget for all of them is enough")


def learned(seeds: Sequence[int]) -> list[dict[str, float | str | int | None]]:
    """Accuracy of WBM when rates drift: with fixed rates, and with those that are learned."""
    rows: list[dict[str, float | str | int | None]] = []
    for process in (DRIFT, POISSON, PERIODIC):
        for budget in BUDGETS:
            runs = {
                "fixed": [run(seed, "WSJ-WBM", budget, process) for seed in seeds],
                "learned": [
                    run(seed, "WSJ-WBM", budget, process, learning=Learning()) for seed in seeds
                ],
                "undeclared": [
                    run(seed, "WSJ-WBM", budget, process, learning=Learning(), declared=False)
                    for seed in seeds
                ],
            }
            figure = {
                name: Figure(name, budget, process, [each.mean for each in some])
                for name, some in runs.items()
            }
            rows.append(
                {"process": process, "budget": budget}
                | {name: each.mean for name, each in figure.items()}
                | {"standard errors": figure["learned"].above(figure["fixed"])}
                | {f"error of {name}": _error(some) for name, some in runs.items()}
            )
    return rows


def _error(runs: Sequence[Run]) -> float:
    """How far estimated accuracy is from the true one, on average."""
    return fmean(float(np.abs(each.accuracy - each.estimate).mean()) for each in runs)


def estimates(seeds: Sequence[int]) -> dict[str, float]:
    """The mean absolute error of estimated accuracy, by policy and budget."""
    return {
        f"{policy} {budget}": _error([run(seed, policy, budget) for seed in seeds])
        for policy in ("WSJ-RND", "WSJ-LRU", "WSJ-WBM")
        for budget in BUDGETS
    }


# -- plots ----------------------------------------------------------------------------------------


def draw(path: Path, seeds: Sequence[int]) -> None:
    """Cumulative errors as in the paper's Figures 3 and 4, and estimated against true accuracy."""
    import matplotlib as mpl  # noqa: PLC0415 - only who draws needs it

    mpl.use("svg" if path.suffix == ".svg" else "agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.5))
    for axes, policies in (
        (left, ("WST", "GNR-RND", "GNR-LRU", "WSJ-RND", "WSJ-LRU", "BST")),
        (middle, ("WST", "WSJ-RND", "WSJ-LRU", "WSJ-WBM", "WSJ-WBM*")),
    ):
        for policy in policies:
            errors = [np.cumsum(1 - run(seed, policy, 3).accuracy) for seed in seeds]
            axes.plot(np.arange(1, EVALUATIONS + 1), np.mean(errors, axis=0), label=policy)
        axes.set(xlabel="evaluation", ylabel="cumulative error, budget 3")
        axes.legend()
    for budget in BUDGETS:
        runs = [run(seed, "WSJ-WBM", budget) for seed in seeds[:4]]
        true = np.concatenate([each.accuracy for each in runs])
        guess = np.concatenate([each.estimate for each in runs])
        right.plot(true, guess, ".", markersize=2, label=f"WBM, budget {budget}")
    right.plot([0, 1], [0, 1], linewidth=0.7, color="grey")
    right.set(xlabel="true accuracy", ylabel="estimated accuracy")
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


# -- the parts of the benchmark -------------------------------------------------------------------

Part: TypeAlias = Callable[[range], dict[str, Any]]


def tables(seeds: range) -> dict[str, Any]:
    """Tables 1 and 2, and whether their orders hold."""
    sizes = [float(run(seed, "WST", 0).sizes.mean()) for seed in seeds]
    print(
        f"candidates: {fmean(sizes):.1f} on average, {min(sizes):.1f} to {max(sizes):.1f} by seed"
    )
    periodic = figures(seeds, PERIODIC, list(POLICIES))
    print("accuracy, mean ± deviation over seeds (in brackets the paper's, synthetic data)")
    for policies in (list(PAPER)[:6], SHOWN):
        print(*table(periodic, policies), sep="\n")
    said = orders(periodic)
    for claim, holds in said.items():
        print(f"{'yes' if holds else 'NO ':3}  {claim}")
    return {"candidates": fmean(sizes), "accuracy": _listed(periodic), "orders": said}


def variants(seeds: range) -> dict[str, Any]:
    """The same where changes cannot be foretold."""
    found: dict[str, Any] = {}
    for process in (PHASES, POISSON):
        some = figures(seeds, process, SHOWN)
        print(f"the same with {process}")
        print(*table(some, SHOWN), sep="\n")
        found[process] = _listed(some)
    return {"variants": found}


def _listed(found: Figures) -> list[dict[str, Any]]:
    return [
        {"policy": each.policy, "budget": each.budget, "process": each.process}
        | {"mean": each.mean, "deviation": each.deviation}
        for each in found.values()
    ]


def requests(seeds: range) -> dict[str, Any]:
    """How many fewer requests there are, and how far estimates are right."""
    budget, accuracy, times = saved(seeds)
    print(f"requests: {times:.1f}x fewer at accuracy {accuracy:.3f} (WBM, budget {budget})")
    errors = estimates(seeds)
    shown_errors = ", ".join(f"{name} {each:.3f}" for name, each in errors.items())
    print(f"mean absolute error of estimated accuracy: {shown_errors}")
    return {"saved": {"budget": budget, "accuracy": accuracy, "times": times}, "estimates": errors}


def drift(seeds: range) -> dict[str, Any]:
    """Rates that are learned against those that are believed."""
    print("WBM with fixed rates, rates that are learned from the declared ones, and from none")
    rows = learned(seeds)
    for row in rows:
        errors = row["standard errors"]
        above = "error not known" if errors is None else f"{errors:+.1f} standard errors"
        print(
            f"{row['process']:9} {row['budget']:3}  fixed {row['fixed']:.3f}  learned"
            f" {row['learned']:.3f} ({above})"
            f"  undeclared {row['undeclared']:.3f}  error of the estimate"
            f" {row['error of fixed']:.3f} {row['error of learned']:.3f}"
            f" {row['error of undeclared']:.3f}"
        )
    return {"learned": rows}


def bounds(_seeds: range) -> dict[str, Any]:
    """How long evaluations take beside an endpoint on loopback that takes its time."""
    from _endpoint import latency  # noqa: PLC0415 - no other part needs an engine

    found = []
    for delay in DELAYS:
        for refresh in ("blocks", "bound"):
            each = latency(delay, WITHIN, REFRESHES, TIMED, refresh)
            print(each, flush=True)
            found.append(asdict(each))
    return {"latency": found}


def engine(seeds: range) -> dict[str, Any]:
    """The same replays through the engine over HTTP, beside the simulation of the same policies.

    It has fewer seeds and evaluations, because each takes seconds: at most the first five seeds,
    and an hour of the stream.
    """
    from _local_views import Interval, through_the_engine  # noqa: PLC0415 - it needs an engine

    chosen = list(seeds)[:ENGINE_SEEDS]
    policies = ("LRU", "RND", "GNR", "WBM")
    contracts = {
        f"{policy}-{budget}": f"[POLICY {policy} BUDGET {budget}]"
        for policy in policies
        for budget in BUDGETS
    } | {"WST-0": "[BUDGET 0]"}
    found: dict[str, Any] = {}
    for process in (PERIODIC, POISSON):
        measured = [
            through_the_engine(
                world(seed, process), contracts, WINDOW.width, evaluations=ENGINE_EVALUATIONS
            )
            for seed in chosen
        ]
        seeds_said = f"{len(chosen)} seeds, {ENGINE_EVALUATIONS} evaluations"
        print(f"through the engine, {process}: {seeds_said}; mean and 95 % interval")
        print("query   accuracy       simulated      error of estimate  requests  most")
        for name in contracts:
            some = [each[name] for each in measured]
            policy, _, budget = name.partition("-")
            simulated = [
                run(seed, SIMULATED[policy], int(budget), process).accuracy[:ENGINE_EVALUATIONS]
                for seed in chosen
            ]
            accuracy = Interval.of([each.mean for each in some])
            beside = Interval.of([float(each.mean()) for each in simulated])
            error = Interval.of([each.error(0) for each in some])
            requests, most = fmean(each.requests for each in some), max(each.most for each in some)
            assert most <= int(budget), "the endpoint was asked for more than the budget"
            print(f"{name:6}  {accuracy}  {beside}  {error}      {requests:8.0f}  {most:4}")
            found[f"{process} {name}"] = {
                "accuracy": asdict(accuracy),
                "simulated": asdict(beside),
                "error": asdict(error),
                "requests": requests,
                "most": most,
            }
        found |= _orders(process, measured)
    return {"engine": found} | _missing(chosen)


def _orders(process: str, measured: Sequence[dict[str, Measured]]) -> dict[str, str]:
    """Whether the paper's orders hold: by the interval of the differences, seed by seed."""
    from _local_views import Interval  # noqa: PLC0415 - it needs an engine

    found: dict[str, str] = {}
    for lower, higher in CLAIMS:
        for budget in BUDGETS:
            low = lower if lower == "WST-0" else f"{lower}-{budget}"
            gap = Interval.of(
                [each[f"{higher}-{budget}"].mean - each[low].mean for each in measured]
            )
            said = "yes" if gap.mean > gap.half else "no" if -gap.mean > gap.half else "open"
            claim = f"{lower.partition('-')[0]} < {higher} at {budget}"
            print(f"{said:4}  {claim}: by {gap}")
            found[f"{process} {claim}"] = said
    return found


def _missing(seeds: Sequence[int]) -> dict[str, Any]:
    """How far estimates are right where views are filled by windows, so that rows are missing."""
    from _local_views import Interval, through_the_engine  # noqa: PLC0415 - it needs an engine

    contracts = {f"WBM-{budget}": f"[POLICY WBM BUDGET {budget}]" for budget in BUDGETS}
    runs = [
        through_the_engine(
            world(seed), contracts, WINDOW.width, fill="window", evaluations=ENGINE_EVALUATIONS
        )
        for seed in seeds
    ]
    print("filled by windows: true completeness and accuracy, and the errors of their estimates")
    found = {}
    for name in contracts:
        some = [run[name] for run in runs]
        row = {
            "completeness": Interval.of([fmean(each.completeness) for each in some]),
            "error of completeness": Interval.of([each.error(1) for each in some]),
            "accuracy": Interval.of([each.mean for each in some]),
            "error of accuracy": Interval.of([each.error(0) for each in some]),
        }
        print(f"{name:7}  " + "  ".join(f"{key} {value}" for key, value in row.items()))
        found[name] = {key: asdict(value) for key, value in row.items()}
    return {"missing": found}


PARTS: Final[dict[str, Part]] = {
    "tables": tables,
    "variants": variants,
    "requests": requests,
    "drift": drift,
    "latency": bounds,
    "engine": engine,
}


def main() -> None:
    """Print the tables, and write and draw them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--plot", type=Path, help="an SVG or a PNG; needs matplotlib")
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--first", type=int, default=0, help="the first of the seeds")
    options.add_argument("--only", choices=list(PARTS), action="append", help="a part of it")
    asked = options.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    content: dict[str, Any] = {}
    for name in asked.only or PARTS:
        content |= PARTS[name](seeds)
    if asked.json:
        asked.json.write_text(json.dumps(content, indent=2) + "\n")
    if asked.plot:
        draw(asked.plot, seeds)


if __name__ == "__main__":
    main()
