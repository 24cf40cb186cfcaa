"""What an update costs that reads its memory by learned keys, against the paper's read.

    python benchmarks/learned_keys.py --record results/learned-memory/cost.json

Agents of the quick preset of noisy barcodes take turns at an epoch of training, in one process.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import tyro

from measuring import made, ratio, rounded, take_turns, write_record
from reinstate_paper.noisy_barcodes import NOISY_BARCODES, QUICK

AGENTS = ("epl2rl", "epl2rl-soft", "epl2rl-keys")


@dataclass(frozen=True)
class Options:
    distractors: tuple[int, ...] = (40, 190)
    repeats: int = 15
    record: Path | None = None
    """Write what was found to this JSON file."""


def main(options: Options) -> None:
    rows: list[dict[str, Any]] = []
    for distractors in options.distractors:
        settings = replace(QUICK, task=replace(QUICK.task, distractors=distractors), seeds=1)
        updates = settings.task.episodes_per_epoch
        seconds = take_turns({name: epoch(name, settings) for name in AGENTS}, options.repeats)
        for name, each in seconds.items():
            cost = 1000 * median(each) / updates
            times = ratio((updates, seconds["epl2rl"]), (updates, each))
            own = {"ms_per_update": rounded(cost), "times_epl2rl": times}
            rows.append({"agent": name, "context": settings.task.context_size, **own})
            print(rows[-1], flush=True)
    write_record(options.record, {**made(), "experiment": NOISY_BARCODES.name, "rows": rows})


def epoch(agent: str, settings: Any) -> Any:
    """Return an epoch of training of one seed, compiled."""
    learner = settings.make_learner(agent)
    state = learner.init(jnp.array(0))
    train = jax.jit(learner.train_epoch).lower(state).compile()
    return lambda: train(state)


if __name__ == "__main__":
    main(tyro.cli(Options))
