"""How many lanes an agent's gradient takes: its noise against its signal.

    python benchmarks/gradient_noise.py --record results/multiverse/gradient-noise.json

The policy's gradient of an epoch is taken in single lanes, with frozen weights. With signal G, its
mean over lanes, and Σ, its covariance from lane to lane, tr(Σ) / |G|² is the number of lanes at
which noise and signal are equal (the "simple noise scale" of McCandlish et al. 2018). It is
measured before training and after some epochs of the quick preset, whose critic then knows what to
expect. If noise decides which agents stay at chance, those are the ones that need many lanes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro
from jax import Array

from measuring import made, rounded, write_record
from reinstate.learner import Learner, TrainState
from reinstate.runs.experiment import find_experiment
from reinstate.settings import Settings, changed

AGENTS = {
    "barcode-bandits": {"": ("l2rl", "epl2rl", "epl2rl-input-4", "epl2rl-input")},
    "omniglot-bandits": {
        "": ("l2rl", "l2rl-context"),
        "task.scale=4": ("l2rl-context",),
        "task.scale=11.3": ("l2rl-context",),
    },
}
NO_OTHER_LOSS = {"learner.value-cost": 0.0, "learner.entropy-cost": 0.0}


@dataclass(frozen=True)
class Options:
    lanes: int = 256
    """Lanes in which a gradient is taken."""
    seeds: int = 2
    after: tuple[int, ...] = (0, 2)
    """Epochs of training after which it is taken."""
    record: Path | None = None
    """Write what was found to this JSON file."""


class Summed(NamedTuple):
    """Gradients of an epoch's updates, none of which is made."""

    gradient: Any


def summing() -> optax.GradientTransformation:
    """Add gradients up, and leave the weights as they are."""

    def update(grads: Any, state: Summed, params: Any = None) -> tuple[Any, Summed]:
        zeros = jax.tree.map(jnp.zeros_like, grads)
        return zeros, Summed(jax.tree.map(jnp.add, state.gradient, grads))

    return optax.GradientTransformation(
        lambda params: Summed(jax.tree.map(jnp.zeros_like, params)), update
    )


def gradients(learner: Learner, lanes: int) -> Callable[[Any], Array]:
    """Make a function of weights: the gradient of an epoch in each lane, (lanes, weights)."""
    learner.optimizer = summing()

    def of_lane(params: Any, key: Array) -> Array:
        start = TrainState(params, learner.optimizer.init(params), key, jnp.zeros((), jnp.int32))
        state, _ = learner.train_epoch(start)
        leaves = jax.tree.leaves(state.opt_state.gradient)
        return jnp.concatenate([leaf.ravel() for leaf in leaves])

    keys = jax.random.split(jax.random.key(1), lanes)
    return jax.jit(lambda params: jax.vmap(partial(of_lane, params))(keys))


def noise_scale(found: Any) -> dict[str, float | None]:
    """Return |G|², without the bias of its own noise, tr(Σ), and their ratio, if it is known."""
    found = np.asarray(found, float)
    noise = float(found.var(axis=0, ddof=1).sum())
    signal = float((found.mean(axis=0) ** 2).sum()) - noise / len(found)
    ratio = rounded(noise / signal) if signal > 0 else None
    return {"signal": rounded(signal), "noise": rounded(noise), "lanes": ratio}


def measure(settings: Settings, agent: str, options: Options) -> list[dict[str, Any]]:
    """Measure one agent's gradients, before training and later."""
    alone = changed(settings, {**NO_OTHER_LOSS, "learner.entropy-cost-end": 0.0})
    alone = replace(alone, learner=replace(alone.learner, lanes=1))
    trained, single = settings.make_learner(agent), alone.make_learner(agent)
    step, take = jax.jit(trained.train_epoch), gradients(single, options.lanes)
    rows = []
    for seed in range(options.seeds):
        state, done = trained.init(jnp.array(seed)), 0
        for epochs in options.after:
            while done < epochs:
                (state, _), done = step(state), done + 1
            found = noise_scale(take(state.params))
            rows.append({"agent": agent, "seed": seed, "epochs": epochs, **found})
    return rows


def main(options: Options) -> None:
    rows = []
    for name, choices in AGENTS.items():
        for choice, agents in choices.items():
            option, _, value = choice.partition("=")
            settings = changed(
                find_experiment(name).preset("quick"), {option: float(value)} if option else {}
            )
            for agent in agents:
                for row in measure(settings, agent, options):
                    rows.append({"experiment": name, "choice": choice, **row})
                    print(rows[-1], flush=True)
    if options.record:
        write_record(options.record, {**made(), "rows": rows})


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
