"""How training grows with devices: weak and strong scaling, and what devices tell each other.

    python benchmarks/scaling.py --record results/benchmarks/scaling.json

*Seeds*: each device has a seed of its own, and says nothing to the others. *Weak*: the lanes of one
seed are divided, and each device has as many as one has alone. *Strong*: as many lanes as one has
alone are divided among all. Ways take turns, an epoch each, so that a busy moment hits them all.

Efficiency is how many steps per second n devices take, over n times what one takes; devices that
share a core count as one. A device has one thread here: XLA would otherwise lend a single device
the cores of the others, and n devices would be compared with more than one. What devices tell each
other is counted in the compiled program: its all-reduces, and their bytes, in one update.
"""

import math
import os
import re
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import tyro

from cases import Program
from measuring import compile_timed, cores, made, take_turns, write_record
from reinstate.devices import Spread, divide_cpu, over_mesh
from reinstate.runs.experiment import find_experiment

WIDTHS = {"f32": 4, "s32": 4, "u32": 4, "f64": 8, "pred": 1}  # bytes of a number
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


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


def main(options: Options) -> None:
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}"
    divide_cpu(max(options.devices))
    programs = {case: compiled(options, case) for case in cases(options)}
    seconds = take_turns(programs, options.epochs)
    most = max(options.devices)
    told = all_reduces(programs[Case("strong", most, options.lanes)].compiled.run.as_text())
    document = {
        **made(),
        "task": options.experiment,
        "agent": options.agent,
        "rows": [*rows(programs, seconds)],
        "per_update": told,
    }
    for each in [*document["rows"], document["per_update"]]:
        print(each)
    write_record(options.record, document)


def cases(options: Options) -> Iterator[Case]:
    for n in options.devices:
        yield Case("seeds", n, options.lanes, seeds=n)
        yield Case("weak", n, options.lanes * n)
        yield Case("strong", n, options.lanes)


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
    run = compile_timed(over(train_epoch), state)
    return Program(run, (state,), learner.steps_per_epoch * case.seeds)


def rows(
    programs: Mapping[Case, Program], seconds: Mapping[Case, list[float]]
) -> Iterator[dict[str, Any]]:
    """Compare n devices with one, epoch by epoch: the median of the ratios."""
    for case, program in programs.items():
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


if __name__ == "__main__":
    main(tyro.cli(Options))
