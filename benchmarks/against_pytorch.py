"""Our learner compared with PyTorch at many batch sizes, and our learner without a memory."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax

from cases import Case, Program, as_preset, case_of, training
from measuring import cores, rates, ratio, take_turns

EXPERIMENT, OURS, PLAIN = "barcode-bandits", "epl2rl", "l2rl"  # what the rival is written for
BATCHES = {"cpu": (1, 16, 128, 1024, 2048, 4096)}
LARGE_BATCHES = (1, 256, 4096, 32768, 131072)
CALL = 0.2  # seconds that one call should take: an episode of one lane is over at once
MOST = 100  # episodes of a call


class Entry(NamedTuple):
    """Something that takes its turn."""

    name: str
    steps: int  # per call
    run: Any
    told: Mapping[str, Any]


def compare(preset: str, repeats: int) -> dict[str, Any]:
    """Let ours and all rivals take turns; return rates, and how many times as fast ours is."""
    ours, platform = case_of(EXPERIMENT, OURS, preset), jax.default_backend()
    learner = replace(ours.settings.learner, lanes=1)
    one_lane = ours._replace(settings=replace(ours.settings, seeds=1, learner=learner))
    plain = case_of(EXPERIMENT, PLAIN, preset)
    entries = [
        _jax("reinstate", ours, as_preset(EXPERIMENT, OURS, preset)),
        _jax("reinstate", one_lane, training(one_lane)),
        _jax("reinstate without memory", plain, as_preset(EXPERIMENT, PLAIN, preset)),
    ]
    if find_spec("torch"):
        threads = sorted({1, cores()}) if platform == "cpu" else [cores()]
        for lanes in BATCHES.get(platform, LARGE_BATCHES):
            entries += [_pytorch(ours, lanes, each) for each in threads]
    seconds = take_turns({place: each.run for place, each in enumerate(entries)}, repeats)
    rows = []
    for place, entry in enumerate(entries):
        pair = (entries[0].steps, seconds[0]), (entry.steps, seconds[place])
        rate = rates(entry.steps, seconds[place])
        row = {"name": entry.name, **entry.told, "steps_per_second": rate, "ours": ratio(*pair)}
        rows.append(row)
    return {**ours.told, "torch": version("torch") if find_spec("torch") else None, "rows": rows}


def _jax(name: str, case: Case, program: Program) -> Entry:
    lanes = case.settings.seeds * case.settings.learner.lanes
    return Entry(name, program.steps, program, {"batch": lanes})


def _pytorch(case: Case, lanes: int, threads: int) -> Entry:
    from pytorch import Rival

    rival = Rival(case.settings, lanes)
    _train(rival, 1, threads)  # what is only done once
    began = time.perf_counter()
    _train(rival, 1, threads)
    episodes = min(MOST, max(1, math.ceil(CALL / (time.perf_counter() - began))))
    told = {"batch": lanes, "threads": threads}
    run = partial(_train, rival, episodes, threads)
    return Entry("PyTorch", episodes * lanes * case.settings.task.episode_length, run, told)


def _train(rival: Any, episodes: int, threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    rival.train(episodes)
