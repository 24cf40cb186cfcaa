"""Training with the backward kernel, compared with XLA alone.

    python benchmarks/kernel.py --record results/benchmarks/kernel.json

Needs an NVIDIA GPU. Each row is an experiment at its paper preset, or at other seeds and lanes; the
two programs take turns, an epoch of all seeds each. `gradient` is the distance between the two
gradients of one segment, played alike, over their length: products of TF32 leave about 1e-3.
"""

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro

from cases import Case, Program, case_of, training
from measuring import made, rates, ratio, take_turns, write_record
from reinstate import recompute
from reinstate.learner import Learner, a2c_loss
from reinstate.recompute import play_to_learn
from reinstate.rollout import start_lanes
from reinstate_paper import PAPER_EXPERIMENTS

AGENT = "epl2rl"


@dataclass(frozen=True)
class Options:
    experiments: tuple[str, ...] = PAPER_EXPERIMENTS
    sizes: tuple[str, ...] = ("3x8192",)  # seeds × lanes, of the first experiment
    repeats: int = 7
    record: Path | None = None
    """Write what was found to this JSON file."""


def main(options: Options) -> None:
    if not recompute.serves(50, jnp.float32):
        print("there is no kernel here: this needs an NVIDIA GPU and JAX's Triton", file=sys.stderr)
        sys.exit(2)
    cases = [case_of(name, AGENT, "paper") for name in options.experiments]
    for size in options.sizes:
        seeds, lanes = map(int, size.split("x"))
        settings = replace(cases[0].settings, seeds=seeds)
        settings = replace(settings, learner=replace(settings.learner, lanes=lanes))
        cases.append(cases[0]._replace(settings=settings))
    document: dict[str, Any] = {**made(), "rows": []}
    for case in cases:
        document["rows"].append(row(case, options.repeats))
        print(document["rows"][-1], flush=True)
        write_record(options.record, document)


def row(case: Case, repeats: int) -> dict[str, Any]:
    """Time both ways of training a case, and compare their gradients."""
    programs = {fused: training(with_kernel(case, fused)) for fused in (True, False)}
    seconds = take_turns(programs, repeats)
    ours, xla = ((float(programs[fused].steps), seconds[fused]) for fused in (True, False))
    return {
        "experiment": case.experiment,
        "agent": case.agent,
        "seeds": case.settings.seeds,
        "lanes": case.settings.learner.lanes,
        "kernel": {**rates(*ours), **compiling(programs[True])},
        "xla": {**rates(*xla), **compiling(programs[False])},
        "ratio": ratio(ours, xla),
        "gradient": distance(case),
    }


def compiling(program: Program) -> dict[str, Any]:
    """Tell how long a program took to compile, and what it holds in memory."""
    found = program.compiled
    return {"compile_seconds": round(found.trace + found.xla, 1), "bytes": found.memory}


def with_kernel(case: Case, fused: bool) -> Case:
    """Switch the kernel on or off."""
    learner = replace(case.settings.learner, fused=fused)
    return case._replace(settings=replace(case.settings, learner=learner))


def distance(case: Case) -> float:
    """Return how far the two gradients are apart, as a share of their length."""
    learner = case.settings.make_learner(case.agent)
    seed = np.random.default_rng().integers(10**9)
    ours, xla = jax.jit(partial(gradients, learner))(jnp.array(seed))
    apart = optax.tree.norm(jax.tree.map(jnp.subtract, ours, xla)) / optax.tree.norm(xla)
    return float(f"{apart:.2g}")


def gradients(learner: Learner, seed: jax.Array) -> list[Any]:
    """Return the gradient of one segment by the kernel, and by XLA: lanes play alike in both."""
    world, memory, lanes = learner.world, learner.memory, 256
    params = learner.init(seed).params
    task_key, play_key = jax.random.split(jax.random.key(seed))
    tasks = jax.vmap(world.sample_epoch, out_axes=1)(jax.random.split(task_key, lanes))
    tasks = jax.tree.map(lambda x: x[: max(2, learner.settings.episodes_per_update)], tasks)
    keys = jax.random.split(play_key, lanes)

    def loss(params: Any, fused: bool) -> Any:
        agent = learner.agent(params)
        start = start_lanes(world, agent, memory, lanes)
        _, played = play_to_learn(world, agent, memory, start, tasks, keys, fused=fused)
        return a2c_loss(played.steps, learner.rates, jnp.array(0.01))[0]

    return [eqx.filter_grad(partial(loss, fused=fused))(params) for fused in (True, False)]


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
