"""What a memory of drawings finds under each policy, and what that leaves for an ideal player.

    python benchmarks/recall.py

No agent is trained: contexts of whole epochs are stored and asked for, one after the other, and the
rest is arithmetic. Compositional bandits are the case in point, where what is found is wrong more
often the more classes there are.
"""

import shlex
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jax import Array

from reinstate import devices
from reinstate.files import write_json
from reinstate.memory import Consolidating
from reinstate.runs.experiment import find_experiment
from reinstate.runs.provenance import provenance
from reinstate.tasks.base import World

REACHES = (0.2, 0.3, 0.4, 0.5)
POLICIES: dict[str, dict[str, Any]] = {
    "a slot for each (the paper)": {"merge": "none"},
    "merged, key replaced": {"merge": "replace"},
    "merged, mean of keys": {"merge": "mean"},
    "newest within reach": {"merge": "none", "recall": "newest"},
}
RIGHT = 0.91  # of 400 classes: the paper's policy, below


@dataclass(frozen=True)
class Options:
    epochs: int = 4
    """Epochs of each world in which memories are tried."""
    played: int = 100
    """Epochs that an ideal player plays."""
    out: Path = Path("results/recognition/recall.json")


def main(options: Options) -> None:
    omniglot = find_experiment("omniglot-bandits").preset("paper").task
    pairs = find_experiment("compositional-bandits").preset("paper").task
    worlds = {
        "10 classes, 10 exposures": omniglot,
        "20 classes, 5 exposures": replace(pairs, exchange=0.0),
        "400 classes, 5 exposures": pairs.for_evaluation(),
    }
    found = {name: policies(world, options.epochs) for name, world in worlds.items()}
    document = {
        "command": shlex.join(["python", *sys.argv]),
        **provenance(),
        "device": devices.describe(),
        "policies": found,
        "observers": observers(pairs.for_evaluation(), options.played),
    }
    write_json(options.out, document)


def policies(world: World, epochs: int) -> list[dict[str, Any]]:
    """Score every policy at every reach; the paper's has none."""
    rows = []
    for name, settings in POLICIES.items():
        for reach in REACHES if name != next(iter(POLICIES)) else (0.0,):
            capacity = world.episodes_per_epoch * world.writes_per_episode
            memory = Consolidating(capacity=capacity, reach=reach, **settings)
            rows.append({"policy": name, "reach": reach, **scores(world, memory, epochs)})
            print(rows[-1])
    return rows


def scores(world: World, memory: Consolidating, epochs: int) -> dict[str, float]:
    """Say how often a known context finds its own class, and the newest state of it."""
    run = jax.jit(jax.vmap(partial(one_epoch, world, memory)))
    found = run(jax.random.split(jax.random.key(0), epochs))
    known, right, newest, wrong, filled = map(np.asarray, found)
    return {
        "right": float(right[known].mean()),
        "newest": float(newest[known].mean()),
        "written_over_another": float(wrong.mean()),
        "entries": float(filled.mean()),
    }


def one_epoch(world: World, memory: Consolidating, key: Array) -> tuple[Array, ...]:
    """Ask for every context of an epoch, and store it; a value says what it was stored of."""
    tasks = world.sample_epoch(key)
    contexts = jax.vmap(world.contexts)(tasks)
    contexts = contexts.reshape(-1, contexts.shape[-1])
    names = jax.vmap(world.context_ids)(tasks).ravel()

    def step(carry: tuple[Any, Array], item: tuple[Array, Array]) -> Any:
        (contents, last), (context, name) = carry, item
        found, contents = memory.read(contents, context)
        right = (found.value[0] == name) & (found.written[0] > 0)
        before = contents.values[:, 0]
        contents = memory.write(contents, context, name[None].astype(jnp.float32))
        slot = jnp.argmax(contents.written)
        wrong = (contents.merged[slot] > 1) & (before[slot] != name)
        newest = right & (found.written[0] == last[name])
        scored = last[name] > 0, right, newest, wrong
        return (contents, last.at[name].set(contents.writes)), scored

    start = memory.empty(contexts.shape[-1], 1), jnp.zeros(names.shape[0], jnp.int32)
    (contents, _), found = jax.lax.scan(step, start, (contexts, names))
    return *found, memory.filled(contents)


def observers(world: Any, epochs: int) -> list[dict[str, Any]]:
    """Play compositional bandits ideally, given what a memory can tell."""
    told = {
        "both stimuli at once, always rightly": {"right": 1.0, "both": True},
        "one stimulus per trial, always rightly": {"right": 1.0},
        "as often right as the memory, new stimuli known to be new": {"right": RIGHT},
        "and three in ten new ones taken for known": {"right": RIGHT, "taken": 0.3},
        "and every new one taken for known (the paper's agent)": {"right": RIGHT, "taken": 1.0},
    }
    keys = jax.random.split(jax.random.key(0), epochs)
    exposures = jax.jit(jax.vmap(lambda key: world.sample_epoch(key).exposures))(keys)
    known = np.asarray(exposures).reshape(-1, 2) > 0  # (episodes, 2)
    return [{"told": name, "reward": ideal(world, known, **how)} for name, how in told.items()]


def ideal(
    world: Any, known: np.ndarray, right: float, taken: float = 0.0, both: bool = False
) -> float:
    """Return the mean reward of a Bayesian player who asks for one stimulus per trial.

    What comes back of a known stimulus is its own with P = right, otherwise that of a class of
    either kind; of a new one, taken for known, it is of either kind. The player knows how often
    that happens, adds up log odds that the first stimulus is the high one, and pulls what is
    likelier, which is all that there is to do: either pull tells as much.
    """
    rng, episodes = np.random.default_rng(0), len(known)
    trusted = right + (1 - right) / 2
    claims = np.where(known, rng.random((episodes, 2)) < trusted, rng.random((episodes, 2)) < 0.5)
    speaks = known | (rng.random((episodes, 2)) < taken)
    weight = np.log(trusted / max(1 - trusted, 1e-6))
    evidence = np.where(speaks, np.where(claims, weight, -weight), 0.0)
    odds = evidence.sum(axis=1) if both else np.zeros(episodes)
    asked = np.full((episodes, 2), both)
    rows, reward = np.arange(episodes), np.zeros(episodes)
    per_pull = np.log(world.p_high / world.p_low)
    for _ in range(world.pulls):
        query = rng.integers(0, 2, episodes)
        odds = odds + np.where(asked[rows, query], 0.0, evidence[rows, query])
        asked[rows, query] = True
        high = np.where(odds == 0, rng.random(episodes) < 0.5, odds > 0)
        pays = np.where(high, world.p_high, world.p_low)
        reward += pays
        won = rng.random(episodes) < pays
        odds = odds + np.where(won == high, per_pull, -per_pull)
    return float(reward.mean())


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
