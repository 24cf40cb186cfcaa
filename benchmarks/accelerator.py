"""What is to be measured on an accelerator, in as many short sessions as it takes.

    python benchmarks/accelerator.py     # with --preset quick --lanes 4 --out tiny: a dry run

Throughput at every preset and over lanes of one seed; ways to be faster, in turn with the usual
one; then the whole paper, timed. Each is written to OUT/gpu.json as it ends, and is not run again;
the same command continues the paper's run.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import tyro

from cases import case_of, training
from measuring import made, rates, take_turns, write_record
from reinstate.agent import Agent
from reinstate.files import read_json
from reinstate.runs.experiment import of_the_paper

WAYS = {"usual": "", "command buffers": "--xla_gpu_enable_command_buffer=+WHILE", "bfloat16": ""}
TURNS, REPEATS, PATIENCE = 3, 7, 10.0  # turns of each way; seconds that a cell may run


@dataclass(frozen=True)
class Options:
    preset: str = "paper"
    lanes: tuple[int, ...] = (1024, 4096, 16384, 65536, 131072)
    budget: float = 540.0
    """Seconds after which nothing new begins, and the paper's run stops."""
    out: Path = Path("results/benchmarks")
    cell: str = ""  # the one that this process measures


def main(options: Options) -> None:
    if options.cell:
        print(json.dumps(measured(options.preset, *json.loads(options.cell))))
        return
    end, file = time.monotonic() + options.budget, options.out / "gpu.json"
    found: dict[str, Any] = read_json(file) if file.exists() else {"cells": {}}
    every: list[Any] = [(name, 0, "usual", 0) for name in of_the_paper()]  # 0 lanes: the preset's
    every += [("barcode-bandits", lanes, "usual", 0) for lanes in options.lanes]
    every += [("barcode-bandits", 0, way, turn) for turn in range(1, TURNS + 1) for way in WAYS]
    for cell in every:  # each in a process that has the accelerator's memory to itself
        name = " ".join(map(str, cell))
        if name not in found["cells"] and time.monotonic() < end:
            words = [sys.executable, *sys.argv, "--cell", json.dumps(cell)]
            env = os.environ | {"XLA_FLAGS": WAYS[cell[2]]}
            child = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=False)
            found["cells"][name] = json.loads(child.stdout or '{"failed": true}')
            write_record(file, found)
            print(name, found["cells"][name].get("steps_per_second"), flush=True)
    paper = found.setdefault("paper", {"seconds": 0.0, "status": None})
    began, out = time.monotonic(), str(options.out / "paper")
    if paper["status"] != 0 and began < end:
        words = ["-m", "reinstate", "reproduce", "all", "--preset", options.preset, "--out", out]
        with suppress(subprocess.TimeoutExpired):  # it continues from its checkpoints
            child = subprocess.run([sys.executable, *words], timeout=end - began, check=False)
            paper["status"] = child.returncode
        paper["seconds"] += round(time.monotonic() - began, 1)
        write_record(file, found)


def measured(preset: str, experiment: str, lanes: int, way: str, turn: int) -> dict[str, Any]:
    """Train a few epochs, and tell how fast."""
    case = case_of(experiment, "epl2rl", preset, "lanes" if lanes else "", lanes)
    case = case._replace(settings=replace(case.settings, seeds=1)) if lanes else case
    if way == "bfloat16":
        keep_half()
    program = training(case)
    rate = rates(program.steps, take_turns({way: program}, REPEATS, PATIENCE)[way])
    return {**case.told, "way": way, "turn": turn, "steps_per_second": rate, **made()}


def keep_half() -> None:
    """Keep an agent's states for the backward pass in bfloat16."""
    step, again = Agent.__call__, Agent._again

    def half(self: Agent, *seen: Any) -> Any:
        state, decision = step(self, *seen)
        kept = jax.tree.map(lambda x: x.astype(jnp.bfloat16), decision.kept)
        return state, decision._replace(kept=kept)

    def whole(self: Agent, *seen: Any) -> Any:
        return again(self, *seen[:-1], jax.tree.map(lambda x: x.astype(jnp.float32), seen[-1]))

    Agent.__call__, Agent._again = half, whole  # type: ignore[method-assign]


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
