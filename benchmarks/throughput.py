"""Training throughput: steps per second of one agent, without compilation.

    python benchmarks/throughput.py --lanes 32 --seeds 4            # the quick preset, a CPU
    python benchmarks/throughput.py --lanes 2048 --seeds 3 --unroll 10  # the paper preset, a GPU

Reports the best and the median of several epochs: on a shared machine the best is the machine's
speed, and the gap between the two shows how busy it was.
"""

import time
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from reinstate.devices import describe, over_seeds, use_all_cores
from reinstate.experiments import EXPERIMENTS


@dataclass(frozen=True)
class Options:
    experiment: str = "barcode-bandits"
    agent: str = "epl2rl"
    lanes: int = 32
    seeds: int = 4
    unroll: int = 1
    epochs: int = 10


def main(options: Options) -> None:
    use_all_cores()
    settings = EXPERIMENTS[options.experiment].preset("quick")
    a2c = replace(settings.learner, lanes=options.lanes, unroll=options.unroll)
    learner = replace(settings, learner=a2c).make_learner(options.agent)
    state = over_seeds(learner.init, options.seeds)(jnp.arange(options.seeds))
    began = time.perf_counter()
    train_epoch = over_seeds(learner.train_epoch, options.seeds).lower(state).compile()
    compile_seconds = time.perf_counter() - began
    seconds = []
    for _ in range(options.epochs):
        began = time.perf_counter()
        state, _ = jax.block_until_ready(train_epoch(state))
        seconds.append(time.perf_counter() - began)
    steps = learner.steps_per_epoch * options.seeds
    print(f"{options.agent}, {options.lanes} lanes × {options.seeds} seeds, on {describe()}")
    print(f"compile {compile_seconds:.1f} s")
    print(f"best   {steps / min(seconds):,.0f} steps/s")
    print(f"median {steps / float(np.median(seconds)):,.0f} steps/s")


if __name__ == "__main__":
    main(tyro.cli(Options))
