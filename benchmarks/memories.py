"""What memories cost: reads and writes by entries and dimensions.

    python benchmarks/memories.py --record results/benchmarks/memories-cpu.json

Reading a context and writing under it, as every episode does, is timed inside a compiled loop, with
contents that are given up. A plain dictionary, to compare with, computes
all norms at every read, picks k neighbours in k passes, and compares a new key with every other.
Ways take turns, so that a busy moment hits them all. Reports the best and the median: on a shared
machine the best is the machine's speed, and the gap between the two shows how busy it was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import tyro
from jax import Array

from measuring import made, rounded, take_turns, write_record
from reinstate.memory import DND, Contents, search

VALUE_SIZE = 50  # the paper's cell states


@dataclass(frozen=True)
class Options:
    entries: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    sizes: tuple[int, ...] = (10, 128, 1024)
    compared_size: int = 128
    """Dimensions at which the plain dictionary is timed."""
    k: int = 10
    repeats: int = 9
    most: float = 0.6e9
    """Bytes of the largest table of keys; larger ones are left out."""
    record: Path | None = None
    """Write what was found to this JSON file."""


class Plain(DND):
    """A dictionary that remembers nothing about its keys."""

    def _slot(self, contents: Contents, key: Array) -> tuple[Array, Array]:
        same = jnp.all(contents.keys == key[None, :], axis=1) & (contents.written > 0)
        slot = jnp.argmin(jnp.where(same, -1, contents.used))
        return slot, same[slot]

    def _nearest(self, contents: Contents, query: Array) -> Array:
        def pick(ranks: Array, _: None) -> tuple[Array, Array]:
            slot = jnp.argmax(jnp.where(ranks == jnp.min(ranks), contents.written, -1))
            return ranks.at[slot].set(jnp.inf), slot

        norms = search.norm(contents.keys)
        distances = search.distances_to(contents.keys, norms, query, self.distance)
        ranks = search.ranked(distances, contents.written)
        return jax.lax.scan(pick, ranks, None, length=self.k)[1]


def main(options: Options) -> None:
    rows = []
    for entries in options.entries:
        for size in options.sizes:
            if 4.0 * entries * size <= options.most:
                rows.append(measured(options, entries, size))
                print(rows[-1], flush=True)
    write_record(options.record, {**made(), "k": options.k, "rows": rows})


def measured(options: Options, entries: int, size: int) -> dict[str, Any]:
    """Return the seconds of an episode's read and write, in a full memory."""
    k = options.k
    turns = max(2, min(256, 2_000_000 // entries))
    ways = {
        "episode": looped(DND(entries), size, turns),
        "episode_k": looped(DND(entries, k), size, turns),
    }
    if size == options.compared_size:
        ways["plain_episode"] = looped(Plain(entries), size, turns)
        ways["plain_episode_k"] = looped(Plain(entries, k), size, turns)
    seconds = take_turns(ways, options.repeats, patience=60.0)
    row: dict[str, Any] = {"entries": entries, "size": size}
    for name, found in seconds.items():
        times = {"best": min(found), "median": median(found)}
        row[name] = {what: rounded(each / turns) for what, each in times.items()}
    return row


def filled(dnd: DND, size: int) -> Contents:
    """Return a full memory, without the time that so many writes take."""
    keys = jax.random.normal(jax.random.key(0), (dnd.capacity, size))
    order = jnp.arange(1, dnd.capacity + 1, dtype=jnp.int32)
    return dnd.empty(size, VALUE_SIZE)._replace(
        keys=keys,
        norms=search.norm(keys),
        codes=jax.vmap(search.code, out_axes=1)(keys),
        written=order,
        used=order,
        merged=jnp.ones_like(order),
        writes=order[-1],
        clock=order[-1],
    )


def looped(dnd: DND, size: int, turns: int) -> Callable[[], Any]:
    """Make a function that reads and writes in a loop, in contents that are given up."""

    def once(contents: Contents, key: Array) -> tuple[Contents, Array]:
        found, contents = dnd.read(contents, key)
        return dnd.write(contents, key, jnp.tanh(found.value)), found.distances[0]

    run = jax.jit(partial(jax.lax.scan, once), donate_argnums=0)
    keys = jax.random.normal(jax.random.key(1), (turns, size))
    state = [jax.jit(partial(filled, dnd, size))()]

    def timed() -> Any:
        state[0], found = run(state[0], keys)
        return state[0], found

    return timed


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
