"""Steps per second through Gymnasium: the vector environment beside SyncVectorEnv, same lanes.

    python benchmarks/gymnasium_vector.py                           # every id, both granularities
    python benchmarks/gymnasium_vector.py --ids reinstate/WaterMaze-v0 --lanes 256

Both are warmed up, and take turns, so that a busy moment hits both. Random actions; the medians of
several rounds are recorded, all rounds beside them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import tyro
from gymnasium.vector import SyncVectorEnv

from measuring import made, write_record
from reinstate.interop.gymnasium import IDS, ReinstateEnv, ReinstateVectorEnv


@dataclass(frozen=True)
class Options:
    ids: tuple[str, ...] = tuple(IDS)
    per: tuple[str, ...] = ("epoch", "exposure")
    lanes: int = 64
    rounds: int = 7
    seconds: float = 1.0
    """How long a round is, about."""
    seed: int = 0
    out: Path = Path("results/adapters/gymnasium-vector.json")


def main(options: Options) -> None:
    rows = []
    for id in options.ids:
        for per in options.per:
            rows.append({"id": id, "per": per, **compare(options, id, per)})
            row = rows[-1]
            print(
                f"{id} per {per}: {row['vector']['median']:,.0f} steps/s,"
                f" SyncVectorEnv {row['sync']['median']:,.0f}, × {row['times']:.0f};"
                f" one alone {row['single']['median']:,.0f}",
                flush=True,
            )
    record = {
        "lanes": options.lanes,
        "rounds": options.rounds,
        "seed": options.seed,
        "steps_per_second": rows,
        **made(),
        "packages": {name: version(name) for name in ("gymnasium", "numpy", "jaxlib")},
    }
    write_record(options.out, record)


def compare(options: Options, id: str, per: Any) -> dict[str, Any]:
    """Measure steps per second of the vector environment, of Gymnasium's, and of one alone."""
    arguments: dict[str, Any] = {"per": per, "last_step": True}

    def one() -> Any:
        return ReinstateEnv(IDS[id], **arguments)

    vectors = {
        "vector": ReinstateVectorEnv(IDS[id], options.lanes, **arguments),
        "sync": SyncVectorEnv([one] * options.lanes, autoreset_mode="SameStep"),
    }
    players = {name: player(each, options.seed, options.lanes) for name, each in vectors.items()}
    speeds = take_turns({**players, "single": player(one(), options.seed)}, options)
    found = {n: {"median": float(np.median(s)), "rounds": s} for n, s in speeds.items()}
    times = float(np.median(np.divide(speeds["vector"], speeds["sync"])))
    return {**found, "times": times}


def player(envs: Any, seed: int, lanes: int = 0) -> Callable[[], int]:
    """Return a function that takes one step in every lane and tells how many that were."""
    space = envs.single_action_space if lanes else envs.action_space
    actions = np.random.default_rng(seed)
    envs.reset(seed=seed)

    def step() -> int:
        _, _, terminated, _, _ = envs.step(actions.integers(space.n, size=lanes or None))
        if not lanes and terminated:
            envs.reset()
        return lanes or 1

    return step


def take_turns(players: dict[str, Callable[[], int]], options: Options) -> dict[str, list[float]]:
    """Play rounds in turn after one that does not count; return each one's steps per second."""
    speeds: dict[str, list[float]] = {name: [] for name in players}
    for round in range(options.rounds + 1):
        for name, step in players.items():
            steps, began = 0, time.perf_counter()
            while time.perf_counter() - began < options.seconds:
                steps += step()
            if round:
                speeds[name].append(steps / (time.perf_counter() - began))
    return speeds


if __name__ == "__main__":
    print(f"Gymnasium {gymnasium.__version__}")
    main(tyro.cli(Options, description=__doc__))
