"""What a memory of drawings finds under each policy.

    python benchmarks/recall.py

No agent is trained: contexts of whole epochs are stored and queried, one after the other.
Compositional bandits are the case in point, where what is found is wrong more often the more
classes there are.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jax import Array

from measuring import made, write_record
from reinstate.memory import Consolidating
from reinstate.runs.experiment import find_experiment
from reinstate.tasks.base import World

REACHES = (0.2, 0.3, 0.4, 0.5)
POLICIES: dict[str, dict[str, Any]] = {
    "a slot for each (the paper)": {"merge": "none"},
    "merged, key replaced": {"merge": "replace"},
    "merged, mean of keys": {"merge": "mean"},
    "newest within reach": {"merge": "none", "recall": "newest"},
}


@dataclass(frozen=True)
class Options:
    epochs: int = 4
    """Epochs of each world in which memories are tried."""
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
    write_record(options.out, {**made(), "policies": found})


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


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
