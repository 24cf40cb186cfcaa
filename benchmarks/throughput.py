"""Training throughput: steps per second of agents, without compilation, one beside the other.

    python benchmarks/throughput.py --lanes 32 --seeds 4            # the quick preset, a CPU
    python benchmarks/throughput.py --lanes 2048 --seeds 3 --unroll 10  # the paper preset, a GPU
    python benchmarks/throughput.py --agents epl2rl epl2rl-recognition --lanes 16 --seeds 8

Agents take turns, an epoch each, so that a busy moment hits them all. Reports the best and the
median of several epochs: on a shared machine the best is the machine's speed, and the gap between
the two shows how busy it was.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from reinstate.devices import describe, divide_cpu, over_seeds
from reinstate.experiments import EXPERIMENTS


@dataclass(frozen=True)
class Options:
    experiment: str = "barcode-bandits"
    agents: tuple[str, ...] = ("epl2rl",)
    lanes: int = 32
    seeds: int = 4
    unroll: int = 1
    epochs: int = 10


def main(options: Options) -> None:
    divide_cpu()
    print(f"{options.experiment}, {options.lanes} lanes × {options.seeds} seeds, on {describe()}")
    learners = {agent: make(options, agent) for agent in options.agents}
    seconds: dict[str, list[float]] = {agent: [] for agent in learners}
    states = {agent: state for agent, (_, _, state) in learners.items()}
    for _ in range(options.epochs):
        for agent, (_, train_epoch, _) in learners.items():
            began = time.perf_counter()
            states[agent], _ = jax.block_until_ready(train_epoch(states[agent]))
            seconds[agent].append(time.perf_counter() - began)
    for agent, (steps, *_) in learners.items():
        best, median = (steps / float(f(seconds[agent])) for f in (np.min, np.median))
        print(f"{agent}: best {best:,.0f} steps/s, median {median:,.0f}")


def make(options: Options, agent: str) -> tuple[int, Any, Any]:
    """Compile an agent's epoch: the steps that it takes, the program, and where it starts."""
    settings = EXPERIMENTS[options.experiment].preset("quick")
    a2c = replace(settings.learner, lanes=options.lanes, unroll=options.unroll)
    learner = replace(settings, learner=a2c).make_learner(agent)
    state = over_seeds(learner.init, options.seeds)(jnp.arange(options.seeds))
    began = time.perf_counter()
    train_epoch = over_seeds(learner.train_epoch, options.seeds).lower(state).compile()
    print(f"{agent}: compiled in {time.perf_counter() - began:.1f} s")
    return learner.steps_per_epoch * options.seeds, train_epoch, state


if __name__ == "__main__":
    main(tyro.cli(Options))
