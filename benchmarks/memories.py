"""What memories cost: reads and writes by entries and dimensions, one query or many at once.

    python benchmarks/memories.py --record results/benchmarks/memories-cpu.json

Reading a context and writing under it, as every episode does, is timed inside a compiled loop, with
contents that are given up; so is writing alone. Beside ours runs a plain dictionary that computes
all norms at every read, picks k neighbours in k passes, and compares a new key with every other.
Ways take turns, so that a busy moment hits them all. Reports the best and the median: on a shared
machine the best is the machine's speed, and the gap between the two shows how busy it was.

Many queries at once are compared with a product of large matrices. What an H200 should need is
computed from bytes and operations, and was not measured.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import tyro
from jax import Array

from reinstate.devices import describe
from reinstate.files import write_document
from reinstate.memory import DND, Contents, search
from reinstate.runs.provenance import provenance

PROGRAM = "python benchmarks/memories.py"
VALUE_SIZE = 50  # the paper's cell states
SQUARE = 2048  # of the matrices whose product shows how fast the machine is
LONG = 10.0  # seconds after which a measurement is not repeated

# Assumed of an H200: bytes and products per second, dense, and how much of them a program reaches.
H200 = {"bytes": 4.8e12, "tensorfloat32": 494e12, "bfloat16": 989e12, "reached": 0.6}


@dataclass(frozen=True)
class Options:
    entries: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    sizes: tuple[int, ...] = (10, 128, 1024)
    queries: int = 1024
    many_size: int = 128
    """Dimensions at which many queries are asked at once, and the plain dictionary is timed."""
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
                show(rows[-1])
    document: dict[str, Any] = {
        "command": f"{PROGRAM} --queries {options.queries} --k {options.k}"
        f" --repeats {options.repeats}",
        **provenance(),
        "device": describe(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "products_per_second": round(max(row.get("products_per_second", 0) for row in rows)),
        "queries": options.queries,
        "k": options.k,
        "rows": rows,
        "expected": [*expected(options)],
    }
    for each in document["expected"]:
        print(each)
    if options.record:
        write_document(options.record, document)


def measured(options: Options, entries: int, size: int) -> dict[str, Any]:
    """Return the seconds of an episode, a write, and many reads at once, in a full memory."""
    compared = size == options.many_size
    k = options.k
    ways = {
        "episode": looped(DND(entries), size),
        "episode_k": looped(DND(entries, k), size),
        "write": looped(DND(entries), size, reads=False),
    }
    if compared:
        ways["plain_episode"] = looped(Plain(entries), size)
        ways["plain_episode_k"] = looped(Plain(entries, k), size)
        ways["plain_write"] = looped(Plain(entries), size, reads=False)
        ways["many"] = many(DND(entries, k), options, entries, size)
        ways["product"] = product()
    seconds = in_turns(ways, options.repeats)
    row: dict[str, Any] = {"entries": entries, "size": size}
    row |= {name: rounded(found) for name, found in seconds.items() if name != "product"}
    if compared:
        rate = 2 * SQUARE**3 / min(seconds["product"])
        operations = 2 * entries * size * options.queries
        row["products_per_second"] = round(rate)
        row["share_of_peak"] = round(operations / min(seconds["many"]) / rate, 3)
    return row


def rounded(seconds: list[float]) -> dict[str, float]:
    found = {"best": min(seconds), "median": statistics.median(seconds)}
    return {name: float(f"{each:.4g}") for name, each in found.items()}


def filled(dnd: DND, size: int) -> Contents:
    keys = jax.random.normal(jax.random.key(0), (dnd.capacity, size))
    return dnd.holding(keys, jnp.zeros((dnd.capacity, VALUE_SIZE)))


def looped(dnd: DND, size: int, reads: bool = True) -> Callable[[], float]:
    """Make a function that reads and writes in a loop, and returns the seconds of each turn."""
    turns = max(2, min(256, 2_000_000 // dnd.capacity))

    def once(contents: Contents, key: Array) -> tuple[Contents, Array]:
        if not reads:
            return dnd.write(contents, key, jnp.ones(VALUE_SIZE)), jnp.zeros(())
        found, contents = dnd.read(contents, key)
        return dnd.write(contents, key, jnp.tanh(found.value)), found.distances[0]

    run = jax.jit(partial(jax.lax.scan, once), donate_argnums=0)
    keys = jax.random.normal(jax.random.key(1), (turns, size))
    state = [jax.jit(partial(filled, dnd, size))()]

    def timed() -> float:
        began = time.perf_counter()
        state[0], found = run(state[0], keys)
        jax.block_until_ready(found)
        jax.block_until_ready(state[0])
        return (time.perf_counter() - began) / turns

    return timed


def many(dnd: DND, options: Options, entries: int, size: int) -> Callable[[], float]:
    run = jax.jit(dnd.read_many)
    queries = jax.random.normal(jax.random.key(1), (options.queries, size))
    contents = jax.jit(partial(filled, dnd, size))()

    def timed() -> float:
        began = time.perf_counter()
        jax.block_until_ready(run(contents, queries)[0])
        return time.perf_counter() - began

    return timed


def product() -> Callable[[], float]:
    """Time a product of square matrices in full precision."""
    run = jax.jit(partial(jnp.matmul, precision=search.FULL))
    matrix = jnp.ones((SQUARE, SQUARE))

    def timed() -> float:
        began = time.perf_counter()
        jax.block_until_ready(run(matrix, matrix))
        return time.perf_counter() - began

    return timed


def in_turns(ways: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each way, turn by turn, after one that compiles."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            if sum(seconds[name]) < LONG:
                found = way()
                seconds[name] += [found] if turn else []
    return seconds


def expected(options: Options) -> Iterator[dict[str, Any]]:
    """Count what an H200 has to move and multiply for many queries at once.

    The table passes once, and products are written and read again once, unless a block of them
    stays in the cache; what is looked at again is read at random, but in runs of whole groups.
    """
    entries, size = max(options.entries), options.many_size
    sizes = search._sizes(entries, options.queries, None)
    groups = 2 * options.k + search.SPARE
    again = 4 * options.queries * groups * sizes.group * size
    bytes_moved = {
        "table": 4 * entries * size,
        "products": 2 * 4 * entries * options.queries,
        "again": again,
    }
    operations = 2 * entries * size * options.queries
    for precision in ("tensorfloat32", "bfloat16"):
        moving = sum(bytes_moved.values()) / (H200["bytes"] * H200["reached"])
        multiplying = operations / (H200[precision] * H200["reached"])
        yield {
            "device": "H200",
            "precision": precision,
            "entries": entries,
            "size": size,
            "queries": options.queries,
            "operations": operations,
            **bytes_moved,
            "multiplying": float(f"{multiplying:.3g}"),
            "moving": float(f"{moving:.3g}"),
            "seconds": float(f"{multiplying + moving:.3g}"),
        }


def show(row: Mapping[str, Any]) -> None:
    times = {name: found for name, found in row.items() if isinstance(found, dict)}
    parts = [f"{name} {1e6 * found['best']:,.1f} µs" for name, found in times.items()]
    print(f"{row['entries']:>9,} × {row['size']:<5}", ", ".join(parts), flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
