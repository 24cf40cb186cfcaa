"""Steps per second through Gymnasium: the vector environment and SyncVectorEnv, same lanes.

    python benchmarks/gymnasium_vector.py                           # every id, both granularities
    python benchmarks/gymnasium_vector.py --ids reinstate/WaterMaze-v0 --lanes 256

Both are warmed up, and take turns, so that a busy moment hits both. Random actions; the medians of
several rounds are recorded, all rounds beside them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from gymnasium.vector import SyncVectorEnv

from measuring import made, rates, ratio, take_turns, write_record
from reinstate.interop.gymnasium import IDS, ReinstateEnv, ReinstateVectorEnv


@dataclass(frozen=True)
class Options:
    ids: tuple[str, ...] = tuple(IDS)
    per: tuple[str, ...] = ("epoch", "exposure")
    lanes: int = 64
    rounds: int = 7
    steps: int = 200
    """Of each lane, in a round."""
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
    players = {name: player(options, each, options.lanes) for name, each in vectors.items()}
    seconds = take_turns({**players, "single": player(options, one())}, options.rounds)
    taken = {name: options.steps * (1 if name == "single" else options.lanes) for name in seconds}
    found = {name: rates(taken[name], spent) for name, spent in seconds.items()}
    pair = ((taken[name], seconds[name]) for name in ("vector", "sync"))
    return {**found, "times": ratio(*pair)["median"]}


def player(options: Options, envs: Any, lanes: int = 0) -> Callable[[], None]:
    """Return a function that plays a round at random."""
    space = envs.single_action_space if lanes else envs.action_space
    actions = np.random.default_rng(options.seed)
    envs.reset(seed=options.seed)

    def play() -> None:
        for _ in range(options.steps):
            _, _, terminated, _, _ = envs.step(actions.integers(space.n, size=lanes or None))
            if not lanes and terminated:
                envs.reset()

    return play


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
