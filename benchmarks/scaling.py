"""How training grows with devices: weak and strong scaling, what devices tell each other, a model.

    python benchmarks/scaling.py --record results/benchmarks/scaling.json

*Seeds*: each device has a seed of its own, and says nothing to the others. *Weak*: the lanes of one
seed are divided, and each device has as many as one has alone. *Strong*: as many lanes as one has
alone are divided among all. Ways take turns, an epoch each, so that a busy moment hits them all.

Efficiency is how many steps per second n devices take, over n times what one takes; devices that
share a core count as one. A device has one thread here: XLA would otherwise lend a single device
the cores of the others, and n devices would be compared with more than one. What devices tell each
other is counted in the compiled program: its all-reduces, and their bytes, in one update. From
these follows the time of an update,

    t(n) = t₁(lanes / n) · max(1, n / cores) + all_reduces · 2 log₂ n · latency
           + 2 (n − 1) / n · bytes / bandwidth

which is compared with what was measured here, and then says what to expect of machines that are not
here. t₁(lanes) was measured on one device; latency and bandwidth are assumptions, but for those of
this machine, which are measured with all-reduces alone.
"""

import math
import os
import re
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jax.sharding import PartitionSpec

from reinstate.devices import SEEDS, Spread, describe, divide_cpu, over_mesh
from reinstate.files import write_document
from reinstate.learner import LANES
from reinstate.runs.experiment import find_experiment
from reinstate.runs.provenance import provenance

PROGRAM = "python benchmarks/scaling.py"
WIDTHS = {"f32": 4, "s32": 4, "u32": 4, "f64": 8, "pred": 1}  # bytes of a number
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"
REPEATED = 300  # all-reduces in one measurement of them
SIZES = (1, 250_000)  # floats in an all-reduce: its latency, its bandwidth

# Steps per second of one H200, by the lanes of all its seeds: barcode bandits, epL2RL, 50 units.
H200 = {6_144: 71e6, 24_576: 81e6, 98_304: 123e6, 393_216: 165e6}


class Network(NamedTuple):
    """What connects devices."""

    bandwidth: float  # bytes per second that a device sends
    latency: float  # seconds of a message


# Assumed: NVLink 4 within one machine; 100 Gb/s for each GPU between machines, without RDMA.
NETWORKS = {"NVLink": Network(450e9, 3e-6), "Ethernet": Network(12.5e9, 30e-6)}


@dataclass(frozen=True)
class Options:
    experiment: str = "barcode-bandits"
    agent: str = "epl2rl"
    lanes: int = 64  # that one device has alone
    devices: tuple[int, ...] = (1, 2, 4, 8)
    epochs: int = 9
    record: Path | None = None
    """Write what was found to this JSON file."""


class Case(NamedTuple):
    """One way to divide work."""

    kind: str
    devices: int
    lanes: int  # of a seed
    seeds: int = 1


class Program(NamedTuple):
    run: Any
    state: Any
    steps: int  # per epoch
    updates: int  # per epoch


def main(options: Options) -> None:
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}"
    divide_cpu(max(options.devices))
    programs = {case: compiled(options, case) for case in cases(options)}
    seconds = measured(programs, options.epochs)
    most = max(options.devices)
    told = all_reduces(programs[Case("strong", most, options.lanes)].run.as_text())
    here = {n: network(n) for n in options.devices if n > 1}
    document = {
        "command": f"{PROGRAM} --lanes {options.lanes} --epochs {options.epochs}",
        **provenance(),
        "task": options.experiment,
        "agent": options.agent,
        "device": describe(),
        "cores": cores(),
        "rows": [*rows(programs, seconds)],
        "per_update": told,
        "network": {n: found._asdict() for n, found in here.items()},
        "model": [*checked(programs, seconds, told, here)],
        "expected": [*expected(told)],
    }
    show(document)
    if options.record:
        write_document(options.record, document)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cases(options: Options) -> Iterator[Case]:
    for n in options.devices:
        yield Case("seeds", n, options.lanes, seeds=n)
        yield Case("weak", n, options.lanes * n)
        yield Case("strong", n, options.lanes)
        yield Case("alone", 1, options.lanes // n)  # what each device has to do in "strong"


def compiled(options: Options, case: Case) -> Program:
    """Compile an epoch, with its lanes or seeds divided among devices."""
    settings = find_experiment(options.experiment).preset("quick")
    a2c = replace(settings.learner, lanes=case.lanes)
    learner = replace(settings, learner=a2c).make_learner(options.agent)
    spread = Spread(case.devices, "seeds" if case.kind == "seeds" else "lanes")
    division = spread.divide(case.seeds, case.lanes)
    over = partial(over_mesh, num_seeds=case.seeds, division=division, mesh=spread.mesh(division))
    state = over(learner.init)(jnp.arange(case.seeds))
    train_epoch = partial(learner.train_epoch, over_lanes=division.over_lanes)
    run = over(train_epoch).lower(state).compile()
    return Program(run, state, learner.steps_per_epoch * case.seeds, learner.segments)


def measured(programs: Mapping[Case, Program], epochs: int) -> dict[Case, list[float]]:
    """Return the seconds of epochs of each, after one that warms up."""
    seconds: dict[Case, list[float]] = {case: [] for case in programs}
    for _ in range(epochs + 1):
        for case, program in programs.items():
            began = time.perf_counter()
            jax.block_until_ready(program.run(program.state))
            seconds[case].append(time.perf_counter() - began)
    return {case: found[1:] for case, found in seconds.items()}


def rows(
    programs: Mapping[Case, Program], seconds: Mapping[Case, list[float]]
) -> Iterator[dict[str, Any]]:
    """Compare n devices with one, epoch by epoch: the median of the ratios."""
    for case, program in programs.items():
        if case.kind == "alone":
            continue
        one = next(each for each in programs if each.kind == case.kind and each.devices == 1)
        gain = program.steps / programs[one].steps
        pairs = zip(seconds[one], seconds[case], strict=True)
        speedup = sorted(gain * before / after for before, after in pairs)
        usable = min(case.devices, cores())
        yield {
            **case._asdict(),
            "steps_per_second": round(program.steps / statistics.median(seconds[case])),
            "speedup": round(statistics.median(speedup), 3),
            "efficiency": round(statistics.median(speedup) / usable, 3),
            "quartiles": [round(float(q) / usable, 3) for q in np.quantile(speedup, (0.25, 0.75))],
        }


def all_reduces(program: str) -> dict[str, int]:
    """Count the all-reduces of an update, and their bytes, in the text of a compiled epoch.

    An epoch is one loop over updates; what lies outside of loops happens once and is not counted.
    """
    operations = re.findall(r"= (\([^)]*\)|\S+) all-reduce(?:-start)?\(", program)
    shapes = [shape for each in operations for shape in re.findall(r"(\w+)\[([\d,]*)\]", each)]
    sizes = [
        WIDTHS[kind] * math.prod(map(int, filter(None, dims.split(",")))) for kind, dims in shapes
    ]
    return {"all_reduces": len(operations), "bytes": sum(sizes)}


def network(devices: int) -> Network:
    """Measure all-reduces among devices of this machine: of one number, and of many."""
    spread = Spread(devices, "lanes")
    mesh = spread.mesh(spread.divide(1, devices))

    def repeated(values: jax.Array) -> jax.Array:
        def once(carry: jax.Array, _: None) -> tuple[jax.Array, None]:
            return jax.lax.pmean(carry, LANES), None

        return jax.lax.scan(once, values, None, REPEATED)[0]

    each = []
    spec = PartitionSpec(SEEDS)
    spread_out = jax.jit(
        jax.shard_map(repeated, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    )
    for size in SIZES:
        values = jnp.ones((1, size), jnp.float32)
        jax.block_until_ready(spread_out(values))
        found = []
        for _ in range(7):
            began = time.perf_counter()
            jax.block_until_ready(spread_out(values))
            found.append((time.perf_counter() - began) / REPEATED)
        each.append(statistics.median(found))
    small, large = each
    moved = 2 * (devices - 1) / devices * 4 * SIZES[1]
    return Network(moved / max(large - small, 1e-9), small / (2 * math.log2(devices)))


def talking(devices: int, told: Mapping[str, int], net: Network, seeds: int = 1) -> float:
    """Return the seconds that the all-reduces of an update take."""
    sent = 2 * (devices - 1) / devices * told["bytes"] * seeds / net.bandwidth
    return told["all_reduces"] * 2 * math.log2(devices) * net.latency + sent


def checked(
    programs: Mapping[Case, Program],
    seconds: Mapping[Case, list[float]],
    told: Mapping[str, int],
    here: Mapping[int, Network],
) -> Iterator[dict[str, Any]]:
    """Compare the model's update with the one measured, where one seed's lanes are divided."""
    for case, program in programs.items():
        if case.kind != "strong" or case.devices == 1:
            continue
        alone = Case("alone", 1, case.lanes // case.devices)
        update = {c: statistics.median(seconds[c]) / program.updates for c in (case, alone)}
        turns = max(1.0, case.devices / cores())
        modelled = update[alone] * turns + talking(case.devices, told, here[case.devices])
        yield {
            "devices": case.devices,
            "measured": round(update[case], 7),
            "modelled": round(modelled, 7),
            "off_by": round(modelled / update[case] - 1, 3),
        }


def expected(told: Mapping[str, int], steps: int = 10, seeds: int = 3) -> Iterator[dict[str, Any]]:
    """Model machines of many GPUs, each as fast as one H200 is at that many lanes."""
    for name, net in NETWORKS.items():
        for devices in (8, 64):
            for lanes, rate in H200.items():
                alone = steps * lanes / rate  # seconds of an update of one device
                together = alone + talking(devices, told, net, seeds)
                yield {
                    "network": name,
                    "devices": devices,
                    "lanes_per_device": lanes,
                    "update": round(together, 7),
                    "steps_per_second": round(steps * lanes * devices / together),
                    "efficiency": round(alone / together, 3),
                }


def show(document: Mapping[str, Any]) -> None:
    for each in document["rows"]:
        print(
            f"{each['kind']:7} {each['devices']} devices: {each['steps_per_second']:>9,} steps/s,"
            f" × {each['speedup']:.2f}, efficiency {each['efficiency']:.0%} {each['quartiles']}"
        )
    told = document["per_update"]
    print(f"an update: {told['all_reduces']} all-reduces, {told['bytes']:,} bytes")
    for each in document["model"]:
        print(
            f"{each['devices']} devices: an update takes {each['measured'] * 1e3:.2f} ms,"
            f" modelled {each['modelled'] * 1e3:.2f} ms ({each['off_by']:+.0%})"
        )
    for each in document["expected"]:
        where = (
            f"{each['devices']:2} GPUs, {each['network']:8} {each['lanes_per_device']:>7,} lanes"
        )
        rate = each["steps_per_second"] / 1e6
        print(f"{where} each: {rate:,.0f} M steps/s, efficiency {each['efficiency']:.0%}")


if __name__ == "__main__":
    main(tyro.cli(Options))
